"""``tracejit/array/selection/choosing.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import INTEGERS, LINE, MASK, MATRIX, SHORT, SINGLE

cases = Cases()
cases("select", [LINE < 0, LINE > 1], [LINE, LINE**2], 42.0)
cases("select", [MASK], [INTEGERS])
cases("select", [INTEGERS < 0, INTEGERS > 2], [INTEGERS, 1.5])
cases("select", [MASK, ~MASK], [INTEGERS, SINGLE[:4]], 7)
cases("choose", [1, 0, 1], [[0, 1, 2], [10, 11, 12]])
cases("choose", INTEGERS, [1, 2, 3], mode="wrap")
cases("choose", INTEGERS, [1.0, SINGLE[:4], 3], mode="clip")
cases("choose", np.array([3, 20]), [np.array([k, k * 2]) for k in range(21)])
cases.eager("compress", [True, False, True], LINE)
cases.eager("compress", [False, True], MATRIX, axis=1)
cases.eager("extract", MASK, INTEGERS)
cases.eager("flatnonzero", INTEGERS)
cases.eager("compress", [0, 1, 1], [4, 5, 6])


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x: tj.select([x < 0], [x**2], x), LINE),
    (lambda x, y: tj.choose([0, 1, 0], [x, y]), SHORT, SHORT),
    (lambda x: tj.compress(x > 0, x, size=3), LINE),
    (lambda x: tj.piecewise(x, [x > 0], [lambda t: t * t, lambda t: -t]), LINE),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


def test_batches():
    batched(lambda x: tj.compress(x > 0, x, size=3), MATRIX)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.select([], []), tj.ShapeError, "at least one condition"),
        (lambda: tj.select([[1]], [[1]]), tj.DTypeError, "must hold bools"),
        (lambda: tj.choose([2], [[1], [2]]), tj.OutOfBoundsError, "not between 0 and 1"),
        (lambda: tj.piecewise([1.0], [[True]], [1, 2, 3]), tj.ShapeError, "functions"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
