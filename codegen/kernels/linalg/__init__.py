"""Factorisations and triangular solves of many small matrices, with a lane for each matrix.

`algorithms` states what is computed, over matrices whose elements are registers (`matrices`) or scratch
memory (`scratch_matrix`); `groups` brings matrices into lanes and back.
"""
