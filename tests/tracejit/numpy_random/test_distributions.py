"""Numbers of distributions, equal to NumPy's bit for bit: so many that tails and rejections come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .programs import state_of

COUNT = 100_000


def normals(y: Any, rng: Any) -> None:
    for i in range(len(y)):
        y[i] = rng.standard_normal()


def exponentials(y: Any, rng: Any) -> None:
    for i in range(len(y)):
        y[i] = rng.standard_exponential()


def fractions(y: Any, rng: Any) -> None:
    for i in range(len(y)):
        y[i] = rng.random()


def scaled(y: Any, rng: Any) -> None:
    for i in range(len(y)):
        y[i] = rng.normal(0.1 * i, 0.3) + rng.uniform(-0.1 * i, 0.7) + rng.exponential(1.1)


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "RandomState"])
@pytest.mark.parametrize("function", [normals, exponentials, fractions, scaled])
def test_floats_are_numpys(function: Any, kind: str) -> None:
    print(f"seed {SEED}")
    outcomes = []
    for run in (function, tj.jit(function, loops="compiled")):
        made = np.random.RandomState(SEED) if kind == "RandomState" else np.random.Generator(
            getattr(np.random, kind)(SEED)
        )  # fmt: skip
        y = np.zeros(COUNT)
        run(y, made)
        outcomes.append((y, state_of(made)))
    np.testing.assert_array_equal(outcomes[0][0], outcomes[1][0])
    assert outcomes[0][1] == outcomes[1][1]


def ranges(y: Any, low: Any, high: Any, rng: Any) -> None:
    for i in range(len(y)):
        y[i] = rng.integers(low[i], high[i])


def legacy_ranges(y: Any, low: Any, high: Any, rng: Any) -> None:
    for i in range(len(y)):
        y[i] = rng.randint(low[i], high[i])


#: Sizes of ranges where the method changes, and whose draws are often rejected.
SIZES = (1, 2, 3, 7, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**33 + 1, 2**63 - 1, 3 * 2**61)


@pytest.mark.parametrize("kind", ["PCG64", "SFC64", "MT19937", "RandomState"])
def test_integers_are_numpys(kind: str) -> None:
    source = np.random.default_rng(SEED)
    print(f"seed {SEED}")
    sizes = source.choice(np.array(SIZES), 4000)
    low = np.array([int(source.integers(-(2**63), 2**63 - int(size))) for size in sizes])
    outcomes = []
    function = legacy_ranges if kind == "RandomState" else ranges
    for run in (function, tj.jit(function, loops="compiled")):
        made = np.random.RandomState(SEED) if kind == "RandomState" else np.random.Generator(
            getattr(np.random, kind)(SEED)
        )  # fmt: skip
        y = np.zeros(len(low), np.int64)
        run(y, low, low + sizes, made)
        outcomes.append((y, state_of(made)))
    np.testing.assert_array_equal(outcomes[0][0], outcomes[1][0])
    assert outcomes[0][1] == outcomes[1][1]


@pytest.mark.parametrize("function", [ranges, legacy_ranges])
def test_an_empty_range_is_numpys_error(function: Any) -> None:
    made = [np.random.RandomState(1) if function is legacy_ranges else np.random.default_rng(1) for _ in "ab"]
    low, high = np.array([0, 0, 5, 0]), np.array([3, 9, 5, 2])
    for run, rng in ((function, made[0]), (tj.jit(function), made[1])):
        with pytest.raises(ValueError, match="low >= high"):
            run(np.zeros(4), low, high, rng)
    assert state_of(made[0]) == state_of(made[1])
