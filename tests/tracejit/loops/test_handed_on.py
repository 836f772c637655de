"""Functions of ``math``, ``cmath`` and NumPy under all names, and handed on as values: followed wherever
they are called."""

from __future__ import annotations

import cmath
import functools
import math
import math as numbers
from collections.abc import Callable
from functools import partial, reduce
from math import sin
from typing import Any

import numpy as np
import pytest

import tracejit as tj

PROGRAMS: list[Callable[..., Any]] = []
double = partial(math.pow, 2.0)
table: dict[str, Callable[..., Any]] = {"sine": math.sin}


def case(program: Callable[..., Any]) -> Callable[..., Any]:
    """Have `program` of one number tested."""
    PROGRAMS.append(program)
    return program


def integral(f: Callable[[Any], Any], a: Any, b: Any, n: int = 20) -> Any:
    s = 0.0
    for i in range(n):
        s += f(a + (b - a) * i / n)
    return s / n


def root(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    for _ in range(6):
        x = x - f(x) * h / (f(x + h) - f(x))
    return x


def scaled(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def call(*arguments: Any, **options: Any) -> Any:
        return f(*arguments, **options) * math.cosh(*arguments)

    return call


class Layer:
    act = math.tanh

    def __init__(self) -> None:
        self.function = math.sin

    @staticmethod
    def grown(x: Any) -> Any:
        return math.exp(x)

    @property
    def chosen(self) -> Callable[..., Any]:
        return math.cos

    def __call__(self, x: Any) -> Any:
        return self.function(x) + self.grown(x) * self.chosen(x) + Layer.act(x)


layer = Layer()
scaled_square = scaled(lambda x: x * x)


@case
def of_an_attribute(x: Any) -> Any:
    return layer(x)


@case
def by_another_name(x: Any) -> Any:
    return sin(x) + numbers.exp(x)


@case
def imported_inside(x: Any) -> Any:
    import math as inner
    from math import erf as error

    return error(x) * inner.log1p(x)


@case
def as_arguments(x: Any) -> Any:
    return integral(math.sin, 0.0, x) + integral(lambda t: math.exp(-t), 0.0, x)


@case
def of_a_dict(x: Any) -> Any:
    return table["sine"](x)


@case
def of_a_made_dict(x: Any) -> Any:
    return {name: f(x) for name, f in {"s": math.sin, "c": math.cos}.items()}["c"]


@case
def of_a_list(x: Any) -> Any:
    functions = [math.sin]
    functions.append(math.cos)
    return functions[0](x) + functions[1](x)


@case
def of_a_tuple(x: Any) -> Any:
    return sum(f(x) for f in (math.sin, math.cos))


@case
def mapped(x: Any) -> Any:
    return sum(map(math.sin, [x, x * 2]))


@case
def mapped_by_a_lambda(x: Any) -> Any:
    return [*map(lambda t: math.exp(t) * x, [1.0, x])][1]  # noqa: C417


@case
def reduced(x: Any) -> Any:
    return reduce(math.hypot, [x, 2.0, x]) + reduce(lambda a, b: a + math.sin(b), [x, x], 0.0)


@case
def partly_applied(x: Any) -> Any:
    return double(x) + partial(math.hypot, 3.0)(x)


@case
def by_default(x: Any, f: Callable[[Any], Any] = math.sinh) -> Any:
    return f(x)


@case
def decorated(x: Any) -> Any:
    return scaled_square(x)


@case
def of_a_condition(x: Any) -> Any:
    function = math.sin if np.ndim(x) == 0 else math.cos
    return function(x)


@case
def complex_numbers(x: Any) -> Any:
    return abs(cmath.exp(1j * x) + x)


@case
def in_a_solver(x: Any) -> Any:
    return root(lambda z: math.cos(z) - z * x, x)


@case
def within_statements(x: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            return math.log(x)
        finally:
            pass


@case
def numpys_scalars(x: Any) -> Any:
    return np.float64(x) * 2


@case
def vectorized(x: Any) -> Any:
    return np.vectorize(math.erf)(np.float64(x)) + np.vectorize(pyfunc=math.sin)(np.float64(x))


@case
def in_a_loop(x: Any) -> Any:
    s = 0.0
    for i in range(30):
        s += np.vectorize(math.cos)(np.float64(x * i))
    return s


case(lambda x: math.sqrt(x))
case(lambda x: (lambda y: math.exp(y) + np.asarray([x, 1.0])[0])(x))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda program: program.__name__)
def test_followed(function: Callable[..., Any]) -> None:
    jitted = tj.jit(function, on_branch="error")
    for x in (np.float64(0.3), np.float64(0.4)):
        np.testing.assert_allclose(jitted(x), function(x), rtol=1e-13)
    h = 1e-6
    slope = (function(np.float64(0.3 + h)) - function(np.float64(0.3 - h))) / (2 * h)
    np.testing.assert_allclose(tj.jit(tj.grad(function))(np.float64(0.3)), slope, rtol=1e-6)
    np.testing.assert_allclose(
        tj.jit(tj.vmap(function))(np.array([0.3, 0.4])), [function(0.3), function(0.4)], rtol=1e-13
    )


@pytest.mark.parametrize("x", [0.3, 0.7])
def test_functions_that_call_functions(x: float) -> None:
    rows = np.array([x, 2 * x])
    np.testing.assert_allclose(tj.jit(lambda x: tj.vmap(math.sin)(x))(rows), np.sin(rows), rtol=1e-15)
    np.testing.assert_allclose(tj.jit(lambda x: tj.map(math.sin, x))(rows), np.sin(rows), rtol=1e-15)
    np.testing.assert_allclose(tj.jit(lambda x: tj.grad(math.sin)(x))(x), math.cos(x), rtol=1e-15)
    chosen = tj.jit(lambda x: tj.cond(x < 0.5, math.sin, math.cos, x))
    np.testing.assert_allclose(chosen(x), math.sin(x) if x < 0.5 else math.cos(x), rtol=1e-15)


def test_filtered() -> None:
    def program(x: Any) -> Any:
        return sum(filter(lambda y: math.sin(y) > 0.5, [math.exp(x), x, 2.0]))

    jitted = tj.jit(program)
    for x in (0.3, 0.4, 1.5):
        np.testing.assert_allclose(jitted(x), program(x), rtol=1e-13)
    assert len(jitted.explain().signatures[0].paths) == 2
