"""Programs as users write them, for mypy: what it says of a line stands behind it.

``# E: code`` is an error of that code, ``# T: type`` what ``reveal_type`` of the line's argument shows; of
all other lines it says nothing. Nothing here runs.
"""

# ruff: noqa: B018  # attributes that are not there

from __future__ import annotations

import dataclasses
from typing import reveal_type

import numpy as np

import tracejit as tj


def loss(w: tj.Tensor, x: tj.Tensor, scale: float = 1.0) -> tj.Tensor:
    return ((x @ w) ** 2).mean() * scale


def pair(x: tj.Tensor) -> tuple[tj.Tensor, int]:
    return x + 1, x.ndim


w, x = tj.ones(3), tj.ones((2, 3))

# -- names that are not there

tj.nonsense  # E: attr-defined
tj.linalg.nonsense  # E: attr-defined
tj.fft.nonsense  # E: attr-defined
tj.random.nonsense  # E: attr-defined
tj.scipy.nonsense  # E: attr-defined
tj.scipy.special.nonsense  # E: attr-defined
x.nonsense  # E: attr-defined
tj.nonsense(x)  # E: attr-defined

# -- tensors

reveal_type(x + 1)  # T: tracejit.tensors.tensor.Tensor
reveal_type(2.0 - x)  # T: tracejit.tensors.tensor.Tensor
reveal_type(-x @ w)  # T: tracejit.tensors.tensor.Tensor
reveal_type(x > 0)  # T: tracejit.tensors.tensor.Tensor
reveal_type(x[0, 1:])  # T: tracejit.tensors.tensor.Tensor
reveal_type(x.T)  # T: tracejit.tensors.tensor.Tensor
reveal_type(x.sum(axis=0))  # T: tracejit.tensors.tensor.Tensor
reveal_type(x.reshape(-1))  # T: tracejit.tensors.tensor.Tensor
reveal_type(x.shape)  # T: tuple[int, ...]
reveal_type(x.requires_grad)  # T: bool
reveal_type(tj.sin(x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.linalg.norm(x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.where(x > 0, x, 0.0))  # T: tracejit.tensors.tensor.Tensor
x += 1

# -- jit keeps the signature

fast = tj.jit(loss)
reveal_type(fast(w, x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(fast(w, x=x, scale=2.0))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.jit(pair)(x))  # T: tuple[tracejit.tensors.tensor.Tensor, int]
fast(w)  # E: call-arg
fast(w, x, "large")  # E: arg-type
fast(w, x, size=2)  # E: call-arg
fast.lower(w, x)
fast.nonsense  # E: attr-defined


@tj.jit
def plain(x: tj.Tensor, *, bias: float) -> tj.Tensor:
    return x + bias


@tj.jit(static_argnames="steps", donate_argnums=0)
def with_options(x: tj.Tensor, steps: int) -> tj.Tensor:
    for _ in range(steps):
        x = x * 2
    return x


reveal_type(plain(x, bias=1.0))  # T: tracejit.tensors.tensor.Tensor
plain(x, 1.0)  # E: call-arg
reveal_type(with_options(x, steps=3))  # T: tracejit.tensors.tensor.Tensor
with_options(x, steps="3")  # E: arg-type
tj.jit(loss, nonsense=True)  # E: call-overload
tj.jit(3)  # E: call-overload


class Model:
    def __init__(self) -> None:
        self.w = tj.ones(3)

    @tj.jit
    def predict(self, x: tj.Tensor) -> tj.Tensor:
        return x @ self.w


reveal_type(Model().predict(x))  # T: tracejit.tensors.tensor.Tensor
Model().predict()  # E: call-arg
Model().predict(x, x)  # E: call-arg

# -- transforms keep it, too

value, gradient = tj.value_and_grad(loss)(w, x, scale=2.0)
reveal_type(value)  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.vmap(loss, in_axes=(None, 0))(w, x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.vmap(pair)(x))  # T: tuple[tracejit.tensors.tensor.Tensor, int]
reveal_type(tj.jit(tj.vmap(loss))(w, x))  # T: tracejit.tensors.tensor.Tensor
tj.grad(loss)(w)  # E: call-arg
tj.grad(loss, argnums=(0, 1))(w, x)
tj.grad(loss, argnum=0)(w, x)  # E: call-arg
tj.grad(tj.jit(loss))(w, x, size=1)  # E: call-arg
tj.value_and_grad(loss)(w, x, "large")  # E: arg-type
tj.jacrev(loss)(w)  # E: call-arg
tj.jacfwd(loss)(w)  # E: call-arg
tj.hessian(loss)(w)  # E: call-arg
tj.elementwise_grad(tj.sin)(x)
reveal_type(tj.vjp(loss, w, x)[0])  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.jvp(tj.sin, (x,), (x,))[1])  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.linearize(loss, w, x)[1](w, x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.checkpoint(loss)(w, x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.checkpoint(loss, w, x))  # T: tracejit.tensors.tensor.Tensor
reveal_type(tj.stop_gradient(x))  # T: tracejit.tensors.tensor.Tensor


@tj.custom_vjp
def clipped(x: tj.Tensor, bound: float) -> tj.Tensor:
    return x


reveal_type(clipped(x, 1.0))  # T: tracejit.tensors.tensor.Tensor
clipped(x)  # E: call-arg


@tj.no_grad()
def evaluate(w: tj.Tensor) -> float:
    return float(loss(w, x))


reveal_type(evaluate(w))  # T: float
evaluate("w")  # E: arg-type


# -- containers


Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclasses.dataclass
class Layer:
    w: tj.Tensor
    b: tj.Tensor


@tj.jit
def step(layers: list[Layer], x: Array) -> list[Layer]:
    def total(layers: list[Layer]) -> tj.Tensor:
        return tj.stack([x @ layer.w + layer.b for layer in layers]).sum()

    gradients: list[Layer] = tj.grad(total)(layers)
    return [Layer(a.w - 0.1 * g.w, a.b - 0.1 * g.b) for a, g in zip(layers, gradients, strict=True)]


reveal_type(step([Layer(w, w)], np.ones(3)))  # T: list[programs.Layer]
step(Layer(w, w), np.ones(3))  # E: arg-type


@tj.no_grad
def without_parentheses(w: tj.Tensor) -> float:
    return float(loss(w, x))
