"""Dtypes, shapes, printing and files: what NumPy tells of arrays without computing with them."""
