"""Functions that write in place: NumPy's results, eagerly and jitted, in tensors and in arrays; gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import gradients
from ..operands import INTEGERS, LINE, MASK, MATRIX, SHORT

CASES = {
    "copyto": (MATRIX, (LINE[:5],), {}),
    "copyto where": (MATRIX, (0.5,), {"where": MATRIX > 0}),
    "copyto integers": (INTEGERS, (7,), {"where": MASK}),
    "putmask": (MATRIX, (MATRIX > 0, LINE), {}),
    "putmask one": (INTEGERS, (MASK, 9), {}),
    "place": (MATRIX, (MATRIX > 0, SHORT), {}),
    "place integers": (INTEGERS, (MASK, [1, 2]), {}),
    "put": (LINE, ([0, 2, -1], [1.0, 2.0]), {}),
    "put wrap": (MATRIX, ([0, 25, -33], SHORT), {"mode": "wrap"}),
    "put clip": (MATRIX, ([0, 25, -33], SHORT), {"mode": "clip"}),
    "put_along_axis": (MATRIX, (np.array([[0], [1], [2], [3]]), 9.0), {"axis": 1}),
    "put_along_axis flat": (MATRIX, (np.array([0, 3]), 9.0), {"axis": None}),
    "fill_diagonal": (MATRIX, (5.0,), {}),
    "fill_diagonal wrap": (np.zeros((7, 3)), ([1.0, 2.0],), {"wrap": True}),
    "fill_diagonal cube": (np.zeros((3, 3, 3)), (2.0,), {}),
}


@pytest.mark.parametrize("label", CASES)
def test_agrees_with_numpy(label):
    array, args, kwargs = CASES[label]
    name = label.split()[0]
    expected = array.copy()
    getattr(np, name)(expected, *args, **kwargs)
    eager = tj.tensor(array)
    assert getattr(tj, name)(eager, *args, **kwargs) is None
    through = tj.tensor(array)
    getattr(np, name)(through, *args, **kwargs)

    @tj.jit
    def written(x):
        x = x * 1
        getattr(tj, name)(x, *args, **kwargs)
        return x

    plain = array.copy()
    getattr(tj, name)(plain, *args, **kwargs)
    for actual in (eager, through, written(array), plain):
        np.testing.assert_array_equal(np.asarray(actual), expected)


def test_gradients():
    def put(x, v):
        y = x * 1
        tj.put(y, [0, 2], v)
        return y**2

    def place(x, v):
        y = x * 1
        tj.place(y, x > 0, v)
        return y**2

    def fill(x):
        y = x * 1
        tj.fill_diagonal(y, 5.0)
        return y**2

    gradients(put, LINE, SHORT[:2])
    gradients(place, LINE, SHORT[:2])
    gradients(fill, MATRIX)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.put(tj.ones(3), [5], 1.0), tj.OutOfBoundsError, "put"),
        (lambda: tj.put(tj.ones(3), [0.5], 1.0), tj.DTypeError, "ind must be integers"),
        (lambda: tj.place(tj.ones(3), [True], 1.0), tj.ShapeError, "as many elements as x"),
        (lambda: tj.place(tj.ones(1), [True], []), tj.ShapeError, "vals must not be empty"),
        (lambda: tj.putmask(tj.ones(3), [True], 1.0), tj.ShapeError, "must have the shape of x"),
        (lambda: tj.copyto(tj.ones(3, "int64"), 0.5), tj.DTypeError, "copyto: cannot cast"),
        (lambda: tj.copyto(3.0, 0.5), tj.DTypeError, "must be a tensor"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
