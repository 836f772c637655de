"""Loops that read and write single elements of arrays: scalar code over the memory where the arrays lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.random.default_rng(0).standard_normal(60)
Y = np.random.default_rng(1).standard_normal(60)


def recurrence(x: Any, y: Any) -> Any:
    return tj.fori_loop(1, 60, lambda i, s: s.at[i].set(s[i - 1] * 0.9 + y[i]), x)


def plain_recurrence(x: Any, y: Any) -> Any:
    s = x.copy()
    for i in range(1, 60):
        s[i] = s[i - 1] * 0.9 + y[i]
    return s


def warping(x: Any, y: Any) -> Any:
    def row(i: Any, table: Any) -> Any:
        def column(j: Any, table: Any) -> Any:
            least = tj.minimum(tj.minimum(table[i - 1, j], table[i, j - 1]), table[i - 1, j - 1])
            return table.at[i, j].set(abs(x[i - 1] - y[j - 1]) + least)

        return tj.fori_loop(1, 61, column, table)

    start = tj.full((61, 61), np.inf).at[0, 0].set(0.0)
    return tj.fori_loop(1, 61, row, start)[60, 60]


def plain_warping(x: Any, y: Any) -> Any:
    table = np.full((61, 61), np.inf)
    table[0, 0] = 0.0
    for i in range(1, 61):
        for j in range(1, 61):
            least = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
            table[i, j] = abs(x[i - 1] - y[j - 1]) + least
    return table[60, 60]


def exchanges(x: Any, y: Any) -> Any:
    """Reads of a version before the writes of the next ones; sums, and a value that branches write."""

    def step(i: Any, state: Any) -> Any:
        a, b = state
        j = (7 * i) % 60
        here, there = a[i], a[j]
        a = a.at[i].set(tj.exp(-there)).at[j].add(here * b[i])
        a = tj.cond(here > 0.0, lambda a: a.at[0].add(0.5 * b[j]), lambda a: a, a)
        b = b.at[j].multiply(1.0)
        return a, b.at[i].add(a[j] * 0.1)

    a, b = tj.fori_loop(0, 60, step, (x, y))
    return a + b


def plain_exchanges(x: Any, y: Any) -> Any:
    a, b = x.copy(), y.copy()
    for i in range(60):
        j = (7 * i) % 60
        here, there = a[i], a[j]
        a[i] = np.exp(-there)
        a[j] += here * b[i]
        if here > 0.0:
            a[0] += 0.5 * b[j]
        b[i] += a[j] * 0.1
    return a + b


def late_reader(x: Any, y: Any) -> Any:
    """A loop that reads an old version of an array after the next one is made."""

    def step(i: Any, s: Any) -> Any:
        after = s.at[i].set(y[i])
        return after.at[59 - i].add(s[i] * 0.5)

    return tj.fori_loop(0, 60, step, x)


def plain_late_reader(x: Any, y: Any) -> Any:
    s = x.copy()
    for i in range(60):
        before = s[i]
        s[i] = y[i]
        s[59 - i] += before * 0.5
    return s


def counted(x: Any, y: Any) -> Any:
    def step(state: Any) -> Any:
        i, s = state
        return i + 2, s.at[i].set(s[i] * y[i]).at[i + 1].set(s[i])

    return tj.while_loop(lambda state: state[0] < 59, step, (0, x))[1]


def plain_counted(x: Any, y: Any) -> Any:
    s = x.copy()
    for i in range(0, 59, 2):
        s[i], s[i + 1] = s[i] * y[i], s[i]
    return s


def two_of_one(x: Any, y: Any) -> Any:
    """Two carries that begin as one array, which is read as well."""

    def step(i: Any, state: Any) -> Any:
        a, b = state
        return a.at[i].set(b[59 - i] + x[i]), b.at[i].set(a[i] * y[i])

    a, b = tj.fori_loop(0, 60, step, (x, x))
    return a - b


def plain_two_of_one(x: Any, y: Any) -> Any:
    a, b = x.copy(), x.copy()
    for i in range(60):
        a[i], b[i] = b[59 - i] + x[i], a[i] * y[i]
    return a - b


CASES = [
    (recurrence, plain_recurrence, "registers"),
    (warping, plain_warping, "registers"),
    (exchanges, plain_exchanges, "registers"),
    (late_reader, plain_late_reader, None),
    (counted, plain_counted, None),
    (two_of_one, plain_two_of_one, "registers"),
]


@pytest.mark.parametrize(
    ("function", "plain", "kind"), CASES, ids=lambda case: getattr(case, "__name__", None)
)
def test_values_and_gradients(
    function: Callable[..., Any], plain: Callable[..., Any], kind: str | None
) -> None:
    expected = plain(X, Y)
    jitted = tj.jit(function)
    np.testing.assert_allclose(jitted(X, Y), expected, rtol=1e-12)
    if kind is not None:
        assert "registers" in jitted.lower(X, Y).as_text("loops")
    weights = np.random.default_rng(2).standard_normal(np.shape(expected))
    gradients = tj.jit(tj.grad(lambda x, y: (function(x, y) * weights).sum(), argnums=(0, 1)))(X, Y)
    rng, step = np.random.default_rng(3), 1e-6
    u, v = rng.standard_normal(60), rng.standard_normal(60)
    slope = (plain(X + step * u, Y + step * v) - plain(X - step * u, Y - step * v)) / (2 * step)
    along = float((gradients[0] * u).sum() + (gradients[1] * v).sum())
    assert abs(along - float((slope * weights).sum())) < 1e-5 * max(1.0, abs(along))
    batch = np.stack([X, X[::-1], Y])
    mapped = tj.jit(tj.vmap(function, in_axes=(0, None)))(batch, Y)
    np.testing.assert_allclose(mapped, np.stack([plain(row, Y) for row in batch]), rtol=1e-12)


def test_arguments_stay_as_they_are() -> None:
    x = X.copy()
    first = np.array(tj.jit(recurrence)(x, Y))
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(tj.jit(recurrence)(x, Y), first)


@pytest.mark.parametrize("start", [-100, 55])
def test_an_index_out_of_range_raises(start: int) -> None:
    def program(x: Any, start: Any) -> Any:
        return tj.fori_loop(0, 10, lambda i, s: s.at[i + start].set(1.0), x)

    jitted = tj.jit(program)
    np.testing.assert_array_equal(np.asarray(jitted(X, 50))[50:], np.ones(10))
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 60"):
        jitted(X, start)


def test_small_arrays_are_written_in_registers() -> None:
    def program(x: Any) -> Any:
        return tj.fori_loop(0, 20, lambda i, s: s.at[i % 5].add(s[(i + 1) % 5] * 0.5), x)

    expected = X[:5].copy()
    for i in range(20):
        expected[i % 5] += expected[(i + 1) % 5] * 0.5
    jitted = tj.jit(program)
    np.testing.assert_allclose(jitted(X[:5]), expected, rtol=1e-13)
    assert "registers" in jitted.lower(X[:5]).as_text("loops")


def test_rows_of_a_few_elements() -> None:
    def program(x: Any) -> Any:
        return tj.fori_loop(1, 20, lambda i, s: s.at[i].set(s[i - 1][::-1] + s[i]), x)

    rows = X.reshape(20, 3)
    expected = rows.copy()
    for i in range(1, 20):
        expected[i] += expected[i - 1][::-1]
    jitted = tj.jit(program)
    np.testing.assert_allclose(jitted(rows), expected, rtol=1e-13)
    assert "registers" in jitted.lower(rows).as_text("loops")
