"""Structured control flow: branches and loops that stay branches and loops in compiled code.

Eagerly each function runs its Python functions step by step on real values. Under a trace it traces them
once and appends one op (`ir/ops/control_flow/definitions.py`), whatever the number of steps. Semantics:
``jax.lax``.
"""
