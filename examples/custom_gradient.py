"""Gradients that are not those of the formula: rounding that trains, reversal, and a stable softplus.

Shows: ``tj.autograd.Function`` with values saved for backward, ``gradcheck`` and ``gradgradcheck`` on it, and
that the same class works eagerly and under ``tj.jit``.
"""

import numpy as np

import tracejit as tj
from tracejit.autograd import Function, gradcheck, gradgradcheck


class Round(Function):
    """Round, with the gradient of the identity (the straight-through estimator: Bengio and others, 2013)."""

    @staticmethod
    def forward(ctx, x):
        return tj.round(x)

    @staticmethod
    def backward(ctx, ct):
        return ct


class Reverse(Function):
    """The identity, whose gradient is turned round and scaled (Ganin and Lempitsky, 2015)."""

    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.copy()

    @staticmethod
    def backward(ctx, ct):
        return -ctx.strength * ct, None


class Log1pExp(Function):
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), without overflow; the derivative is the sigmoid."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return tj.maximum(x, 0.0) + tj.log1p(tj.exp(-tj.abs(x)))

    @staticmethod
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return ct * tj.nn.sigmoid(x)


def quantized_weights():
    """Find weights on a grid of quarters: rounding is flat, so only its replaced gradient can train them."""
    x, truth = tj.random.normal(tj.random.key(0), (50, 3)), tj.tensor([0.75, -1.25, 0.5])
    w = tj.zeros(3, requires_grad=True)
    optimizer = tj.optim.SGD([w], lr=0.1)
    for _ in range(50):
        optimizer.zero_grad()
        tj.nn.mse_loss(x @ (Round.apply(w * 4) / 4), x @ truth).backward()
        optimizer.step()
    return (tj.round(w.detach() * 4) / 4).tolist(), truth.tolist()


def saddle():
    """Minimise over x what y maximises, x y + (x^2 - y^2) / 2, by one descent on both."""
    x, y = tj.tensor(1.0, requires_grad=True), tj.tensor(2.0, requires_grad=True)
    optimizer = tj.optim.SGD([x, y], lr=0.2)
    for _ in range(100):
        optimizer.zero_grad()
        (x * (z := Reverse.apply(y, 1.0)) + (x * x - z * z) / 2).backward()
        optimizer.step()
    return x.item(), y.item()


def main():
    learned, truth = quantized_weights()
    print(f"weights on a grid: {learned}, truth {truth}")
    assert learned == truth
    x, y = saddle()
    print(f"saddle point: x = {x:.1e}, y = {y:.1e}")
    assert max(abs(x), abs(y)) < 1e-6
    points = tj.tensor([-800.0, -1.0, 0.5, 800.0], requires_grad=True)
    Log1pExp.apply(points).sum().backward()
    print("the derivative of log(1 + exp(x)) is", points.grad)
    assert np.allclose(points.grad, [0, 1 / (1 + np.e), 1 / (1 + np.exp(-0.5)), 1])

    with np.errstate(over="ignore"):
        (naive,) = tj.autograd.grad(tj.log(1 + tj.exp(points)).sum(), points)
    print("written naively, the derivative is", naive)
    assert np.isnan(naive.numpy()[3])
    some = tj.tensor([-2.0, -0.3, 0.4, 3.0], requires_grad=True)
    assert gradcheck(Log1pExp.apply, some)
    assert gradgradcheck(Log1pExp.apply, some)
    assert not gradcheck(Round.apply, some, raise_exception=False), "its gradient is not that of rounding"
    slope = tj.jit(tj.grad(lambda x: Log1pExp.apply(x).sum()))
    assert np.allclose(slope(some.detach()), tj.nn.sigmoid(some.detach()))


if __name__ == "__main__":
    main()
