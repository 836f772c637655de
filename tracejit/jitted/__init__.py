"""Jitted functions: signatures, guards, paths, native entries, and what they tell of themselves."""
