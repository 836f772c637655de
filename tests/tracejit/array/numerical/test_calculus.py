"""``tracejit/array/numerical/calculus.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import ASCENDING, INTEGERS, LINE, MATRIX, SHORT, SINGLE

cases = Cases()
cases("gradient", LINE)
cases("gradient", LINE, 2.0)
cases("gradient", LINE, np.cumsum(np.abs(LINE)))
cases("gradient", LINE, edge_order=2)
cases("gradient", LINE, np.cumsum(np.abs(LINE)), edge_order=2)
cases("gradient", MATRIX)
cases("gradient", MATRIX, 2.0, 3.0)
cases("gradient", MATRIX, axis=1)
cases("gradient", MATRIX, np.arange(4.0) ** 2, 1.0, axis=(0, 1))
cases("gradient", INTEGERS)
cases("gradient", np.arange(6) ** 2, 2, edge_order=2)
cases("gradient", MATRIX, axis=(1, 0))
cases("gradient", SINGLE)
cases("trapezoid", LINE)
cases("trapezoid", LINE, ASCENDING[[0, 1, 2, 3, 4, 5, 5]])
cases("trapezoid", MATRIX, dx=0.5, axis=0)
cases("trapezoid", MATRIX, MATRIX)
cases("trapezoid", INTEGERS)
cases("unwrap", LINE * 4)
cases("unwrap", INTEGERS)
cases("unwrap", INTEGERS, period=4)
cases("unwrap", MATRIX * 5, axis=0, discont=4.0)
cases("unwrap", INTEGERS, period=5)
cases("unwrap", SINGLE * 3)
cases("ediff1d", LINE)
cases("ediff1d", INTEGERS, to_begin=[1, 2], to_end=9)
cases("cumulative_sum", LINE)
cases("cumulative_sum", MATRIX, axis=1, include_initial=True)
cases("cumulative_prod", INTEGERS, axis=0, include_initial=True)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (tj.gradient, MATRIX),
    (lambda y, x: tj.gradient(y, x, edge_order=2), LINE, np.cumsum(np.abs(LINE) + 0.1)),
    (tj.trapezoid, LINE, LINE[::-1]),
    (tj.unwrap, 4 * LINE),
    (tj.ediff1d, LINE),
    (lambda x: tj.cumulative_sum(x, include_initial=True), LINE),
    (lambda x: tj.cumulative_prod(x), SHORT),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


def test_batches():
    batched(tj.unwrap, np.stack([4 * LINE, -4 * LINE]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.gradient([1.0]), tj.ShapeError, "at least 2 samples"),
        (lambda: tj.gradient([1.0, 2.0], 1.0, 2.0), tj.ShapeError, "spacings"),
        (lambda: tj.gradient([1.0, 2.0, 4.0], edge_order=3), tj.ShapeError, "edge_order"),
        (lambda: tj.cumulative_sum([[1]]), tj.ShapeError, "axis is needed"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
