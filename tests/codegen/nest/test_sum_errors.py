"""Compiled sums are no further off than a few times NumPy's, of every kind of nest: see `sum_errors`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of
from .sum_errors import DATA, LIMIT, cases, ratio

_ALL = {name: (function, shape) for name, function, shape in cases()}
#: Tests of more elements take half a second or more, and are marked slow.
_LARGE = 1_500_000
_SMALL = [name for name, (_, shape) in _ALL.items() if math.prod(shape) <= _LARGE]
_OTHERS = [name for name in _ALL if name not in _SMALL]


#: The bound for products of equal numbers. Sums of many terms in a row err in one direction then, and so does
#: each term where a product is rounded of itself (without FMA); BLAS errs so, too, but on some machines has
#: kernels for small products that share each sum among lanes.
_EQUAL_TERMS = 20.0


def _check(name: str, dtype: str, sets: int) -> None:
    function, shape = _ALL[name]
    ratios = {data: ratio(function, shape, data, dtype, sets) for data in DATA}
    if name.startswith(("matmul", "vecmat")):
        assert ratios.pop("constant") <= _EQUAL_TERMS, name
    assert max(ratios.values()) <= LIMIT, ratios


@pytest.mark.parametrize("name", share_of(_SMALL, 5))
def test_no_further_off_than_numpy(name: str) -> None:
    _check(name, "f4", 6 if math.prod(_ALL[name][1]) > 100_000 else 12)


@pytest.mark.parametrize("name", ["sum 30001", "norm 30001", "dot 30001", "rows 40x3000", "var all 3000x40"])
def test_the_same_of_f64(name: str) -> None:
    _check(name, "f8", 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", share_of(_OTHERS, 5))
def test_large_ones(name: str) -> None:
    _check(name, "f4", 3)


def test_what_the_report_showed() -> None:
    tenths = np.full(10_000_000, 0.1, "f4")
    exact = float(np.sum(tenths, dtype="f8"))
    assert abs(float(tj.jit(tj.sum)(tenths)) / exact - 1) < 5e-7
    rows = tj.jit(lambda x: tj.sum(x, axis=1))(tenths.reshape(2, -1))
    np.testing.assert_allclose(np.asarray(rows), exact / 2, rtol=5e-7)


#: Sums that one infinity, NaN or overflow decides, of blocks of many terms.
_SPECIAL: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "all": (lambda x: x.sum(), (300_001,)),
    "rows": (lambda x: x.sum(axis=1), (3, 40_001)),
    "columns": (lambda x: x.sum(axis=0), (40_001, 3)),
    "wide columns": (lambda x: x.sum(axis=0), (20_000, 70)),
    "dots": (lambda x: x @ tj.ones(x.shape[1], dtype=x.dtype), (3, 40_001)),
    "loss": (lambda x: (x * 2).sum(axis=1).sum(), (40_001, 3)),
}


@pytest.mark.parametrize("case", _SPECIAL)
@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        ([math.inf], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, math.inf], math.nan),
        ([3e38, 3e38], math.inf),
    ],
)
def test_what_is_not_finite(case: str, placed: list[float], expected: float) -> None:
    function, shape = _SPECIAL[case]
    x = np.ones(shape, "f4")
    lines = x if x.ndim == 1 else (x if shape[0] < shape[1] else x.T)[-1]
    lines[[30_000, 17_000][: len(placed)] if lines.size > 30_000 else [19_000, 7][: len(placed)]] = placed
    total = np.asarray(tj.jit(function)(x)).reshape(-1)[-1]
    np.testing.assert_equal(float(total), expected)
