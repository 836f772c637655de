"""``tracejit/array/assembly/triangles.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check, gradients
from ..operands import MATRIX, SHORT

cases = Cases()
cases("tril_indices", 3)
cases("triu_indices", 3, 1, 4)
cases("tril_indices_from", MATRIX, -1)
cases("triu_indices_from", MATRIX)
cases("diag_indices", 3, 3)
cases("diag_indices_from", MATRIX[:4, :4])
cases("diagflat", MATRIX)
cases("diagflat", SHORT, 1)
cases("mask_indices", 3, np.triu, 1)
cases("ravel_multi_index", (np.array([1, 2]), np.array([3, 0])), (3, 4))
cases("ravel_multi_index", (np.array([4, 2]), np.array([3, -1])), (3, 4), mode=("wrap", "clip"))
cases("ravel_multi_index", (np.array([1, 2]), np.array([3, 0])), (3, 4), order="F")
cases("unravel_index", np.array([5, 11]), (3, 4))
cases("unravel_index", 7, (3, 4))
cases("unravel_index", np.array([[5, 11]]), (3, 4), "F")


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x: tj.diagflat(x), SHORT),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.fill_diagonal(tj.ones(2), 1.0), tj.ShapeError, "rank 2 or more"),
        (lambda: tj.ravel_multi_index(([3],), (3,)), tj.OutOfBoundsError, "outside"),
        (lambda: tj.unravel_index([9], (3, 3)), tj.OutOfBoundsError, "outside"),
        (lambda: tj.diag_indices_from(tj.ones((2, 3))), tj.ShapeError, "of one size"),
        (lambda: tj.tril_indices_from([1]), tj.ShapeError, "expected a matrix"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
