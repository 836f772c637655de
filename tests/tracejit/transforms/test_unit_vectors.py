"""Jacobians and Hessians where derivatives are infinite: elements that are 0 by position are 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED

#: Functions of one number, with a point where the first or second derivative is infinite.
STEEP: dict[str, tuple[Callable[[Any], Any], float]] = {
    "sqrt": (tj.sqrt, 0.0),
    "cbrt": (tj.cbrt, 0.0),
    "log": (tj.log, 0.0),
    "reciprocal": (lambda x: 1 / x, 0.0),
    "x ** 0.5": (lambda x: x**0.5, 0.0),
    "x ** 1.5": (lambda x: x**1.5, 0.0),
    "arcsin": (tj.arcsin, 1.0),
    "arccos": (tj.arccos, 1.0),
    "arctanh": (tj.arctanh, 1.0),
    "arccosh": (tj.arccosh, 1.0),
    "entr": (tj.scipy.special.entr, 0.0),
    "log1p": (tj.log1p, -1.0),
}
#: Functions of vectors that are made of one of numbers, element by element.
SHAPES: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda f, x: f(x),
    "scaled": lambda f, x: 3.0 * f(x) - 2.0,
    "reshaped": lambda f, x: f(x.reshape(2, 2).T).reshape(4),
    "sliced": lambda f, x: f(x[1:])[::-1],
    "indexed": lambda f, x: tj.stack([f(x[2]), f(x[0])]),
    "chosen": lambda f, x: tj.where(x > 0.5, f(x), -f(x)),
}
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "jacrev": tj.jacrev,
    "jacfwd": tj.jacfwd,
    "hessian": lambda f: tj.hessian(lambda x: f(x).sum()),
    "jacobian of gradient": lambda f: tj.jacrev(tj.grad(lambda x: f(x).sum())),
    "third": lambda f: tj.jacfwd(tj.hessian(lambda x: f(x).sum())),
}


@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jitted"])
@pytest.mark.parametrize("name", STEEP)
def test_what_is_0_by_position_is_0(name: str, wrap: Any) -> None:
    function, point = STEEP[name]
    rng = np.random.default_rng([SEED, len(name)])
    kinds = list(SHAPES) if wrap is not tj.jit else [str(kind) for kind in rng.choice(list(SHAPES), 2)]
    for kind in kinds:
        for derivative, of in DERIVATIVES.items():
            at, other = np.full(4, point), np.full(4, 0.75)
            mixed = np.where(rng.integers(0, 2, 4) == 1, at, other)

            def applied(x: Any, kind: str = kind) -> Any:
                return SHAPES[kind](function, x)

            with np.errstate(all="ignore"):
                at_point, beside, both = (np.asarray(wrap(of(applied))(x)) for x in (at, other, mixed))
            message = f"seed {SEED}: {derivative} of {name}, {kind}, at {mixed}: {both}"
            assert (at_point[beside == 0] == 0).all(), message
            assert (both[beside == 0] == 0).all(), message


def pieces(rng: np.random.Generator) -> Callable[[Any, Any], Any]:
    """A random function of two vectors of four elements: elementwise steps, views, sums, products."""
    steps: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x * y,
        lambda x, y: x - 2 * y,
        lambda x, y: tj.sin(x) / (2 + y * y),
        lambda x, y: x[::-1] + y,
        lambda x, y: tj.where(x > y, x, y * 3),
        lambda x, y: x.reshape(2, 2).T.reshape(4) * y,
        lambda x, y: x * y.sum(),
        lambda x, y: tj.concatenate([x[1:], y[:1]]),
        lambda x, y: tj.cumsum(x) * y,
        lambda x, y: tj.outer(x, y) @ x,
        lambda x, y: x.astype("f4").astype("f8") + y[0],
        lambda x, y: tj.broadcast_to(x[1:2], (4,)) * y,
    ]
    chosen = [steps[i] for i in rng.integers(0, len(steps), rng.integers(1, 6))]

    def function(x: Any, y: Any) -> Any:
        for step in chosen:
            x, y = step(x, y), x
        return x * 1.0

    return function


def test_jacobians_are_the_products_with_unit_vectors() -> None:
    """Random programs: rows are those of `vjp`, columns those of `jvp`, one unit vector after the other."""
    rng = np.random.default_rng(SEED)
    for number in range(40):
        function, x, y = pieces(rng), *rng.uniform(0.5, 1.5, (2, 4))
        message = f"seed {SEED}, program {number}"
        pullback = tj.vjp(function, x, y)[1]
        rows = [np.stack(parts) for parts in zip(*[pullback(unit) for unit in np.eye(4)], strict=True)]
        wrap = tj.jit if number % 8 == 0 else lambda f: f
        for transform in (tj.jacrev, tj.jacfwd):
            for block, expected in zip(wrap(transform(function, argnums=(0, 1)))(x, y), rows, strict=True):
                np.testing.assert_allclose(block, expected, rtol=1e-5, atol=1e-5, err_msg=message)
        columns = [
            np.asarray(tj.jvp(lambda x, f=function, y=y: f(x, y), (x,), (unit,))[1]) for unit in np.eye(4)
        ]
        np.testing.assert_allclose(np.stack(columns, 1), rows[0], rtol=1e-5, atol=1e-5, err_msg=message)


def test_several_arguments_and_trees() -> None:
    """The root of a product: elements of both arguments meet the infinite slope."""

    def function(tree: Any) -> Any:
        return tj.sqrt(tree["a"] * tree["b"])

    tree = {"a": np.array([0.0, 4.0]), "b": np.array([1.0, 1.0])}
    for wrap in (lambda f: f, tj.jit):
        for transform in (tj.jacrev, tj.jacfwd):
            with np.errstate(all="ignore"):
                blocks = wrap(transform(function))(tree)
            np.testing.assert_array_equal(blocks["a"], [[np.inf, 0.0], [0.0, 0.25]])


def test_zeros_that_are_no_positions_are_not_strong() -> None:
    """The root of a square has no derivative at 0, and none is made up."""
    with np.errstate(all="ignore"):
        for transform in (tj.jacrev, tj.jacfwd):
            assert np.isnan(np.asarray(transform(lambda x: tj.sqrt(x * x))(np.array([0.0, 1.0])))[0, 0])
