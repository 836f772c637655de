"""Tensor, the class that users hold, and its conversions from and to Python and NumPy values."""
