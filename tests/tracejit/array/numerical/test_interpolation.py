"""``tracejit/array/numerical/interpolation.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import ASCENDING, INTEGERS, LINE, SHORT, SINGLE

cases = Cases()
cases("interp", LINE, ASCENDING, SHORT[[0, 1, 2, 0, 1, 2]])
cases("interp", LINE, ASCENDING, ASCENDING**2, -7.0, 8.0)
cases("interp", LINE, ASCENDING, ASCENDING**2, period=1.5)
cases("interp", 0.3, ASCENDING, ASCENDING)
cases("interp", INTEGERS, [0, 2, 3], [1, 5, 2])
cases("interp", np.array([np.nan, 1]), ASCENDING, ASCENDING)
cases("interp", SINGLE, ASCENDING, ASCENDING)
cases("interp", LINE, [1.0], [2.0])


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (tj.interp, np.array([0.1, 0.33]), ASCENDING, ASCENDING**2),
    (lambda x, xp, fp: tj.interp(x, xp, fp, period=5.0), np.array([0.1, 0.33]), ASCENDING, ASCENDING**2),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.interp(0.5, [1.0, 2.0], [1.0]), tj.ShapeError, "interp: .*one length"),
        (lambda: tj.interp(0.5, [], []), tj.ShapeError, "interp: expected at least one point"),
        (lambda: tj.interp(0.5, [1.0], [1.0], period=0), tj.DomainError, "period"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_batches():
    batched(
        lambda x, y: tj.interp(x, ASCENDING, y), np.stack([LINE, -LINE]), np.stack([ASCENDING, ASCENDING**2])
    )
