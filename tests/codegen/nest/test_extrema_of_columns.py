"""Extrema along rows whose elements lie apart in memory: lanes run along the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import host

DTYPES = (np.float64, np.float32, np.int32)


def _kinds(function: Callable[..., Any], *arguments: Any) -> list[str]:
    text = tj.jit(function).lower(*arguments).as_text("loops")
    return [line.split()[0] for line in text.splitlines() if " nest k" in line and not line.startswith(" ")]


def _scores(x: Any, m: Any) -> Any:
    """The best of each column of m with x added to its rows, and its first place."""
    scores = x[None, :] + m.T
    best = scores.max(axis=1)
    places = tj.where(scores == best[:, None], tj.arange(len(x))[None, :], len(x) - 1)
    return best, places.min(axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "columns"), [(50, 50), (7, 64), (300, 33), (65, 1000)])
def test_extrema_of_transposed_matrices(rows: int, columns: int, dtype: Any) -> None:
    rng = np.random.default_rng(rows)
    x, m = rng.integers(-50, 50, rows).astype(dtype), rng.integers(-50, 50, (rows, columns)).astype(dtype)
    if dtype is not np.int32:
        m[rng.integers(0, rows, 3), rng.integers(0, columns, 3)] = np.nan
    scores = x[:, None] + m
    best, places = tj.jit(_scores)(x, m)
    np.testing.assert_array_equal(best, scores.max(axis=0))
    kept = ~np.isnan(scores.max(axis=0))
    np.testing.assert_array_equal(places.numpy()[kept], scores.argmax(axis=0)[kept])
    assert _kinds(_scores, x, m) == ["column"]


def test_rows_that_lie_together_stay_rows() -> None:
    m = np.random.default_rng(1).random((64, 96))
    assert _kinds(lambda m: (2 * m).max(axis=1), m) == ["row"]
    assert _kinds(lambda m, n: (m + n.T).max(axis=1), m, np.ones((96, 64))) == ["row"]


def test_sums_and_few_columns_stay_rows() -> None:
    m = np.random.default_rng(1).random((96, 64))
    assert _kinds(lambda m: (2 * m.T).sum(axis=1), m) == ["row"]
    few = host().lanes("f64") - 1
    assert _kinds(lambda m: (2 * m.T).max(axis=1), m[:, :few].copy()) == ["row"]
