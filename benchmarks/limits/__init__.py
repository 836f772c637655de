"""Limits of kernels: the hardware's bandwidth and arithmetic (`hardware.py`), and C that is written by hand
for the same machine (`c/`), beside which ``python -m benchmarks.limits`` puts ours."""
