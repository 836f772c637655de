"""Passes on loops and branches: what they carry, repeat and stack."""
