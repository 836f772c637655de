"""Sorting, searching in sorted arrays, distinct elements, and counting."""
