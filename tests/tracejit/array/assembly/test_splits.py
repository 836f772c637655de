"""``tracejit/array/assembly/splits.py``: NumPy's results in every mode, errors."""

from __future__ import annotations

import pytest

import tracejit as tj

from ..agreement import Cases, check
from ..operands import LINE, MATRIX, RNG

cases = Cases()
cases("hsplit", MATRIX, [2, 3])
cases("hsplit", LINE, 7)
cases("vsplit", MATRIX, 2)
cases("dsplit", RNG.normal(size=(2, 3, 4)), 2)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.vsplit([1, 2], 2), tj.ShapeError, "vsplit: expected an array of rank 2"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
