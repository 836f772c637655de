"""Parameters of NumPy's and PyTorch's beside the operands: `out`, `casting`, `axes`, `dim` and their like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

pytestmark = pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) < (2, 4), reason="NumPy tells its parameters from 2.4 on"
)
X = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
#: Calls with a place for the result: the library, the operand and that.
WITH_OUT = {
    "argmax": (lambda xp, x, out: xp.argmax(x, 1, out), np.empty(2, np.int64)),
    "argmin": (lambda xp, x, out: xp.argmin(x, axis=0, out=out, keepdims=True), np.empty((1, 3), np.int64)),
    "ptp": (lambda xp, x, out: xp.ptp(x, 0, out), np.empty(3)),
    "clip": (lambda xp, x, out: xp.clip(x, 2, 4, out), np.empty((2, 3))),
    "cumsum": (lambda xp, x, out: xp.cumsum(x, 1, None, out), np.empty((2, 3))),
    "cumprod": (lambda xp, x, out: xp.cumprod(x, 1, None, out), np.empty((2, 3))),
    "std": (lambda xp, x, out: xp.std(x, 0, None, out, 1, True), np.empty((1, 3))),
    "var": (lambda xp, x, out: xp.var(x, 0, None, out, 1), np.empty(3)),
    "nanstd": (lambda xp, x, out: xp.nanstd(x, 0, None, out, 1), np.empty(3)),
    "nanvar": (lambda xp, x, out: xp.nanvar(x, 0, None, out, 1, True), np.empty((1, 3))),
    "nanargmax": (lambda xp, x, out: xp.nanargmax(x, 1, out), np.empty(2, np.int64)),
    "nancumsum": (lambda xp, x, out: xp.nancumsum(x, 1, None, out), np.empty((2, 3))),
    "round": (lambda xp, x, out: xp.round(x / 7, 1, out), np.empty((2, 3))),
    "fix": (lambda xp, x, out: xp.fix(x / 7, out), np.empty((2, 3))),
    "isposinf": (lambda xp, x, out: xp.isposinf(x, out), np.empty((2, 3), bool)),
    "take": (lambda xp, x, out: xp.take(x, [0, 4], 1, out, "clip"), np.empty((2, 2))),
    "dot": (lambda xp, x, out: xp.dot(x, x.T, out), np.empty((2, 2))),
    "outer": (lambda xp, x, out: xp.outer(x[0], x[1], out), np.empty((3, 3))),
    "einsum": (lambda xp, x, out: xp.einsum("ij,kj->ik", x, x, out=out), np.empty((2, 2))),
    "compress": (lambda xp, x, out: xp.compress([True, False], x, 0, out), np.empty((1, 3))),
    "cumulative_sum": (lambda xp, x, out: xp.cumulative_sum(x[0], out=out), np.empty(3)),
    "matmul": (lambda xp, x, out: xp.matmul(x, x.T, out), np.empty((2, 2))),
    "degrees": (lambda xp, x, out: xp.degrees(x, out), np.empty((2, 3))),
    "method argmax": (lambda xp, x, out: x.argmax(1, out), np.empty(2, np.int64)),
    "method clip": (lambda xp, x, out: x.clip(2, 4, out=out), np.empty((2, 3))),
    "method cumsum": (lambda xp, x, out: x.cumsum(1, None, out), np.empty((2, 3))),
    "method std": (lambda xp, x, out: x.std(0, None, out, 1), np.empty(3)),
    "method take": (lambda xp, x, out: x.take([0, 4], 1, out, "wrap"), np.empty((2, 2))),
    "method trace": (lambda xp, x, out: x.trace(0, 0, 1, None, out), np.empty(())),
    "method round": (lambda xp, x, out: x.round(0, out), np.empty((2, 3))),
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_out_takes_the_result(name: str) -> None:
    call, place = WITH_OUT[name]
    expected = call(np, X, place.copy())
    tensor = tj.zeros(place.shape, dtype=place.dtype)
    assert call(tj, tj.asarray(X), tensor) is tensor
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-14)
    if name.startswith("method"):
        return
    array = place.copy()
    assert call(tj, tj.asarray(X), array) is array
    np.testing.assert_allclose(array, expected, rtol=1e-14)

    @tj.jit
    def jitted(x: Any) -> Any:
        written = tj.zeros(place.shape, dtype=place.dtype)
        call(tj, x, written)
        return written

    np.testing.assert_allclose(jitted(X).numpy(), expected, rtol=1e-14)


def test_gradients_follow_out() -> None:
    def f(x: Any) -> Any:
        out = tj.zeros(3)
        tj.var(x, 0, None, out, 1)
        return tj.sum(out)

    expected = tj.grad(lambda x: tj.sum(tj.var(x, 0, ddof=1)))(X)
    np.testing.assert_allclose(tj.grad(f)(X).numpy(), expected.numpy())


#: Calls by names and options that functions have no parameter for.
BY_NAME = {
    "a": lambda xp: xp.sum(a=X, axis=0),
    "arr": lambda xp: xp.append(arr=X, values=[1.0]),
    "a_min": lambda xp: xp.clip(X, a_min=2, a_max=4),
    "v": lambda xp: xp.diag(v=[1.0, 2.0]),
    "like": lambda xp: xp.arange(3, like=None),
    "subok": lambda xp: xp.broadcast_to(X, (2, 2, 3), True),
    "positional subok": lambda xp: xp.zeros_like(X, None, "K", True, (2,)),
    "casting": lambda xp: xp.add(X, 1, casting="safe", dtype=float),
    "order and subok": lambda xp: xp.multiply(X, 2, order="K", subok=False),
    "where": lambda xp: xp.fabs(-X, where=X > 2, out=xp.asarray(X * 0)),
    "several results": lambda xp: xp.divmod(X, 2, out=(xp.asarray(X * 0), xp.asarray(X * 0)))[1],
    "dtype": lambda xp: xp.modf(X, dtype="f4")[0],
    "kind": lambda xp: xp.sort(X, 0, "stable"),
    "stable": lambda xp: xp.argsort(X, axis=0, stable=True),
    "partition kind": lambda xp: xp.partition(X, 1, 1, "introselect")[:, 1],
    "isin kind": lambda xp: xp.isin([1, 2], [2], kind="sort"),
    "copy": lambda xp: xp.meshgrid([1, 2], [3, 4], copy=False)[1],
    "einsum dtype": lambda xp: xp.einsum("ij->i", X, dtype="f4", casting="same_kind"),
    "axes of matmul": lambda xp: xp.matmul(X, X, axes=[(1, 0), (0, 1), (1, 0)]),
    "axis of vecdot": lambda xp: xp.vecdot(X, X, axis=0, keepdims=True),
    "average": lambda xp: xp.average(X, 0, [1.0, 2.0], True)[1],
}


@pytest.mark.parametrize("name", BY_NAME)
def test_other_names_and_options(name: str) -> None:
    actual, expected = BY_NAME[name](tj), BY_NAME[name](np)
    np.testing.assert_allclose(np.asarray(actual), expected)
    assert actual.dtype == expected.dtype


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: tj.stack([x, x], dim=1), np.stack([X, X], 1)),
        (lambda x: tj.concatenate([x, x], dim=1), np.concatenate([X, X], 1)),
        (lambda x: tj.squeeze(x[None], dim=0), X),
        (lambda x: x.unsqueeze(dim=1), X[:, None]),
        (lambda x: x.roll(1, dims=1), np.roll(X, 1, 1)),
        (lambda x: tj.flip(x, dims=(0,)), X[::-1]),
        (lambda x: x.at[0].mul(2.0), X * [[2.0], [1.0]]),
        (lambda x: x.at[0].div(2.0), X / [[2.0], [1.0]]),
    ],
)
def test_other_libraries_names(call: Any, expected: Any) -> None:
    np.testing.assert_allclose(call(tj.asarray(X)).numpy(), expected)
    np.testing.assert_allclose(tj.jit(call)(X).numpy(), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.sort(X, order="f"), tj.ArgumentError, "sort: order must be None"),
        (lambda: tj.sort(X, kind="bubble"), tj.DTypeError, "sort: kind must be one of"),
        (lambda: tj.isin(X, X, kind="tree"), tj.DTypeError, "isin: kind must be one of"),
        (lambda: tj.array([[1]], ndmax=1), tj.ArgumentError, "array: argument ndmax is not supported"),
        (lambda: tj.cumsum(X, 0, out=tj.zeros(2)), tj.ShapeError, "cumsum: the result has shape"),
        (lambda: tj.add(X, 1.5, casting="no", dtype=int), tj.DTypeError, "add: x has dtype"),
        (lambda: tj.asarray(X, "f4").astype("f8", casting="no"), tj.DTypeError, "astype: dtype float32"),
        (lambda: tj.reshape(X, 6, np.ones(2)), tj.ArgumentError, "reshape: order must be"),
        (lambda: tj.var(X, ddof=1, correction=2), tj.DomainError, "var: ddof=1 and correction=2"),
        (lambda: tj.matmul(X, X, axes=[0]), tj.ArgumentError, "matmul: axes must have an entry"),
        (lambda: tj.vecdot(X, X, axes=[0, 0], axis=1), tj.ArgumentError, "vecdot: axes and axis exclude"),
        (lambda: tj.sum(X, of=1), TypeError, "unexpected keyword argument 'of'"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
