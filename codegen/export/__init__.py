"""Functions for callers in C: a module without Python, without threads and without anything to link.

`functions` writes what is exported, what that calls and the queries beside it; `adapters` and `casadi` write
wrappers with other signatures. `emission` makes object files, assembly and LLVM text for any machine that
LLVM knows (`targets`).
"""
