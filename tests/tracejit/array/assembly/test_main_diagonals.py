"""``tracejit/array/assembly/main_diagonals.py``: NumPy's results in every mode, errors."""

from __future__ import annotations

import pytest

import tracejit as tj

from ..agreement import Cases, check
from ..operands import MATRIX

cases = Cases()
cases("diag_indices", 3, 3)
cases("diag_indices_from", MATRIX[:4, :4])


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.fill_diagonal(tj.ones(2), 1.0), tj.ShapeError, "rank 2 or more"),
        (lambda: tj.diag_indices_from(tj.ones((2, 3))), tj.ShapeError, "of one size"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
