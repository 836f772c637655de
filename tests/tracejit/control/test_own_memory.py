"""Values that loops and branches carry and return: writing one changes no other, eagerly or jitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

Function = Callable[[Any], Any]


def _written(x: Any) -> Any:
    x[0] = 5.0
    return x


#: Functions that give what they are given.
_GIVE: dict[str, Function] = {
    "no step": lambda a: tj.fori_loop(0, 0, lambda i, c: c + 1, a),
    "fori_loop": lambda a: tj.fori_loop(0, 2, lambda i, c: c, a),
    "while_loop": lambda a: tj.while_loop(lambda c: c.sum() < 0, lambda c: c + 1, a),
    "scan": lambda a: tj.scan(lambda c, x: (c, x), a, tj.zeros((2, 3)))[0],
    "scan of nothing": lambda a: tj.scan(lambda c, x: (c, x), a, tj.zeros((0, 3)))[0],
    "slice": lambda a: tj.scan(lambda c, x: (x, c), tj.zeros(3), a[None])[0],
    "cond": lambda a: tj.cond(a.sum() > 0, lambda c: c, lambda c: c + 1, a),
    "view": lambda a: tj.cond(a.sum() > 0, lambda c: c[::1], lambda c: c + 1, a),
    "switch": lambda a: tj.switch(tj.sum(a < 0), [lambda c: c, lambda c: c + 1], a),
}
#: Loops whose bodies write what they are given.
_WRITE: dict[str, Function] = {
    "fori_loop": lambda a: tj.fori_loop(0, 2, lambda i, c: _written(c), a),
    "while_loop": lambda a: tj.while_loop(lambda c: c.sum() < 4, _written, a),
    "scan": lambda a: tj.scan(lambda c, x: (_written(c), x), a, tj.zeros((2, 3)))[0],
    "slices": lambda a: tj.scan(lambda c, x: (_written(x), x), a, a[None])[0],
}


@pytest.mark.parametrize("transform", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", _GIVE)
def test_results_are_new(name: str, transform: Any) -> None:
    arguments = tj.ones(3)
    result = transform(lambda a: _written(_GIVE[name](a)))(arguments)
    np.testing.assert_array_equal(arguments.numpy(), [1, 1, 1])
    np.testing.assert_array_equal(result.numpy(), [5, 1, 1])


@pytest.mark.parametrize("transform", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", _WRITE)
def test_bodies_write_their_own(name: str, transform: Any) -> None:
    arguments = tj.ones(3)
    result = transform(_WRITE[name])(arguments)
    np.testing.assert_array_equal(arguments.numpy(), [1, 1, 1])
    np.testing.assert_array_equal(result.numpy(), [5, 1, 1])


def test_gradients_flow_through_the_copies() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    tj.scan(lambda c, row: (c * row, c), x, tj.stack([x, x]))[0].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [3.0, 12.0])
