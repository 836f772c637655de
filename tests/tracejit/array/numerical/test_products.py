"""``tracejit/array/numerical/products.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check, gradients
from ..operands import LINE, MATRIX, RNG, SHORT

cases = Cases()
cases("cross", SHORT, SHORT[::-1])
cases("cross", RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)))
cases("cross", RNG.normal(size=(3, 4)), SHORT, axisa=0)
cases("cross", RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), axis=0)
if hasattr(np, "matvec"):  # since NumPy 2.2
    cases("matvec", MATRIX, LINE[:5])
    cases("vecmat", LINE[:4], MATRIX)
    cases("matvec", RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 4)))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (tj.cross, SHORT, SHORT**2),
    (tj.matvec, MATRIX, LINE[:5]),
    (tj.vecmat, LINE[:4], MATRIX),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.cross([1.0] * 4, [1.0] * 4), tj.ShapeError, "2 or 3 elements"),
        (lambda: tj.matvec([1.0], [1.0]), tj.ShapeError, "matvec: expected matrices"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
