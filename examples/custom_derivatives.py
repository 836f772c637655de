"""Learning through rounding: gradients that the functions do not have, but that work.

Shows: `tj.custom_vjp` for a straight-through estimator (round in forward, the identity in backward) and for
clipped gradients, inside a jitted training step; `tj.custom_jvp` for a stable derivative; `tj.pure_callback`
with a derivative of its own.

A network with weights of few bits is trained: each step rounds the weights to multiples of 1/4, and the
gradients pass to the weights behind as if it had not.
"""

from __future__ import annotations

import math

import numpy as np

import tracejit as tj


@tj.custom_vjp
def straight_round(x):
    return tj.round(x)


straight_round.defvjp(lambda x: (tj.round(x), None), lambda _, ct: (ct,))


@tj.custom_vjp
def clip_gradient(x):
    return x


clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (tj.clip(ct, -0.1, 0.1),))


@tj.custom_jvp
def log1pexp(x):
    return tj.maximum(x, 0.0) + tj.log1p(tj.exp(-tj.abs(x)))


log1pexp.defjvps(lambda t, y, x: t / (1.0 + tj.exp(-x)))


@tj.custom_vjp
def gamma(x):
    """The gamma function, by Python."""
    return tj.pure_callback(np.vectorize(math.gamma, otypes=[float]), x, x)


def gamma_slope(x, ct, step=1e-5):
    return (ct * (gamma(x + step) - gamma(x - step)) / (2 * step),)


gamma.defvjp(lambda x: (gamma(x), x), gamma_slope)


def quantised(w):
    return straight_round(w * 4.0) / 4.0


def loss(w, x, y):
    logits = clip_gradient(x @ quantised(w))
    return tj.mean(log1pexp(-y * logits))


@tj.jit
def step(w, x, y):
    value, slope = tj.value_and_grad(loss)(w, x, y)
    return w - 0.5 * slope, value


def main():
    key = tj.random.key(0)
    x = tj.random.normal(tj.random.fold_in(key, 1), (200, 4))
    true = tj.tensor([1.0, -2.0, 0.5, 0.0])
    y = tj.where(x @ true > 0, 1.0, -1.0)
    w, losses = tj.zeros(4), []
    for _ in range(200):
        w, value = step(w, x, y)
        losses.append(value.item())
    right = tj.mean(tj.astype((x @ quantised(w)) * y > 0, tj.float64)).item()
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, {100 * right:.0f}% right with weights {quantised(w)}")
    assert losses[-1] < 0.5 * losses[0]
    assert right > 0.9
    assert tj.all(quantised(w) * 4 == tj.round(quantised(w) * 4))

    slope = tj.jit(tj.grad(gamma))(3.0).item()
    print(f"gamma'(3) = {slope:.6f}")
    assert abs(slope - 2 * (1.5 - np.euler_gamma)) < 1e-6


if __name__ == "__main__":
    main()
