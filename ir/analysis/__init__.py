"""Analyses of programs, for passes, tracing and code generation: affine indices, ranges, arrays in loops."""
