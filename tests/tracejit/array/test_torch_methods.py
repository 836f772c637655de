"""Methods under PyTorch's names, against what NumPy computes; eagerly, jitted, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]])

#: A method of X, and the same in NumPy.
METHODS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "sign": (lambda x: x.sign(), np.sign(X)),
    "add": (lambda x: x.add(1), X + 1),
    "sub": (lambda x: x.sub(x), X - X),
    "mul": (lambda x: x.mul(2.0), X * 2),
    "div": (lambda x: x.div(2.0), X / 2),
    "neg": (lambda x: x.neg(), -X),
    "mm": (lambda x: x.mm(x.t()), X @ X.T),
    "bmm": (lambda x: x[None].bmm(x.mT[None]), (X @ X.T)[None]),
    "topk": (lambda x: x.topk(2).values, -np.sort(-X)[:, :2]),
    "smallest": (lambda x: x.topk(1, dim=0, largest=False).values, X.min(0, keepdims=True)),
    "flip": (lambda x: x.flip(0), X[::-1]),
    "expand": (lambda x: x[:1].expand(4, -1), np.broadcast_to(X[:1], (4, 3))),
    "expand to more": (lambda x: x.expand((2, 2, 3)), np.broadcast_to(X, (2, 2, 3))),
    "gather": (lambda x: x.gather(1, np.array([[0], [2]])), np.array([[3.0], [-2.5]])),
    "gather by dim": (lambda x: x.gather(dim=1, index=np.array([[0], [2]])), np.array([[3.0], [-2.5]])),
    "index_select": (lambda x: x.index_select(1, np.array([2, 0])), X[:, [2, 0]]),
    "narrow": (lambda x: x.narrow(1, -2, 2), X[:, 1:]),
    "chunk": (lambda x: x.chunk(2, dim=1)[1], X[:, 2:]),
    "split": (lambda x: x.split(2, dim=1)[0], X[:, :2]),
    "split by sizes": (lambda x: x.split([1, 2], dim=1)[1], X[:, 1:]),
    "unbind": (lambda x: x.unbind()[1], X[1]),
    "masked_fill": (lambda x: x.masked_fill(x < 0, 9.0), np.where(X < 0, 9.0, X)),
    "to a dtype": (lambda x: x.to(tj.float32).to("float64"), X),
    "to another's": (lambda x: x.to(tj.ones(1)), X),
    "type_as": (lambda x: x.type_as(x), X),
    "cpu": (lambda x: x.cpu().to("cpu", tj.float64).to(device="cpu"), X),
    "contiguous": (lambda x: x.mT.contiguous(), X.T),
    "double": (lambda x: x.float().double(), X),
    "tile": (lambda x: x.tile((1, 2)), np.tile(X, (1, 2))),
    "roll": (lambda x: x.roll(1, 0), np.roll(X, 1, 0)),
    "maximum": (lambda x: x.maximum(0.25), np.maximum(X, 0.25)),
    "expm1": (lambda x: x.expm1(), np.expm1(X)),
}
#: Gradients of these are zero.
FLAT = ("sign",)


@pytest.mark.parametrize("name", METHODS)
def test_values_and_gradients(name: str) -> None:
    f, expected = METHODS[name]
    x = tj.tensor(X, requires_grad=True)
    result = f(x)
    np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-15)
    np.testing.assert_allclose(tj.jit(f)(X).numpy(), expected, rtol=1e-15)
    result.sum().backward()
    assert x.grad is not None
    gradient = tj.jit(tj.grad(lambda x: f(x).sum()))(X)
    np.testing.assert_allclose(gradient.numpy(), x.grad.numpy(), rtol=1e-15)
    assert x.grad.any() != (name in (*FLAT, "sub"))


DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
}


@pytest.mark.parametrize("method", DTYPES)
def test_dtypes(method: str) -> None:
    result = getattr(tj.tensor([1.0, 0.0]), method)()
    assert result.dtype == DTYPES[method]
    assert result.tolist() == [1, 0]


def test_what_is_said_of_a_tensor() -> None:
    x = tj.asarray(X)
    assert x.is_floating_point()
    assert not x.long().is_floating_point()
    assert x.element_size() == 8
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.new_zeros(2, 3).tolist() == [[0.0] * 3] * 2
    assert x.float().new_ones((2,)).dtype == "float32"
    assert x.new_full((1,), 7, dtype="int64").tolist() == [7]


def test_topk_of_equal_elements_and_nan() -> None:
    values, indices = tj.topk([1.0, np.nan, 1.0, 0.0], 3)
    assert indices.tolist() == [1, 0, 2]
    assert np.isnan(values.numpy()[0])
    assert tj.topk(np.zeros((2, 0)), 0).values.shape == (2, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.to("cuda"), "to: target must be 'cpu'"),
        (lambda x: x.to(device="cuda:1"), "to: device must be 'cpu'"),
        (lambda x: x.topk(4), "topk: k must be 0 to 3"),
        (lambda x: x.narrow(0, 1, 2), "narrow: 2 elements from 1 on"),
        (lambda x: x.split([1, 1], 1), "split: sizes"),
        (lambda x: x.chunk(0), "chunk: chunks must be"),
        (lambda x: x.mm(x[0]), "mm: expected two matrices"),
        (lambda x: x.bmm(x), "bmm: expected shapes"),
    ],
)
def test_errors(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(tj.TracejitError, match=message):
        call(tj.asarray(X))


def test_keywords_of_other_libraries() -> None:
    """``dim`` is ``axis``, and ``argnum`` ``argnums``, where a function has no such argument of its own."""
    assert tj.median(X, dim=1).tolist() == np.median(X, 1).tolist()
    assert tj.std(X, dim=0, keepdim=True).shape == (1, 3)
    assert tj.asarray(X).sum(dim=1, keepdim=True).tolist() == X.sum(1, keepdims=True).tolist()
    assert tj.jit(lambda x: x.max(dim=0))(X).tolist() == X.max(0).tolist()
    assert tj.grad(lambda x, y: x * y * y, argnum=1)(2.0, 3.0).item() == 12.0
    with pytest.raises(TypeError, match="dim"):
        tj.median(X, axis=0, dim=1)
    with pytest.raises(tj.AxisError, match="median"):
        tj.median(X, dim=5)
