"""Derivatives of holomorphic functions to second order against mpmath's: near branch points, on both sides of
cuts, for numbers that are large or small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import tracejit as tj

from ..support import Array

Derivative = Callable[[Any], Any]


def _root(z: Any) -> Any:
    return mpmath.sqrt(1 - z) * mpmath.sqrt(1 + z)


def _turned_root(z: Any) -> Any:
    return _root(mpmath.mpc(0, 1) * z)


def _hyperbolic_root(z: Any) -> Any:
    return mpmath.sqrt(z - 1) * mpmath.sqrt(z + 1)


#: The first and the second derivative.
DERIVATIVES: Final[dict[str, tuple[Derivative, Derivative]]] = {
    "exp": (mpmath.exp, mpmath.exp),
    "exp2": (lambda z: mpmath.log(2) * mpf(2) ** z, lambda z: mpmath.log(2) ** 2 * mpf(2) ** z),
    "expm1": (mpmath.exp, mpmath.exp),
    "log": (lambda z: 1 / z, lambda z: -1 / z**2),
    "log2": (lambda z: 1 / z / mpmath.log(2), lambda z: -1 / z**2 / mpmath.log(2)),
    "log10": (lambda z: 1 / z / mpmath.log(10), lambda z: -1 / z**2 / mpmath.log(10)),
    "log1p": (lambda z: 1 / (1 + z), lambda z: -1 / (1 + z) ** 2),
    "sqrt": (lambda z: 1 / (2 * mpmath.sqrt(z)), lambda z: -1 / (4 * z * mpmath.sqrt(z))),
    "square": (lambda z: 2 * z, lambda z: mpf(2)),
    "reciprocal": (lambda z: -1 / z**2, lambda z: 2 / z**3),
    "sin": (mpmath.cos, lambda z: -mpmath.sin(z)),
    "cos": (lambda z: -mpmath.sin(z), lambda z: -mpmath.cos(z)),
    "tan": (lambda z: mpmath.sec(z) ** 2, lambda z: 2 * mpmath.tan(z) * mpmath.sec(z) ** 2),
    "asin": (lambda z: 1 / _root(z), lambda z: z / _root(z) ** 3),
    "acos": (lambda z: -1 / _root(z), lambda z: -z / _root(z) ** 3),
    "atan": (lambda z: 1 / (1 + z**2), lambda z: -2 * z / (1 + z**2) ** 2),
    "sinh": (mpmath.cosh, mpmath.sinh),
    "cosh": (mpmath.sinh, mpmath.cosh),
    "tanh": (lambda z: mpmath.sech(z) ** 2, lambda z: -2 * mpmath.tanh(z) * mpmath.sech(z) ** 2),
    "asinh": (lambda z: 1 / _turned_root(z), lambda z: -z / _turned_root(z) ** 3),
    "acosh": (lambda z: 1 / _hyperbolic_root(z), lambda z: -z / _hyperbolic_root(z) ** 3),
    "atanh": (lambda z: 1 / (1 - z**2), lambda z: 2 * z / (1 - z**2) ** 2),
}
POINTS: Final = np.array(
    [
        0.3 + 0.4j, -0.7 + 0.1j, 3 + 2j, -2 + 1e-9j, -2 - 1e-9j, complex(-2, 0.0), complex(-2, -0.0),
        complex(2, 0.0), complex(2, -0.0), complex(0.0, 3), complex(-0.0, 3), complex(0.0, -3),
        complex(-0.0, -3), 1e-8 + 1e-8j, 1 + 1e-5j, -1 + 1e-7j, 1e-5 + 1j, -1e-7 - 1j, 30 + 2j, -40 + 3j,
        300 - 1j, 0.1 + 50j, 0.2 - 400j,
    ]
)  # fmt: skip


def slopes(function: Any, order: int) -> Any:
    """The derivative of `order`, of each element."""
    for _ in range(order):
        function = tj.grad(lambda z, f=function: f(z).sum(), holomorphic=True)
    return tj.jit(function)


def exact(derivative: Derivative, z: complex) -> Any:
    """The exact value, on cuts the limit from the side that the sign of a zero says."""
    tiny = mpf(10) ** -60
    parts = [part if part else tiny * np.copysign(1.0, part) for part in (z.real, z.imag)]
    return derivative(mpmath.mpc(*parts))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_mpmaths(name: str, order: int) -> None:
    """Errors relative to the value, and to what a change of the argument by its last place makes of it; where
    a result is subtracted from 1, to that."""
    derivative = DERIVATIVES[name][order - 1]
    result: Array = np.asarray(slopes(getattr(tj, name), order)(POINTS))
    with mpmath.workdps(80):
        for z, value in zip(POINTS, result, strict=True):
            expected = exact(derivative, complex(z))
            moved = exact(derivative, complex(z) * (1 + 1e-9)) - expected
            bound = 1e-14 * (abs(expected) + 1e9 * abs(moved))
            if name in ("expm1", "tan", "tanh", "acosh", "asin", "acos", "atan", "asinh", "atanh"):
                bound += 4e-16
            assert abs(mpmath.mpc(complex(value)) - expected) <= bound, f"{name} at {z}: {value}"


@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "second",
    [
        tj.hessian,
        lambda f: tj.jacfwd(tj.grad(f)),
        lambda f: tj.jacrev(tj.grad(f)),
        lambda f: tj.jacfwd(tj.jacfwd(f)),
    ],
    ids=["hessian", "forward over reverse", "reverse over reverse", "forward over forward"],
)
@pytest.mark.parametrize("power", [1, 2, 3])
def test_absolute_values_at_zero(power: int, second: Any, wrap: Any) -> None:
    """The slope at 0 is 0; the second derivative by real and imaginary part is that of the power, which there
    is not of the first one (NaN), and of the other element what it is."""

    def loss(parts: Any) -> Any:
        return (abs(parts[:2] + 1j * parts[2:]) ** power).sum()

    at = np.array([0.0, 3.0, 0.0, 4.0])
    x, y, r = 3.0, 4.0, 5.0
    slope = power * r ** (power - 2)
    np.testing.assert_allclose(wrap(tj.grad(loss))(at), [0, x * slope, 0, y * slope], rtol=1e-15)
    result = np.asarray(wrap(second(loss))(at))
    at_zero = {1: np.full((2, 2), np.nan), 2: 2.0 * np.eye(2), 3: np.zeros((2, 2))}
    np.testing.assert_array_equal(result[::2, ::2], at_zero[power])
    bend = slope * (power - 2) / r**2
    expected = [[slope + bend * x * x, bend * x * y], [bend * x * y, slope + bend * y * y]]
    np.testing.assert_allclose(result[1::2, 1::2], expected, rtol=1e-14, atol=1e-14)
