"""Small eager operations as native functions that call NumPy's inner loops."""
