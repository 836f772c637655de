"""Kernels that call LAPACK and BLAS: the library that NumPy computes with, from native code without the GIL.

A row-major matrix is its transpose to LAPACK, whose matrices lie by columns. Cholesky factors and
triangular systems turn into each other by that; all others are transposed on the way in and out.

The library's threads are one pool for the process, which waits for each of its threads: with another process
on one of two cores, calls took three to ten times as long with two threads as with one. So calls hold it to
one thread, see `calls.one_thread` and docs/decisions.
"""
