"""Kernels that walk along one axis: running folds, index reductions, elementwise loops."""
