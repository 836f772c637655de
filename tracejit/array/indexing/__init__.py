"""Indices: reading, writing in place, and searching."""
