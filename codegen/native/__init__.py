"""Native code that speaks CPython's and NumPy's C interfaces.

`entry` has the native entry of compiled functions, `eager` the native forms of eager calls, `pool` the worker
threads, `float_mode` whether denormal numbers are flushed, `allocator` the memory of large results, and
`interrupts` the function by which loops let signals in.

They are written with a builder. `structs` has the layouts of objects and tables, `writer` writes branches,
loops, exits, calls and owned references (`scopes`), `pointers` reads and writes what they point at.
`functions` makes native functions of Python functions that write them; `module` collects those that a list of
exports needs. `python_api` has C functions, `objects` and `tensors` operations on objects.
"""
