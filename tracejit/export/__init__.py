"""Compiled functions outside of Python: object files and libraries for programs in C, and function pointers.

`programs` traces a function and its derivatives, `compiling` makes one module of them. `exporting` writes
files, `pointing` keeps a module in this process, for callers by pointer.
"""
