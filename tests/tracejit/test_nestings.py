"""Random nestings of the transforms, against nested finite differences and loops.

The same functions are written once for tracejit and for NumPy. The reference differentiates by central
differences of sixth order, (45 (f1 - f-1) - 9 (f2 - f-2) + (f3 - f-3)) / 60 h: with h = 1/256, three of them
on top of each other leave seven digits.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.4, -0.7, 1.1])
TANGENT = np.array([1.0, -2.0, 0.5])
WEIGHTS = (0.5, 2.0, -1.5)
STEP = 1 / 256
STENCIL = {1: 45.0, 2: -9.0, 3: 1.0}


def waves(xp, x):
    return xp.sin(x) * xp.sum(x * x)


def mixed(xp, x):
    return xp.stack([x[0] * x[1], xp.exp(x[2] * 0.5) * x[0], x[1] ** 3])


def norms(xp, x):
    return xp.sqrt(xp.sum(x * x) + 1.0) * xp.cos(x)


def products(xp, x):
    matrix = xp.reshape(xp.concatenate([x, x * x]), (2, 3))
    return xp.tanh(matrix.T @ (matrix @ x)) * 0.5


FUNCTIONS = {one.__name__: one for one in (waves, mixed, norms, products)}


def rows(xp, x):
    return xp.stack([x, x * 0.5, xp.sin(x)])


# -- the reference: functions of an array of three to an array -----------------------------------------


def difference(f):
    def slope(x):
        columns = []
        for i in range(3):
            unit = np.eye(3)[i] * STEP
            terms = [c * (f(x + k * unit) - f(x - k * unit)) for k, c in STENCIL.items()]
            columns.append(sum(terms) / (60 * STEP))
        return np.stack(columns, axis=-1)

    return slope


def total(f):
    return lambda x: np.sum(f(x))


def weighted(f):
    """The sum of the results, weighted in turn."""
    return lambda x: np.sum(f(x) * np.resize(WEIGHTS, np.shape(f(x))))


REFERENCE = {
    "jit": lambda f: f,
    "vmap": lambda f: lambda x: np.stack([f(one) for one in rows(np, x)]),
    "grad": lambda f: difference(total(f)),
    "vjp": lambda f: difference(weighted(f)),
    "jvp": lambda f: lambda x: difference(f)(x) @ TANGENT,
    "linearize": lambda f: lambda x: difference(f)(x) @ TANGENT,
    "jacfwd": difference,
    "jacrev": difference,
    "hessian": lambda f: difference(difference(f)),
    "hvp": lambda f: lambda x: difference(difference(total(f)))(x) @ TANGENT,
}

# -- the same in tracejit ------------------------------------------------------------------------------


def pulled(f):
    def run(x):
        value, pullback = tj.vjp(f, x)
        return pullback(np.resize(WEIGHTS, value.shape))[0]

    return run


TRANSFORMS = {
    "jit": tj.jit,
    "vmap": lambda f: lambda x: tj.vmap(f)(rows(tj, x)),
    "grad": lambda f: tj.grad(lambda x: tj.sum(f(x))),
    "vjp": pulled,
    "jvp": lambda f: lambda x: tj.jvp(f, (x,), (TANGENT,))[1],
    "linearize": lambda f: lambda x: tj.linearize(f, x)[1](TANGENT),
    "jacfwd": tj.jacfwd,
    "jacrev": tj.jacrev,
    "hessian": tj.hessian,
    "hvp": lambda f: lambda x: tj.hvp(lambda x: tj.sum(f(x)), (x,), (TANGENT,)),
}
#: How often each differentiates.
ORDER = {"jit": 0, "vmap": 0, "hessian": 2, "hvp": 2}


def nestings():
    """Three or four transforms around a function, inner ones first; of third order at most."""
    chosen = random.Random(7)
    found = []
    while len(found) < 24:
        chain = tuple(chosen.choice(list(TRANSFORMS)) for _ in range(chosen.choice((3, 4))))
        orders = sum(ORDER.get(one, 1) for one in chain)
        if 1 <= orders <= 3 and chain.count("vmap") <= 2 and chain.count("jit") <= 1:
            found.append((chosen.choice(list(FUNCTIONS)), chain))
    assert {one for _, chain in found for one in chain} == set(TRANSFORMS)
    assert len(set(found)) == len(found)
    return found


def name_of(nesting):
    function, chain = nesting
    for one in chain:
        function = f"{one}({function})"
    return function


@pytest.mark.parametrize("nesting", nestings(), ids=name_of)
def test_nesting(nesting):
    name, chain = nesting
    function = FUNCTIONS[name]
    want, got = (lambda x: function(np, x)), (lambda x: function(tj, x))
    for one in chain:
        want, got = REFERENCE[one](want), TRANSFORMS[one](got)
    wanted = want(X)
    result = got(tj.asarray(X))
    assert not result.requires_grad
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(tj.jit(got)(X).numpy(), wanted, rtol=1e-6, atol=1e-6)


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
        found = run(params, x, y)
        for layer in range(3):
            for part in range(2):
                got = found[layer][part].numpy()
                np.testing.assert_allclose(
                    got, np.stack([one[layer][part].numpy() for one in by_loop]), rtol=1e-10, atol=1e-12
                )
                np.testing.assert_allclose(got.mean(0), whole[layer][part].numpy(), rtol=1e-10, atol=1e-12)
