"""Gathers, scatters, counts, concatenation and slice updates.

Indices are checked in blocks before slices are moved (`index_blocks`). Threads share a scatter by ranges of
the result or by chunks of the indices, as the shapes suggest (`scatter`).
"""
