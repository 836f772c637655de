"""Coefficients and tables of the maths functions."""
