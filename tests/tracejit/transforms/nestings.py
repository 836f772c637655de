"""Transforms written twice, for tracejit and as nested finite differences and loops in NumPy.

A function of an array of three is written once for both, as ``f(xp, x)``. The reference differentiates by
central differences of sixth order, (45 (f1 - f-1) - 9 (f2 - f-2) + (f3 - f-3)) / 60 h: with h = 1/256, three
of them on top of each other leave seven digits.
"""

from __future__ import annotations

import random

import numpy as np

import tracejit as tj

X = np.array([0.4, -0.7, 1.1])
TANGENT = np.array([1.0, -2.0, 0.5])
WEIGHTS = (0.5, 2.0, -1.5)
STEP = 1 / 256
STENCIL = {1: 45.0, 2: -9.0, 3: 1.0}


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
    "checkpoint": lambda f: f,
    "vmap": lambda f: lambda x: np.stack([f(row) for row in rows(np, x)]),
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
    "checkpoint": lambda f: lambda x: tj.checkpoint(f, x),
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
#: Order of differentiation of each.
ORDER = {"jit": 0, "checkpoint": 0, "vmap": 0, "hessian": 2, "hvp": 2}


def nestings(functions, count, seed):
    """Three or four transforms around a function, inner ones first; of third order at most."""
    chosen = random.Random(seed)
    results = []
    while len(results) < count:
        chain = tuple(chosen.choice(list(TRANSFORMS)) for _ in range(chosen.choice((3, 4))))
        orders = sum(ORDER.get(transform, 1) for transform in chain)
        fits = (
            1 <= orders <= 3
            and chain.count("vmap") <= 2
            and max(map(chain.count, ("jit", "checkpoint"))) <= 1
        )
        nesting = chosen.choice(list(functions)), chain
        if fits and nesting not in results:
            results.append(nesting)
    assert {transform for _, chain in results for transform in chain} == set(TRANSFORMS)
    assert {name for name, _ in results} == set(functions)
    return results


def name_of(nesting):
    function, chain = nesting
    for transform in chain:
        function = f"{transform}({function})"
    return function


def check_nesting(function, chain):
    """Check the function under the chain of transforms, eager and jitted, against the reference."""
    want, got = (lambda x: function(np, x)), (lambda x: function(tj, x))
    for transform in chain:
        want, got = REFERENCE[transform](want), TRANSFORMS[transform](got)
    expected = want(X)
    result = got(tj.asarray(X))
    assert not result.requires_grad
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(tj.jit(got)(X).numpy(), expected, rtol=1e-6, atol=1e-6)
