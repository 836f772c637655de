"""Loops in Python with the arguments of ``jax.lax``, for libraries that have none of their own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def python_control(stack: Callable[[list[Any]], Any]) -> SimpleNamespace:
    """``scan``, ``while_loop`` and ``fori_loop``; `stack` makes one array of a scan's results."""

    def scan(step: Callable[..., Any], carry: Any, xs: Any, length: int | None = None) -> Any:
        results = []
        for i in range(len(xs) if length is None else length):
            carry, output = step(carry, None if xs is None else xs[i])
            results.append(output)
        return carry, None if results[0] is None else stack(results)

    def while_loop(condition: Callable[..., Any], body: Callable[..., Any], state: Any) -> Any:
        while condition(state):
            state = body(state)
        return state

    def fori_loop(lower: int, upper: int, body: Callable[..., Any], state: Any) -> Any:
        for i in range(lower, upper):
            state = body(i, state)
        return state

    return SimpleNamespace(scan=scan, while_loop=while_loop, fori_loop=fori_loop)
