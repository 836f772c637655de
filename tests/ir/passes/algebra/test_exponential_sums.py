"""Sums of exponentials by parts: the same numbers as over whole rows, also where these are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.dtypes import as_dtype
from tracejit.ir.graph import Value
from tracejit.ir.passes.algebra.exponential_sums import part_size
from tracejit.ir.types import tensor_type

LONG = 81920


def rows(rng: np.random.Generator, dtype: str = "float64", size: int = LONG) -> np.ndarray:
    """Numbers whose parts have maxima far apart."""
    steps = np.repeat(rng.uniform(-900, 900, 16), size // 16)
    return (steps + rng.uniform(-5, 5, size)).astype(dtype)


def expected_softmax(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def is_split(function: object, *operands: object) -> bool:
    return "1024]" in tj.jit(function).lower(*operands).as_text("optimized")


@pytest.mark.parametrize(
    ("dtype", "size", "tolerance"), [("float64", LONG, 3e-13), ("float32", 2 * LONG, 2e-4)]
)
def test_softmax(dtype: str, size: int, tolerance: float) -> None:
    # differences of 1,800 are rounded by up to 1.1e-13 (f64) or 6e-5 (f32), here and in what is expected
    x = rows(np.random.default_rng(0), dtype, size)
    result = tj.jit(lambda x: tj.nn.softmax(x))(tj.asarray(x)).numpy()
    np.testing.assert_allclose(result, expected_softmax(x), rtol=tolerance, atol=np.finfo(dtype).tiny)


def test_rows_and_logarithms() -> None:
    x = np.stack([rows(np.random.default_rng(seed)) for seed in range(3)])
    assert is_split(lambda x: tj.logsumexp(x, 1), tj.asarray(x))
    largest = x.max(axis=1, keepdims=True)
    expected = np.log(np.exp(x - largest).sum(axis=1)) + largest[:, 0]
    result = tj.jit(lambda x: tj.logsumexp(x, 1))(tj.asarray(x)).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    np.testing.assert_allclose(
        tj.jit(lambda x: tj.nn.softmax(x, 1))(tj.asarray(x)).numpy(),
        expected_softmax(x),
        rtol=3e-13,
        atol=1e-300,
    )


@pytest.mark.parametrize("numbers", [
    {0: np.inf}, {0: np.nan}, {-1: np.nan}, {0: np.inf, 5000: -np.inf}, {7: -np.inf},
    {3: 1.7e308, 70000: -1.7e308}, "first part of -inf", "all -inf",
])  # fmt: skip
def test_what_is_not_finite(numbers: object) -> None:
    x = np.random.default_rng(1).uniform(-5, 5, LONG)
    if isinstance(numbers, dict):
        for place, number in numbers.items():
            x[place] = number
    else:
        x[: 1024 if numbers == "first part of -inf" else LONG] = -np.inf
    expected = expected_softmax(x)
    result = tj.jit(lambda x: tj.nn.softmax(x))(tj.asarray(x)).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    with np.errstate(all="ignore"):
        logarithm = float(np.logaddexp.reduce(x))
    result = tj.jit(lambda x: tj.logsumexp(x, 0))(tj.asarray(x)).numpy()
    np.testing.assert_allclose(result, logarithm, rtol=1e-13)


def powers_too(x: tj.Tensor) -> tuple[tj.Tensor, tj.Tensor]:
    powers = tj.exp(x - tj.max(x))
    return powers, powers / powers.sum()


def maximum_too(x: tj.Tensor) -> tuple[tj.Tensor, tj.Tensor]:
    largest = tj.max(x)
    powers = tj.exp(x - largest)
    return largest, powers / powers.sum()


def other_quotient(x: tj.Tensor) -> tuple[tj.Tensor, ...]:
    powers = tj.exp(x - tj.max(x))
    return (powers / 3.0, powers.sum())


def other_difference(x: tj.Tensor) -> tuple[tj.Tensor, ...]:
    largest = tj.max(x)
    powers = tj.exp(x - largest)
    return (largest - x, powers / powers.sum())


@pytest.mark.parametrize(
    ("function", "ignores_nan"),
    [
        (lambda x: (tj.nn.softmax(x),), True),
        (lambda x: (tj.exp(x - tj.max(x)).sum(),), True),
        (powers_too, False),
        (maximum_too, False),
        (other_quotient, False),
        (other_difference, False),
    ],
)
def test_nan_reaches_all_results(function: Any, ignores_nan: bool) -> None:
    """Maxima of numbers alone serve where the sum tells of NaN; elsewhere NaN is the maximum."""
    x = np.random.default_rng(3).uniform(-5, 5, LONG)
    x[777] = np.nan
    assert ("nanmax" in tj.jit(function).lower(tj.asarray(x)).as_text("optimized")) == ignores_nan
    for result in tj.jit(function)(tj.asarray(x)):
        assert np.isnan(result.numpy()).all()


def test_gradient() -> None:
    rng = np.random.default_rng(2)
    x, w = rng.uniform(-5, 5, (2, LONG))
    weights = tj.asarray(w)
    gradient = tj.jit(tj.grad(lambda x: (tj.nn.softmax(x) * weights).sum()))
    p = expected_softmax(x)
    np.testing.assert_allclose(gradient(tj.asarray(x)).numpy(), p * (w - p @ w), rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize(("shape", "dtype", "expected"), [
    ((100000,), "float64", 800), ((65536,), "float64", 0), ((65537,), "float64", 0), ((65544,), "float64", 0),
    ((2, 81920), "float64", 1024), ((81920, 2), "float64", 0), ((131072,), "float32", 0),
    ((200000,), "float32", 1600), ((100040,), "float64", 488), ((100000,), "int64", 0), ((), "float64", 0),
])  # fmt: skip
def test_part_sizes(shape: tuple[int, ...], dtype: str, expected: int) -> None:
    assert part_size(Value(tensor_type(as_dtype(dtype), shape))) == expected
