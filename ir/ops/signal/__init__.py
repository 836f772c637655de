"""Convolutions and Fourier transforms."""
