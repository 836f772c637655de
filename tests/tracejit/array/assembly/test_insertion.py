"""``tracejit/array/assembly/insertion.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import INTEGERS, LINE, MATRIX, SHORT

cases = Cases()
cases("insert", LINE, 2, 9.0)
cases("insert", LINE, [1, 3], [8.0, 9.0])
cases("insert", MATRIX, 1, LINE[:4], axis=1)
cases("insert", MATRIX, 1, LINE[:5], axis=0)
cases("insert", MATRIX, [1], LINE[:4].reshape(4, 1), axis=1)
cases("insert", LINE, slice(1, 4), 7)
cases("insert", LINE, [2, 2, 0], [1.0, 2, 3])
cases("insert", LINE, -1, 5.0)
cases("insert", INTEGERS, [0, 2], 5, axis=0)
cases("insert", LINE, 2, SHORT)
cases("insert", LINE, [1], SHORT)
cases("delete", LINE, 2)
cases("delete", LINE, [1, 3, 3])
cases("delete", MATRIX, 1, axis=1)
cases("delete", LINE, slice(1, 4))
cases("delete", LINE, -1)
cases("delete", LINE, [True] * 3 + [False] * 4)
cases("delete", MATRIX, [0], 0)
cases("delete", LINE, [])
cases.eager("trim_zeros", np.array([0, 0, 1.0, 0, 2, 0]))
cases.eager("trim_zeros", np.array([0, 0, 1, 0, 2, 0]), "f")
cases.eager("trim_zeros", np.zeros(3))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x, y: tj.insert(x, [1, 2], y), LINE, SHORT[:2]),
    (lambda x: tj.delete(x, 1), LINE),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_deletes_at_an_index_that_is_traced(axis):
    jitted = tj.jit(lambda x, i: np.delete(x, i, axis))
    for i in (0, 2, -1, -3):
        np.testing.assert_array_equal(jitted(MATRIX, np.int64(i)), np.delete(MATRIX, i, axis))
    for i in (-21, 20):
        with pytest.raises(IndexError):
            jitted(MATRIX, np.int64(i))


def test_batches():
    batched(lambda x, y: tj.insert(x, [1, 3], y), MATRIX, MATRIX[:, :2])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.insert([1, 2], 5, 0), tj.OutOfBoundsError, "insert: obj"),
        (lambda: tj.delete([1, 2], 5), tj.OutOfBoundsError, "delete: obj"),
        (lambda: tj.delete([1, 2], [True]), tj.ShapeError, "a mask must have shape"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
