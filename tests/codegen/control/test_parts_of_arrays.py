"""Loops over parts of arrays, which are read in place: rows from some offset on, also of a value that is
written in place later, reversed, reshaped, in inner loops, and as a carry, which is a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def _rows(x: Any) -> Any:
    return tj.scan(lambda c, row: (c * 0.5 + row, (c * row).sum()), x[0], x[3:40])


def _row_as_carry(x: Any) -> Any:
    last, totals = tj.scan(lambda c, row: (c * 0.5 + row, c.sum()), x[1], x[1:])
    return last, totals, x[1:].sum()


def _written_later(x: Any) -> Any:
    y = x * 2
    total, _ = tj.scan(lambda c, row: (c + row, None), y[0], y[1:])
    y = y.at[2].set(total)
    again, _ = tj.scan(lambda c, row: (c + row, None), y[1], y[2:])
    return again, y


def _indexed(x: Any) -> Any:
    part = x[5:]
    return tj.fori_loop(0, 40, lambda i, s: s * 0.9 + part[i], part[0])


def _reversed(x: Any) -> Any:
    return tj.scan(lambda c, row: (c * 0.5 + row, c), x[0], x[::-1])


def _columns(x: Any) -> Any:
    return tj.scan(lambda c, row: (c * 0.5 + row, c.sum()), x[0, 5:], x[:, 5:])


def _inside(x: Any) -> Any:
    def outer(c: Any, row: Any) -> Any:
        inner, _ = tj.scan(lambda a, b: (a * 0.9 + b, None), c, row.reshape(10, -1)[2:])
        return inner, inner.sum()

    return tj.scan(outer, x[0].reshape(10, -1)[0], x[1:])


def _gradient(x: Any) -> Any:
    return tj.grad(lambda x: (_rows(x)[0] ** 2).sum() + (_rows(x)[1] ** 2).sum())(x)


@pytest.mark.parametrize("length", [10, 300])
@pytest.mark.parametrize(
    "program", [_rows, _row_as_carry, _written_later, _indexed, _reversed, _columns, _inside, _gradient]
)
def test_jitted_as_eager(program: Callable[[Any], Any], length: int) -> None:
    x = tj.tensor(np.random.default_rng(length).standard_normal((50, length)))
    jitted, eager = tj.jit(program)(x), program(x)
    pairs = zip(jitted, eager, strict=True) if isinstance(jitted, tuple) else [(jitted, eager)]
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
