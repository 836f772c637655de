"""LAPACK and BLAS of the process: the library that NumPy computes with, called without a compiler.

`library` finds it and asks it for the width of its integers; `calls` has what ops need of it as Python
functions on arrays, and codegen calls the same addresses from native code.
"""
