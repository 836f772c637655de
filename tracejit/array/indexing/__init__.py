"""Indices: reading and writing by them, and the indices of elements."""
