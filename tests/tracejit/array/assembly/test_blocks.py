"""``tracejit/array/assembly/blocks.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check, gradients
from ..operands import LINE, MATRIX, SHORT

cases = Cases()
cases("append", LINE, SHORT)
cases("append", MATRIX, MATRIX, axis=1)
cases("append", [1, 2], 2.5)
cases("column_stack", [LINE, LINE])
cases("column_stack", [MATRIX, LINE[:4]])
cases("dstack", [LINE, LINE])
cases("dstack", [MATRIX, MATRIX])
cases("block", [[MATRIX, MATRIX], [np.ones((1, 10))]])
cases("block", [LINE, SHORT])
cases("block", [1, 2.0])
cases("block", LINE)
cases("block", [[LINE[:4]], [MATRIX.T]])


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x, y: tj.block([[x, y[:4, None]]]), MATRIX, LINE),
    (lambda x, y: tj.append(x, y), LINE, SHORT),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.block([[1], 2]), tj.ShapeError, "different depths"),
        (lambda: tj.block([]), tj.ShapeError, "a list is empty"),
        (lambda: tj.block((1, 2)), tj.ShapeError, "in lists, not tuples"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "make",
    [
        np.block,
        lambda x: np.block([x]),
        lambda x: np.meshgrid(x, x, sparse=True)[0],
        lambda x: np.meshgrid(x)[0],
        lambda x: np.meshgrid(x, x[:2])[1],
    ],
)
def test_results_have_memory_of_their_own(make):
    def f(x):
        made = make(x)
        made += 1
        return x

    for run in (f, tj.jit(f), lambda x: f(tj.asarray(x))):
        x = LINE.copy()
        np.testing.assert_array_equal(run(x), LINE)
        np.testing.assert_array_equal(x, LINE)
