"""Loops along the elements of slices: they do no more than the slice needs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj

SIZE = 4000


def summed(x, i):
    return x[i : i + 3].sum() + x[i : 2 * i + 1].max() + np.sin(x[:i]).mean()


def multiplied(x, i):
    return x[:i] @ np.flip(x[:i]) + np.dot(x[i : 2 * i] * 2, x[i : 2 * i])


def written(x, i):
    x[:i] = 0.5 * x[:i] + x[i + 1]
    x[i : 2 * i + 2] *= 0.75
    return x[i]


@pytest.mark.parametrize("function", [summed, multiplied, written])
def test_no_array_of_the_whole_axis_is_computed(function: Any) -> None:
    def steps(x):
        s = 0.0
        for i in range(1, 40):
            s += function(x, i)
        return s

    jitted = tj.jit(steps)
    text = jitted.lower(np.zeros(SIZE)).as_text("optimized")
    computed = re.findall(rf"%\S+: \w+\[{SIZE}\] += (\w+)\(", text)
    assert set(computed) <= {"scatter", "scan", "while", "full"}, text
    x, own = np.linspace(0.1, 1.0, SIZE), np.linspace(0.1, 1.0, SIZE)
    assert float(jitted(x)) == pytest.approx(steps(own))
    np.testing.assert_allclose(x, own)


def test_extrema_and_truths() -> None:
    def steps(x, b):
        y = np.zeros((6, 7))
        for i in range(1, 7):
            y[i - 1, 0], y[i - 1, 1] = x[:i].max(), x[i - 1 :].min()
            y[i - 1, 2], y[i - 1, 3] = np.any(b[:i]), np.all(b[i - 1 :])
            y[i - 1, 4], y[i - 1, 5] = x[:i].prod(), np.any(x[:i])
            y[i - 1, 6] = b[:i].sum()
        return y

    for dtype in (np.float64, np.float32, np.int16, np.uint8):
        x = np.array([3, 1, 2, 5, 0, 4]).astype(dtype)
        if dtype is np.float64:
            x[4] = np.nan
        b = np.array([False, True, False, True, True, True])
        np.testing.assert_allclose(np.asarray(tj.jit(steps)(x, b)), steps(x, b), rtol=1e-6)


def test_complex_numbers_and_mixed_types() -> None:
    def steps(z, x, k):
        s = 0.0 + 0.0j
        for i in range(1, 6):
            s += z[:i].sum() + z[:i] @ x[:i] + z[:i].prod() + np.dot(k[:i], x[:i]) + k[:i] @ k[:i]
            z[:i] *= x[i]
        return s

    z, x, k = np.arange(6) * (1 + 0.5j) + 0.25, np.linspace(0, 1, 6, dtype=np.float32), np.arange(6) - 3
    np.testing.assert_allclose(np.asarray(tj.jit(steps)(z.copy(), x, k)), steps(z, x, k), rtol=1e-6)


def test_sums_of_short_floats_keep_their_digits() -> None:
    def steps(x):
        y = np.zeros(12)
        for i in range(12):
            y[i] = x[: i * 300 + 1].sum() + x[: i * 300 + 1].mean() + x[i * 200 :] @ x[i * 200 :]
        return y

    for dtype, digits in ((np.float32, 1e-6), (np.float16, 5e-3)):
        x = (np.random.default_rng(4).random(SIZE) * 0.01).astype(dtype)
        np.testing.assert_allclose(np.asarray(tj.jit(steps)(x)), steps(x.astype(float)), rtol=digits)
