"""LLVM text that speaks CPython's and NumPy's C interfaces.

`entry` has the native entry of compiled functions, `eager` the native forms of eager calls, `pool` the worker
threads, `allocator` the memory of large results, and `interrupts` the function by which loops let signals in.
"""
