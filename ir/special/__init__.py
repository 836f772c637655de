"""Special functions: algorithms that are written once, for NumPy arrays and for machine code.

An algorithm computes on an `evaluator`, and with `jets` its derivatives. `table` finds functions by name, and
loads a family when the first of its functions is used; ``ir/ops/special.py`` makes ops of them.
"""
