"""``tracejit/array/assembly/triangles.py``: NumPy's results in every mode, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check
from ..operands import MATRIX

cases = Cases()
cases("tril_indices", 3)
cases("triu_indices", 3, 1, 4)
cases("tril_indices_from", MATRIX, -1)
cases("triu_indices_from", MATRIX)
cases("mask_indices", 3, np.triu, 1)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.tril_indices_from([1]), tj.ShapeError, "expected a matrix"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
