"""Eager tensors: dispatch to NumPy and to native functions, views, the live graph."""
