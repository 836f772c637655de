"""Random nestings of the transforms, against nested finite differences and loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of
from .nestings import check_nesting, name_of, nestings


def waves(xp, x):
    return xp.sin(x) * xp.sum(x * x)


def mixed(xp, x):
    return xp.stack([x[0] * x[1], xp.exp(x[2] * 0.5) * x[0], x[1] ** 3])


def norms(xp, x):
    return xp.sqrt(xp.sum(x * x) + 1.0) * xp.cos(x)


def products(xp, x):
    matrix = xp.reshape(xp.concatenate([x, x * x]), (2, 3))
    return xp.tanh(matrix.T @ (matrix @ x)) * 0.5


@tj.custom_vjp
def exponential(x):
    return tj.exp(x)


def exponential_forward(x):
    y = exponential(x)
    return y, y


exponential.defvjp(exponential_forward, lambda y, ct: (ct * y,))


@tj.custom_jvp
def cube(x):
    return x**3


cube.defjvps(lambda t, y, x: 3 * x * x * t)


def ruled(xp, x):
    """Rules of one's own, one of which keeps the result of the function that it belongs to."""
    own, third = (np.exp, lambda x: x**3) if xp is np else (exponential, cube)
    return own(0.5 * x) * xp.sum(third(x)) + third(x) * x[0]


def written(xp, x):
    y = xp.zeros(3) + x * 0
    y[1:] = xp.sin(x[:2])
    y[0] = x[2] * x[1]
    y[1] *= x[0]
    return y * y[2]


def indexed(xp, x):
    picked = x[np.array([2, 0, 0])] * xp.cumsum(x)
    return xp.where(x > 0, picked, picked**2) + xp.max(x) * x[::-1]


FUNCTIONS = {
    function.__name__: function for function in (waves, mixed, norms, products, ruled, written, indexed)
}


@pytest.mark.parametrize("nesting", share_of(nestings(FUNCTIONS, 36, seed=7), 2), ids=name_of)
def test_nesting(nesting):
    name, chain = nesting
    check_nesting(FUNCTIONS[name], chain)


def layers(params, x):
    for w, b in params[:-1]:
        x = tj.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss(params, x, y):
    return tj.sum((layers(params, x) - y) ** 2)


def test_gradients_of_each_sample_of_a_network():
    """jit(vmap(grad)) against a loop, and their mean against the gradient of the mean."""
    rng = np.random.default_rng(0)
    sizes = [5, 8, 8, 2]
    params = [
        (tj.asarray(rng.normal(size=(m, n))), tj.asarray(rng.normal(size=n)))
        for m, n in itertools.pairwise(sizes)
    ]
    x, y = rng.normal(size=(16, 5)), rng.normal(size=(16, 2))
    each = tj.vmap(tj.grad(loss), in_axes=(None, 0, 0))
    by_loop = [tj.grad(loss)(params, x[i], y[i]) for i in range(16)]
    whole = tj.grad(lambda params: tj.mean(tj.vmap(loss, (None, 0, 0))(params, x, y)))(params)
    for run in (each, tj.jit(each)):
        results = run(params, x, y)
        for layer in range(3):
            for part in range(2):
                got = results[layer][part].numpy()
                np.testing.assert_allclose(
                    got,
                    np.stack([gradients[layer][part].numpy() for gradients in by_loop]),
                    rtol=1e-10,
                    atol=1e-12,
                )
                np.testing.assert_allclose(got.mean(0), whole[layer][part].numpy(), rtol=1e-10, atol=1e-12)
