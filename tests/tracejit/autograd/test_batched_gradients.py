"""``is_grads_batched``: one pass for many cotangents gives what a loop gives, whatever the graph."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import GradientError, ShapeError, TracejitError

X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]
SEEDS = np.random.default_rng(0).normal(size=(4, 2, 3))


class Cube(tj.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return 3 * x * x * ct


@tj.custom_vjp
def halved(x):
    return x


halved.defvjp(lambda x: (x, x), lambda x, ct: (0.5 * ct * tj.cos(x),))


def written(x):
    y = x * 2
    y[0] = tj.sin(x[1])
    return y


GRAPHS = {
    "ops": lambda x: tj.tanh(x @ x.T) @ x,
    "function": Cube.apply,
    "custom_vjp": lambda x: halved(x * x),
    "checkpoint": lambda x: tj.checkpoint(lambda x: tj.exp(tj.sin(x)) * x, x),
    "jitted": tj.jit(lambda x: tj.sin(x) * x.sum()),
    "written": written,
    "loop": lambda x: tj.scan(lambda c, w: (tj.sin(c) * w, c), x, tj.tensor([1.0, 2.0, 3.0]))[0],
    "while": lambda x: tj.while_loop(lambda v: (v * v).sum() < 50, lambda v: v * 1.5 + tj.sin(x), x),
    "jitted_while": tj.jit(
        lambda x: tj.while_loop(lambda v: (v * v).sum() < 50, lambda v: v * 1.5 + tj.sin(x), x)
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_it_is_what_a_loop_gives(name):
    x = tj.tensor(X, requires_grad=True)
    y = GRAPHS[name](x)
    by_loop = [tj.autograd.grad(y, x, tj.asarray(seed), retain_graph=True)[0].numpy() for seed in SEEDS]
    (together,) = tj.autograd.grad(y, x, tj.asarray(SEEDS), is_grads_batched=True)
    assert not together.requires_grad
    np.testing.assert_allclose(together.numpy(), np.stack(by_loop), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", GRAPHS)
def test_its_gradient_is_that_of_the_loop(name):
    results = []
    for together in (False, True):
        x = tj.tensor(X, requires_grad=True)
        y = GRAPHS[name](x)
        if together:
            (rows,) = tj.autograd.grad(y, x, tj.asarray(SEEDS), create_graph=True, is_grads_batched=True)
        else:
            rows = tj.stack(
                [tj.autograd.grad(y, x, tj.asarray(seed), create_graph=True)[0] for seed in SEEDS]
            )
        results.append(tj.autograd.grad((rows**2).sum(), x)[0].numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-11, atol=1e-13)


def test_under_jit():
    @tj.jit
    def jacobian(x):
        x = x.detach().requires_grad_()
        return tj.autograd.grad(tj.sin(x) * x.sum(), x, tj.eye(3), is_grads_batched=True)[0]

    x = np.array(X[0])
    np.testing.assert_allclose(
        jacobian(x).numpy(), tj.jacrev(lambda x: tj.sin(x) * x.sum())(x).numpy(), rtol=1e-12
    )


def test_the_graph_is_walked_once_and_freed():
    x = tj.tensor(X, requires_grad=True)
    y = x * 2
    calls = []
    y.register_hook(lambda ct: calls.append(ct.shape))
    z = y * y
    tj.autograd.grad(z, x, tj.asarray(SEEDS), is_grads_batched=True)
    assert calls == [(2, 3)]
    with pytest.raises(GradientError, match="a second time"):
        tj.autograd.grad(z, x, tj.asarray(SEEDS), is_grads_batched=True)


def test_inputs_that_are_not_used():
    x, w = tj.tensor(X, requires_grad=True), tj.tensor(1.0, requires_grad=True)
    results = tj.autograd.grad(x * 2, [w, x], tj.asarray(SEEDS), is_grads_batched=True, allow_unused=True)
    assert results[0] is None
    np.testing.assert_allclose(results[1].numpy(), 2 * SEEDS)
    zeros, _ = tj.autograd.grad(
        x * 2, [w, x], tj.asarray(SEEDS), is_grads_batched=True, materialize_grads=True
    )
    assert zeros.tolist() == [0] * 4
    assert tj.autograd.grad(x * 2, x, tj.zeros((0, 2, 3)), is_grads_batched=True)[0].shape == (0, 2, 3)


def test_errors():
    x = tj.tensor(X, requires_grad=True)
    with pytest.raises(ShapeError, match="needs a first dimension of the same size"):
        tj.autograd.grad([x * 2, x.sum()], x, [tj.asarray(SEEDS), tj.ones(3)], is_grads_batched=True)
    with pytest.raises(ShapeError, match=r"the gradient has shape \(3,\)"):
        tj.autograd.grad(x * 2, x, tj.ones((4, 3)), is_grads_batched=True)
    with pytest.raises(GradientError, match="does not require grad"):
        tj.autograd.grad(tj.ones(2), x, tj.ones((4, 2)), is_grads_batched=True)
    y = x * 2
    y.register_hook(lambda ct: ct * float(ct.sum()))
    with pytest.raises(TracejitError, match="needs the value of a traced tensor"):
        tj.autograd.grad(y.sin(), x, tj.asarray(SEEDS), is_grads_batched=True)
