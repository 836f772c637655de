"""Decisions of jitted functions by the identity of objects: ``is``, and objects as keys."""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.arange(3.0)


class Mode(enum.Enum):
    LINEAR = 1
    SQUARE = 2


class Strategy:
    """An object without a value of its own."""


FIRST, SECOND = Strategy(), Strategy()


def double(x: Any) -> Any:
    return 2 * x


def triple(x: Any) -> Any:
    return 3 * x


FACTORS = {
    FIRST: 2.0,
    SECOND: 3.0,
    Mode.LINEAR: 4.0,
    Mode.SQUARE: 5.0,
    double: 6.0,
    triple: 7.0,
    int: 8.0,
    str: 9.0,
}


def is_first(o: Any, x: Any) -> Any:
    return x if o.choice is o.first else -x


def is_not_first(o: Any, x: Any) -> Any:
    for _ in range(2):
        if o.choice is not o.first:
            x = x + 1
    return x


def looked_up(o: Any, x: Any) -> Any:
    return x * FACTORS[o.choice]


def looked_up_in_literal(o: Any, x: Any) -> Any:
    return x * {o.first: 2.0, o.second: 3.0}[o.choice]


def contained(o: Any, x: Any) -> Any:
    return x if o.choice in {o.first} else -x


def by_get(o: Any, x: Any) -> Any:
    return x * FACTORS.get(o.choice, 0.0)


@pytest.mark.parametrize(
    "pair",
    [(FIRST, SECOND), (Mode.LINEAR, Mode.SQUARE), (double, triple), (int, str)],
    ids=["objects", "enum", "functions", "classes"],
)
@pytest.mark.parametrize(
    "program",
    [is_first, is_not_first, looked_up, looked_up_in_literal, contained, by_get],
    ids=lambda f: f.__name__,
)
def test_choices_are_not_stale(program: Any, pair: tuple[Any, Any]) -> None:
    o = types.SimpleNamespace(choice=pair[0], first=pair[0], second=pair[1])
    jitted = tj.jit(lambda x: program(o, x))
    for choice in (pair[0], pair[1], pair[0]):
        o.choice = choice
        for _ in range(2):
            np.testing.assert_array_equal(jitted(X), program(o, X))
    (signature,) = jitted.explain().signatures
    assert len(signature.earlier) <= 1  # at most a version for each choice


def test_arrays_are_told_apart() -> None:
    o = types.SimpleNamespace(weights=X, other=X)
    jitted = tj.jit(lambda x: x + o.weights if o.weights is o.other else x)
    np.testing.assert_array_equal(jitted(X), 2 * X)
    o.other = X.copy()
    np.testing.assert_array_equal(jitted(X), X)


def test_whether_it_is_none_asks_for_no_object() -> None:
    o = types.SimpleNamespace(layer=types.SimpleNamespace(scale=X))
    jitted = tj.jit(lambda x: x if o.layer is None else x * o.layer.scale)
    for factor in (1.0, 2.0, 3.0):
        o.layer = types.SimpleNamespace(scale=factor * X)
        np.testing.assert_array_equal(jitted(X), factor * X * X)
    (signature,) = jitted.explain().signatures
    assert not signature.earlier
