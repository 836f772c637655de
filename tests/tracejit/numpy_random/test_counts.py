"""Counts, and gamma numbers, equal to NumPy's bit for bit: so many that tails and rejections come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .programs import state_of

COUNT = 20_000


def gamma(a: Any, b: Any, rng: Any) -> Any:
    return rng.gamma(a, b)


def poisson(a: Any, b: Any, rng: Any) -> Any:
    return rng.poisson(a)


def binomial(a: Any, b: Any, rng: Any) -> Any:
    return rng.binomial(a, b)


def parameters(name: str, source: np.random.Generator) -> tuple[Any, Any]:
    """Parameters for each branch of the algorithms, and for their limits."""
    limits = {
        "gamma": [0.0, 1.0, 1e-300, 1e300],
        "poisson": [0.0, 10.0, 9.99, 1e18],
        "binomial": [0, 1, 10**15],
    }
    sizes = 10.0 ** source.uniform(-2, 9, COUNT)
    other = source.random(COUNT)
    if name == "binomial":
        sizes = sizes.astype(np.int64)
        other[:40] = np.tile([0.0, 1.0, 0.5, 1e-17], 10)
    sizes[:40] = source.choice(np.array(limits.get(name, [0, 1, 10**15])), 40)
    return source.permutation(sizes), source.permutation(other)


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
@pytest.mark.parametrize("function", [gamma, poisson, binomial])
def test_numbers_are_numpys(function: Any, kind: str) -> None:
    print(f"seed {SEED}")
    drawn = parameters(function.__name__, np.random.default_rng(SEED))
    outcomes = []
    for run in (function, tj.jit(function)):
        made = np.random.RandomState(SEED) if kind == "RandomState" else np.random.default_rng(SEED)
        outcomes.append((np.asarray(run(*drawn, made)), state_of(made)))
    (expected, end), (result, state) = outcomes
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == expected.dtype
    assert state == end


@pytest.mark.parametrize(
    ("function", "operands", "error"),
    [
        (gamma, (-1.0, 1.0), "shape < 0"),
        (gamma, (1.0, -1.0), "scale < 0"),
        (poisson, (-1.0, 1.0), "lam < 0"),
        (poisson, (np.nan, 1.0), "lam (< 0 or lam is NaN|value too large)"),
        (poisson, (1e19, 1.0), "lam value too large"),
        (binomial, (-1, 0.5), "n < 0"),
        (binomial, (1, 1.5), "p > 1 or p"),
        (binomial, (1, np.nan), "p (is|contains) NaN"),
    ],
)
def test_errors_are_numpys(function: Any, operands: tuple[Any, Any], error: str) -> None:
    for arrays in (operands, tuple(np.full(3, value) for value in operands)):
        states = []
        for run in (function, tj.jit(function)):
            made = np.random.default_rng(SEED)
            with pytest.raises(ValueError, match=error):
                run(*arrays, made)
            states.append(state_of(made))
        assert states[0] == states[1]
