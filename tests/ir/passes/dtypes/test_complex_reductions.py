"""Products and extrema of complex values in compiled code: NumPy's order, NaN and infinities included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(3)
AXES = {(1,): (None,), (17,): (None, 0), (5, 9): (None, 0, 1), (3, 4, 5): (None, 1, (0, 2))}


def values(shape: tuple[int, ...], dtype: str, kind: str) -> Any:
    x = (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)
    chance = RNG.random(shape)
    if kind == "ties":
        x = np.round(x) + 0
    if kind == "nan":
        x[chance < 0.1] += np.nan
        x.imag[chance > 0.9] = np.nan
    if kind == "infinite":
        x.real[chance < 0.2] = np.inf
        x.real[chance > 0.8] = -np.inf
        x.imag[(chance > 0.4) & (chance < 0.5)] = -np.inf
    return x


@pytest.mark.parametrize("kind", ["finite", "ties", "nan", "infinite"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_are_numpys(name: str, dtype: str, kind: str) -> None:
    for shape, all_axes in AXES.items():
        x = values(shape, dtype, kind)
        for axis in all_axes:
            run = tj.jit(lambda x, axis=axis: getattr(tj, name)(x, axis=axis))
            expected = np.asarray(getattr(np, name)(x, axis=axis))
            result = run(x).numpy()
            assert result.dtype == expected.dtype
            for part in ("real", "imag"):
                np.testing.assert_array_equal(getattr(result, part), getattr(expected, part))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products_are_numpys(dtype: str) -> None:
    eps = np.finfo(dtype).eps
    for shape, all_axes in {**AXES, (1000,): (None,), (0, 3): (0,), (70, 3): (0,)}.items():
        x = values(shape, dtype, "finite")
        x /= np.abs(x)
        for axis in all_axes:
            result = tj.jit(lambda x, axis=axis: tj.prod(x, axis=axis))(x).numpy()
            expected = np.prod(x, axis=axis)
            np.testing.assert_allclose(result, expected, rtol=0, atol=4 * eps * max(x.size, 1))


def test_nothing_runs_on_the_host() -> None:
    x = values((6, 7), "complex128", "finite")
    text = tj.jit(lambda x: (tj.max(x, axis=0), tj.min(x), tj.prod(x, axis=1))).lower(x).as_text("loops")
    assert "host call" not in text


def test_gradients() -> None:
    x = values((5,), "complex128", "finite")
    gradient = tj.jit(tj.grad(lambda x: tj.real(tj.prod(x))))(x).numpy()
    h = 1e-6
    for place in range(5):
        for direction, part in ((1.0, "real"), (1j, "imag")):
            step = np.zeros(5, complex)
            step[place] = h * direction
            slope = (np.prod(x + step).real - np.prod(x - step).real) / (2 * h)
            sign = 1.0 if part == "real" else -1.0
            assert abs(sign * getattr(gradient[place], part) - slope) < 1e-7 * max(1.0, abs(slope))
