"""NumPy's functions whose dtype depends on values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

ARGUMENTS: list[Any] = [
    4.0,
    -4.0,
    0,
    -3,
    [0.5, 0.25],
    [2.0, -0.5],
    [1, -1],
    np.float32([1.5, -2.0]),
    np.int8([3, -3]),
    [1.0 + 2.0j, -3.0],
    np.array([]),
    [-0.0, 0.0],
]


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.parametrize("argument", ARGUMENTS, ids=repr)
def test_of_one_argument(name: str, argument: Any) -> None:
    x = np.asarray(argument)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np.emath, name)(x)
    function = getattr(tj.emath, name)
    with np.errstate(all="ignore"):
        results = [function(x), getattr(np.emath, name)(tj.asarray(x)), tj.jit(function)(x)]
    for result in results:
        assert result.dtype == expected.dtype
        tolerance = 1e-3 if expected.dtype == np.float16 else 1e-6 if expected.dtype.itemsize < 9 else 1e-14
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("x", "p"), [([2, 4], 2), ([2, 4], -2), ([-2.0, 4.0], 0.5), ([-2, 4], 2), ([1.5], [2, -1])], ids=repr
)
def test_powers(x: Any, p: Any) -> None:
    expected = np.emath.power(np.asarray(x), np.asarray(p))
    for result in (tj.emath.power(x, p), tj.jit(tj.emath.power)(np.asarray(x), np.asarray(p))):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(tj.emath.logn(2, [-4.0, 8.0]), np.emath.logn(2, np.array([-4.0, 8.0])))


def test_one_function_serves_both_signs() -> None:
    root = tj.jit(tj.emath.sqrt)
    assert root(np.array([4.0])).dtype == np.float64
    assert root(np.array([-4.0])).dtype == np.complex128
    assert root(np.array([9.0])).tolist() == [3.0]
    assert tj.grad(lambda x: tj.emath.sqrt(x))(4.0) == 0.25
