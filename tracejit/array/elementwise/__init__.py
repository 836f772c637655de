"""Elementwise functions under NumPy's names."""
