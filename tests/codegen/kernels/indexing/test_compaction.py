"""``codegen/kernels/indexing/compaction.py``: positions of true elements, many of them and in many rows."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.operands import run


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("size", [1, 1000, 100_000])
def test_positions_in_a_long_line(share: float, size: int) -> None:
    mask = np.random.default_rng(0).random(70_001) < share
    (positions,) = tj.jit(lambda x: tj.nonzero(x, size=size, fill_value=-1))(mask)
    expected = np.full(size, -1)
    places = np.flatnonzero(mask)[:size]
    expected[: places.size] = places
    np.testing.assert_array_equal(positions.numpy(), expected)


def test_rows_are_apart() -> None:
    mask = np.random.default_rng(1).random((500, 300)) < 0.1
    positions = tj.jit(lambda x: run("true_positions", x, size=20))(mask).numpy()
    for row, places in zip(mask, positions, strict=True):
        expected = np.flatnonzero(row)[:20]
        np.testing.assert_array_equal(places, [*expected, *[300] * (20 - expected.size)])


def test_the_gradient_of_what_is_kept() -> None:
    x = np.array([1.0, -2.0, 3.0, -4.0, 5.0])
    gradient = tj.jit(tj.grad(lambda x: tj.sum(tj.compress(x > 0, x, size=4) ** 2)))(x)
    np.testing.assert_allclose(gradient.numpy(), np.where(x > 0, 2 * x, 0.0))
