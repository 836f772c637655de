"""Loops of unknown length whose steps are lanes: which they are, with Python's values, writes and errors."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from ...tracejit.loops.common import of_source

SIZE = 40
READS = (
    "x[k]", "x[k + 1]", "x[2 * k]", "x[n - 1 - k]", "a[i, k]", "a[k, i]", "x[i]", "y[k]", "y[k + 1]",
    "y[k - 1]", "a[i - 1, k]", "b[k]", "x[k // 2]", "y[n - 1 - k]", "a[k, k]",
    "x[3 * k - 2 * k]", "k", "i", "x[idx[k]]",
)  # fmt: skip
FORMS = (
    "{} + {}", "{} * {}", "{} - {}", "abs({})", "-{}", "max({}, {})", "{} if {} > 2 else {}", "({} > 1) * 2",
    "{} * 3",
)  # fmt: skip
STEPS = (
    "y[k] = {}", "y[k] += {}", "y[k + 1] = {}", "y[k - 1] = {}", "a[i, k] = {}", "a[k, i] = {}",
    "a[i, k] -= {}",
    "y[n - 1 - k] = {}", "s += {}", "m = max(m, {})", "t = {}", "c += {} > 1", "s -= {}", "p = p or {} > 3",
    "y[k] = {}; a[i, k] = y[k] * 2", "s += {}; m = min(m, s)", "b[k] = int(abs({}) > 2)", "if {} > 2: s += 1",
    "y[k] = s",
)  # fmt: skip
ENDS = (
    ("0", "i"),
    ("i", "n"),
    ("1", "i + 1"),
    ("i // 2", "i"),
    ("0", "n - i"),
    ("q[i]", "q[i + 1]"),
    ("3", "q[i]"),
)


def _expression(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.4:
        return draw.choice(READS)
    form = draw.choice(FORMS)
    return "(" + form.format(*[_expression(draw, depth - 1) for _ in range(3)]) + ")"


def program(seed: int) -> str:
    """The source of ``f(x, y, a, b, q, idx)``, with a loop of as many steps as the one around it says."""
    draw = random.Random(seed)
    low, high = draw.choice(ENDS)
    lines = [
        "def f(x, y, a, b, q, idx):",
        f"    n, s, m, t, c, p = {SIZE // 2}, x[0] * 0, x[0], x[0], 0, False",
    ]
    lines += ["    for i in range(1, n):", f"        for k in range({low}, {high}):"]
    lines += [
        f"            {draw.choice(STEPS).format(_expression(draw, 2))}" for _ in range(draw.randint(1, 2))
    ]
    lines += ["        x[i] = m - x[i]", "    return s, m, t, c, p"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("number", range(40))
def test_random_loops(number: int, tmp_path: Path) -> None:
    seed = SEED * 1000 + number
    source, rng = program(seed), np.random.default_rng(seed)
    function = of_source(source, tmp_path / "loops.py")
    jitted = tj.jit(function)
    dtype = rng.choice(["f8", "f8", "f4", "i8", "i4", "f8"])
    for _ in range(2):
        shapes = ((SIZE,), (SIZE,), (SIZE, SIZE))
        # whole numbers, whose sums do not depend on their order
        arrays = [rng.integers(-4, 5, shape).astype(dtype) for shape in shapes]
        arguments = [
            *arrays,
            rng.integers(-4, 5, SIZE),
            np.sort(rng.integers(0, 20, 21)),
            rng.integers(0, SIZE, SIZE),
        ]
        mine, failed, expected = copy.deepcopy(arguments), None, None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = function(*arguments)
            except Exception as error:
                failed = error
            if failed is not None:
                with pytest.raises((type(failed), tj.TracejitError)):
                    jitted(*mine)
                continue
            results = jitted(*mine)
        for result, value in zip([*results, *mine], [*expected, *arguments], strict=True):
            np.testing.assert_array_equal(np.asarray(result, float), np.asarray(value, float), err_msg=source)


def axpy(x, y, a, n):
    for i in range(n):
        for k in range(i):
            y[k] += 0.5 * a[i, k]
        x[i] = y[0]


def dots(x, y, a, n):
    for i in range(n):
        s = 0.0
        for k in range(i):
            s += y[k] * a[k, i]
        x[i] = s - x[i - 1]


def shifted(x, y, a, n):
    for i in range(n):
        for k in range(i):
            y[k + 1] = y[k] + a[i, k]
        x[i] = y[n - 1]


def permuted(x, y, a, n):
    for i in range(n):
        for k in range(i):
            y[k] = x[int(a[0, k])]
        x[i] = y[0]


@pytest.mark.parametrize(
    ("function", "expected"), [(axpy, True), (dots, True), (shifted, False), (permuted, False)]
)
def test_which_loops_are_lanes(function: Callable[..., Any], expected: bool) -> None:
    arguments = [np.arange(SIZE) * 0.5, np.arange(SIZE) * 0.25, np.eye(SIZE) + 1, 30]
    jitted, mine = tj.jit(function), copy.deepcopy(arguments)
    text = jitted.lower(*arguments).as_text("loops")
    assert ("inner loops in lanes" in text) == expected, text
    jitted(*mine)
    function(*arguments)
    for result, value in zip(mine[:3], arguments[:3], strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-13)


def test_an_index_outside_stops_where_python_does() -> None:
    def f(x, y, stops):
        for i in range(len(stops)):
            for k in range(stops[i]):
                y[k] = x[k] + y[k] * 2
            x[i] = y[0]

    arguments = [np.arange(20.0), np.ones(20), np.array([5, 18, 23, 4])]
    mine = copy.deepcopy(arguments)
    with pytest.raises(IndexError):
        f(*arguments)
    with pytest.raises(IndexError, match="out of bounds"):
        tj.jit(f)(*mine)
    for result, value in zip(mine, arguments, strict=True):
        np.testing.assert_array_equal(result, value)


def test_not_a_number_and_zeros() -> None:
    def f(x, ends):
        y = np.zeros((len(ends), 3))
        for i in range(len(ends)):
            low, high, s = x[0], x[0], -0.0
            for k in range(1, ends[i]):
                low, high, s = np.minimum(low, x[k]), np.maximum(high, x[k]), s + x[k]
            y[i, 0], y[i, 1], y[i, 2] = low, high, s
            x[0] = y[i, 0]
        return y

    x, ends = np.zeros(40), np.array([1, 9, 17, 33, 40])
    x[20] = np.nan
    np.testing.assert_array_equal(np.asarray(tj.jit(f)(x.copy(), ends)), f(x.copy(), ends))
    x[:] = -0.0
    assert np.signbit(np.asarray(tj.jit(f)(x.copy(), ends))[:, 2]).all()
