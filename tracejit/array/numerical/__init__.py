"""Numerical methods: interpolation, convolution, differences and integrals, polynomials, windows."""
