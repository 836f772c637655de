"""Convolutions: tiles of the result in registers, over packed kernels and slabs of the images."""
