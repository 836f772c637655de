"""The transforms against JAX: values and nesting of trees, read from JAX 0.10 in float64 and written out."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.pytree import flatten

arr = tj.asarray

X = [0.5, -1.0, 2.0]
ROWS = [[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]]


def scalar(x):
    return tj.sin(x[0] * x[1]) + x[2] ** 3 * x[0]


def vector(x):
    return tj.stack([x[0] * x[1], tj.exp(x[2]) * x[0]])


def tree(p, y):
    return {"a": p["w"] * tj.sum(y), "b": tj.sin(p["s"]) * y}


PARAMS = {"w": [1.0, 2.0], "s": 0.5}


def params():
    return {"w": arr(PARAMS["w"]), "s": PARAMS["s"]}


CASES = {
    "vmap": lambda: tj.vmap(vector)(arr(ROWS)),
    "vmap_axes": lambda: tj.vmap(lambda x, y: x * y, in_axes=(0, None), out_axes=1)(arr(ROWS), arr(X)),
    "vmap_in_axis_1": lambda: tj.vmap(lambda x: x[0] - x[1] * 2, in_axes=1)(arr(ROWS)),
    "vmap_tree": lambda: tj.vmap(tree, in_axes=({"w": None, "s": None}, 0), out_axes={"a": 0, "b": -1})(
        params(), arr(ROWS)
    ),
    "vmap_of_vmap": lambda: tj.vmap(tj.vmap(lambda a, b: a - b * b, (None, 0)), (0, None))(arr(X), arr(X)),
    "vmap_of_grad": lambda: tj.vmap(tj.grad(scalar))(arr(ROWS)),
    "grad_of_vmap": lambda: tj.grad(lambda x: tj.sum(tj.vmap(scalar)(x) * arr([1.0, 10.0])))(arr(ROWS)),
    "vjp": lambda: tj.vjp(vector, arr(X))[1](arr([1.0, 10.0])),
    "vjp_tree": lambda: tj.vjp(tree, params(), arr(X))[1]({"a": arr([1.0, 2.0]), "b": arr([1.0, 1.0, 3.0])}),
    "jvp": lambda: tj.jvp(vector, (arr(X),), (arr([1.0, 2.0, 3.0]),)),
    "jvp_tree": lambda: tj.jvp(
        tree, (params(), arr(X)), ({"w": arr([1.0, 0.0]), "s": 2.0}, arr([0.0, 1.0, 0.0]))
    ),
    "linearize": lambda: tj.linearize(vector, arr(X))[1](arr([1.0, 0.0, 1.0])),
    "jacrev": lambda: tj.jacrev(vector)(arr(X)),
    "jacfwd": lambda: tj.jacfwd(vector)(arr(X)),
    "jacrev_tree": lambda: tj.jacrev(tree)(params(), arr(X)),
    "jacfwd_tree": lambda: tj.jacfwd(tree)(params(), arr(X)),
    "jacrev_argnums": lambda: tj.jacrev(tree, argnums=(1, 0))(params(), arr(X)),
    "jacfwd_argnums": lambda: tj.jacfwd(tree, argnums=(1, 0))(params(), arr(X)),
    "hessian": lambda: tj.hessian(scalar)(arr(X)),
    "hessian_of_vector": lambda: tj.hessian(vector)(arr(X)),
    "hessian_argnums": lambda: tj.hessian(lambda a, b: tj.sum(a * a * b), argnums=(0, 1))(
        arr([1.0, 2.0]), arr([3.0, 4.0])
    ),
    "hessian_tree": lambda: tj.hessian(lambda p: tj.sum(p["w"] ** 2) * p["s"] ** 3)(params()),
    "vmap_of_hessian": lambda: tj.vmap(tj.hessian(scalar))(arr(ROWS)),
    "jacfwd_of_vmap": lambda: tj.jacfwd(tj.vmap(scalar))(arr(ROWS)),
    "vmap_of_jvp": lambda: tj.vmap(lambda x, t: tj.jvp(scalar, (x,), (t,)), (0, None))(arr(ROWS), arr(X)),
    "grad_of_jvp": lambda: tj.grad(lambda x: tj.jvp(scalar, (x,), (arr([1.0, 2.0, 3.0]),))[1])(arr(X)),
    "jvp_of_grad": lambda: tj.jvp(tj.grad(scalar), (arr(X),), (arr([1.0, 2.0, 3.0]),))[1],
    "gather": lambda: tj.vmap(lambda x, i: x[i])(arr(ROWS), tj.asarray([2, 0])),
    "grad_of_gather": lambda: tj.grad(
        lambda x: tj.sum(tj.vmap(lambda x, i: x[i] ** 2)(x, tj.asarray([[2, 0], [1, 1]])))
    )(arr(ROWS)),
}

# fmt: off
EXPECTED = {'vmap': [[-0.5, 3.694528], [0.25, 0.606531]],
 'vmap_axes': [[0.25, 0.5], [1.0, -0.25], [4.0, -1.0]],
 'vmap_in_axis_1': [-1.5, -1.5, 3.0],
 'vmap_tree': {'a': [[1.5, 3.0], [0.75, 1.5]],
               'b': [[0.239713, 0.479426], [-0.479426, 0.119856], [0.958851, -0.239713]]},
 'vmap_of_vmap': [[0.25, -0.5, -3.5], [-1.25, -2.0, -5.0], [1.75, 1.0, -2.0]],
 'vmap_of_grad': [[7.122417, 0.438791, 6.0], [0.117228, 0.968912, 0.75]],
 'grad_of_vmap': [[7.122417, 0.438791, 6.0], [1.172281, 9.689124, 7.5]],
 'vjp': ([72.890561, 0.5, 36.94528],),
 'vjp_tree': ({'s': 4.826704, 'w': [1.5, 3.0]}, [5.479426, 5.479426, 6.438277]),
 'jvp': ([-0.5, 3.694528], [0.0, 18.47264]),
 'jvp_tree': ({'a': [1.5, 3.0], 'b': [0.239713, -0.479426, 0.958851]},
              {'a': [2.5, 2.0], 'b': [0.877583, -1.27574, 3.51033]}),
 'linearize': [-1.0, 11.083584],
 'jacrev': [[-1.0, 0.5, 0.0], [7.389056, 0.0, 3.694528]],
 'jacfwd': [[-1.0, 0.5, 0.0], [7.389056, 0.0, 3.694528]],
 'jacrev_tree': {'a': {'s': [0.0, 0.0], 'w': [[1.5, 0.0], [0.0, 1.5]]},
                 'b': {'s': [0.438791, -0.877583, 1.755165], 'w': [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]}},
 'jacfwd_tree': {'a': {'s': [0.0, 0.0], 'w': [[1.5, 0.0], [0.0, 1.5]]},
                 'b': {'s': [0.438791, -0.877583, 1.755165], 'w': [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]}},
 'jacrev_argnums': {'a': ([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]],
                          {'s': [0.0, 0.0], 'w': [[1.5, 0.0], [0.0, 1.5]]}),
                    'b': ([[0.479426, 0.0, 0.0], [0.0, 0.479426, 0.0], [0.0, 0.0, 0.479426]],
                          {'s': [0.438791, -0.877583, 1.755165],
                           'w': [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]})},
 'jacfwd_argnums': {'a': ([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]],
                          {'s': [0.0, 0.0], 'w': [[1.5, 0.0], [0.0, 1.5]]}),
                    'b': ([[0.479426, 0.0, 0.0], [0.0, 0.479426, 0.0], [0.0, 0.0, 0.479426]],
                          {'s': [0.438791, -0.877583, 1.755165],
                           'w': [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]})},
 'hessian': [[0.479426, 0.63787, 12.0], [0.63787, 0.119856, 0.0], [12.0, 0.0, 6.0]],
 'hessian_of_vector': [[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
                       [[0.0, 0.0, 7.389056], [0.0, 0.0, 0.0], [7.389056, 0.0, 3.694528]]],
 'hessian_argnums': (([[6.0, 0.0], [0.0, 8.0]], [[2.0, 0.0], [0.0, 4.0]]),
                     ([[2.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]])),
 'hessian_tree': {'s': {'s': 15.0, 'w': [1.5, 3.0]},
                  'w': {'s': [1.5, 3.0], 'w': [[0.25, 0.0], [0.0, 0.25]]}},
 'vmap_of_hessian': [[[0.479426, 0.63787, 12.0], [0.63787, 0.119856, 0.0], [12.0, 0.0, 6.0]],
                     [[-0.015463, 0.907061, 0.75], [0.907061, -0.247404, 0.0], [0.75, 0.0, -3.0]]],
 'jacfwd_of_vmap': [[[7.122417, 0.438791, 6.0], [0.0, 0.0, 0.0]],
                    [[0.0, 0.0, 0.0], [0.117228, 0.968912, 0.75]]],
 'vmap_of_jvp': ([3.520574, 0.122404], [15.122417, 0.589702]),
 'grad_of_jvp': [37.755165, 0.877583, 30.0],
 'jvp_of_grad': [37.755165, 0.877583, 30.0],
 'gather': [2.0, 1.0],
 'grad_of_gather': [[1.0, 0.0, 4.0], [0.0, 1.0, 0.0]]}
# fmt: on


def plain(tree):
    leaves, structure = flatten(tree)
    assert not any(leaf.requires_grad for leaf in leaves)
    return structure.unflatten([np.asarray(leaf).tolist() for leaf in leaves])


def check(got, want):
    """Equal trees of nested lists, but for rounding."""
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert sorted(got) == sorted(want)
        for key in want:
            check(got[key], want[key])
    elif isinstance(want, tuple):
        assert len(got) == len(want)
        for actual, other in zip(got, want, strict=True):
            check(actual, other)
    else:
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_eager(name):
    check(plain(CASES[name]()), EXPECTED[name])


@pytest.mark.parametrize("name", CASES)
def test_jitted(name):
    result = tj.jit(CASES[name])()
    check(plain(result), EXPECTED[name])
