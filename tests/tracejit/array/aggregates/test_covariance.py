"""``tracejit/array/aggregates/covariance.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import INTEGERS, LINE, MATRIX, RNG, SINGLE

cases = Cases()
cases("cov", LINE)
cases("cov", RNG.normal(size=(3, 8)))
cases("cov", LINE, LINE[::-1])
cases("cov", RNG.normal(size=(8, 3)), rowvar=False, bias=True)
cases("cov", RNG.normal(size=(3, 4)), aweights=np.array([1.0, 2, 3, 4]))
cases("cov", RNG.normal(size=(3, 4)), fweights=np.array([1, 2, 3, 4]), aweights=np.array([1.0, 2, 3, 4]))
cases("cov", INTEGERS)
cases("cov", SINGLE)
cases("cov", RNG.normal(size=(3, 4)), ddof=0, fweights=np.array([1, 2, 3, 4]))
cases("corrcoef", RNG.normal(size=(3, 8)))
cases("corrcoef", LINE, LINE**2)
cases("corrcoef", LINE)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (tj.cov, MATRIX),
    (tj.corrcoef, MATRIX),
    (lambda x: tj.cov(x, aweights=np.arange(1.0, 6.0)), MATRIX),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


def test_batches():
    batched(tj.cov, np.stack([MATRIX, -MATRIX]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.cov([[[1.0]]]), tj.ShapeError, "cov: expected an array of rank 2"),
        (lambda: tj.cov([1.0, 2.0], fweights=[1.5, 1.0]), tj.DomainError, "fweights must be integers"),
        (lambda: tj.cov([1.0, 2.0], aweights=[1.0]), tj.ShapeError, "aweights must have shape"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
