"""Maths functions over tables in AVX-512's registers."""
