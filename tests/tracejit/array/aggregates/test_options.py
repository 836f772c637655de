"""``tracejit/array/aggregates/nan_aware.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check, gradients
from ..operands import HOLES, INTEGERS, LINE, MASK, SHORT, SINGLE

cases = Cases()
cases("sum", HOLES, where=HOLES > 0, axis=0)
cases("prod", INTEGERS, where=MASK, initial=2)
cases("max", INTEGERS, initial=3, axis=0)
cases("min", INTEGERS, where=MASK, initial=9)
cases("mean", HOLES, where=HOLES > 0)
cases("mean", INTEGERS, where=MASK, axis=1)
cases("all", INTEGERS, where=MASK)
cases("any", INTEGERS, where=MASK, axis=0)
cases("max", np.zeros((0, 3)), axis=0, initial=2.0)
cases("sum", SINGLE, initial=1.5)
cases("sum", INTEGERS.astype("i1"), initial=300)
cases("var", HOLES, where=HOLES > 0)
cases("std", INTEGERS, where=MASK, ddof=1, axis=1)
cases("var", LINE, mean=LINE.mean(keepdims=True))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x: tj.var(x, where=x > 0), LINE),
    (lambda x: tj.sum(x * x, where=x > 0, initial=2.0), LINE),
    (lambda x: tj.mean(x * x, where=x > 0), LINE),
    (lambda x: tj.prod(x, where=x > 0), SHORT),
    (lambda x: tj.max(x, initial=-9.0, where=x < 0.5), LINE),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.max([1.0], where=[True]), tj.ShapeError, "needs initial"),
        (lambda: tj.sum([1.0], where=[1]), tj.DTypeError, "where must be an array of bools"),
        (lambda: tj.sum([1.0], where=[True, False]), tj.ShapeError, "broadcast"),
        (
            lambda: tj.sum([[1.0], [2.0]], axis=0, out=tj.zeros(2), where=[True]),
            tj.ShapeError,
            "does not fit",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
