"""Factorisations and triangular solves: their algorithms, and the kernels of many small matrices.

`algorithms` states what is computed, once, over `Matrix`: elements are registers (`matrices`), vectors with a
lane for each of many matrices, or parts of the rows of one (`memory_matrix`). `groups` brings small matrices
into lanes and back; `lapack` has the kernels of others, which use the same algorithms.
"""
