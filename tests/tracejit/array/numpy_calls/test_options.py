"""``out=``, ``where=`` and ``dtype=`` of elementwise functions, on both sides."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

X = np.array([-1.0, 0.25, 4.0])
MASK = X > 0


@pytest.mark.parametrize("xp", [np, tj], ids=["np", "tj"])
def test_where_keeps_the_rest(xp):
    out = tj.tensor([7.0, 7.0, 7.0])
    assert xp.sqrt(tj.asarray(X), out=out, where=MASK) is out
    assert out.tolist() == [7.0, 0.5, 2.0]
    assert xp.sqrt(tj.asarray(X), where=MASK).tolist() == [0.0, 0.5, 2.0]


@pytest.mark.parametrize("name", ["log", "sqrt", "reciprocal", "arccosh", "arcsin", "arctanh", "log2"])
def test_gradients_are_zero_where_nothing_is_computed(name):
    function = getattr(tj, name)
    at = np.array([0.0, 1.0, 1.5 if name == "arccosh" else 0.5])
    chosen = np.array([False, False, True])
    slope = tj.grad(lambda x: tj.sum(function(x, where=chosen)))(at)
    assert slope.tolist()[:2] == [0.0, 0.0]
    assert slope[2].item() == pytest.approx(tj.grad(function)(at[2]).item())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtype_is_that_of_the_loop(dtype):
    assert tj.add([1, 2], [3, 4], dtype=dtype).dtype == np.add([1, 2], [3, 4], dtype=dtype).dtype
    assert np.exp(tj.ones(2), dtype=dtype).dtype == dtype


def test_results_are_repeated_to_a_larger_out():
    out = tj.zeros((2, 3))
    tj.add(X, 1.0, out=out)
    assert out.tolist() == [(X + 1).tolist()] * 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.add(X, X, out=3), tj.DTypeError, "add: out must be a tensor"),
        (lambda: tj.add(X, X, out=tj.zeros(2)), tj.ShapeError, "add: "),
        (lambda: tj.add(X, X, out=tj.zeros(3, "int64")), tj.DTypeError, "cannot take"),
        (lambda: tj.add(X, X, where=[1, 0, 1]), tj.DTypeError, "where must be an array of bools"),
        (lambda: np.add(tj.ones(3), 1, dtype="int8", casting="safe"), tj.DTypeError, "add: x has dtype"),
        (lambda: tj.equal(X, X, dtype="float64"), tj.DTypeError, "equal: dtype="),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_out_records_gradients():
    x = tj.tensor(X, requires_grad=True)
    out = tj.zeros(3)
    tj.multiply(x, x, out=out)
    out.sum().backward()
    assert x.grad.tolist() == (2 * X).tolist()
