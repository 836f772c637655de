"""Derivatives of every control flow function, first and second order, as jax 0.10 has them in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj

X, W = tj.tensor([0.1, 0.2, 0.3]), tj.tensor([0.5, 0.6, 0.7])


def scanned(x: Any) -> Any:
    return (tj.scan(lambda c, t: (tj.sin(c * t) + W, c * t), x, W)[1] ** 2).sum()


def counted(x: Any) -> Any:
    return (tj.fori_loop(1, 4, lambda i, v: tj.sin(v) * i + W, x) ** 2).sum()


def chosen(x: Any) -> Any:
    return tj.cond(x.sum() > 0.5, lambda x: tj.sin(x * W), lambda x: x * x, x).sum()


def switched(x: Any) -> Any:
    return tj.switch(tj.tensor(1), [lambda x: x, lambda x: tj.exp(x * W) * x], x).sum()


def mapped(x: Any) -> Any:
    return (tj.map(lambda t: tj.sin(t) * t * W, x) ** 2).sum()


def prefixed(x: Any) -> Any:
    return (tj.associative_scan(lambda a, b: a * b + tj.sin(a) * 0, x * W) ** 2).sum()


def repeated(x: Any) -> Any:
    return (tj.while_loop(lambda v: v.sum() < 5, lambda v: v * 1.5 + tj.cos(v) * W, x) ** 2).sum()


class Derivatives(NamedTuple):
    """Derivatives of f at X: its gradient, the gradient of the gradient's squared norm, a row of the Hessian,
    and f with its tangent along W."""

    gradient: list[float]
    second: list[float]
    row: list[float]
    tangent: list[float]


EXPECTED: dict[Callable[..., Any], Derivatives] = {
    scanned: Derivatives(
        [0.476652723, 0.619848911, 0.753793439],
        [0.690312967, 0.854231388, 0.974026842],
        [0.0, 0.6890642, 0.0],
        [2.101654466, 1.137891116],
    ),
    counted: Derivatives(
        [-2.004022502, -12.017218445, -12.500923886],
        [219.458014336, 283.0778009, -499.973862707],
        [0.0, -11.778008455, 0.0],
        [30.705544988, -16.962989038],
    ),
    chosen: Derivatives(
        [0.49937513, 0.595685182, 0.68462164],
        [-0.012479177, -0.051343767, -0.139861835],
        [0.0, -0.043096395, 0.0],
        [0.378151276, 1.086333822],
    ),
    switched: Derivatives(
        [1.103834651, 1.262796474, 1.492750453],
        [2.378880401, 3.622144779, 5.697828354],
        [0.0, 1.434175995, 0.0],
        [0.700729898, 2.354520527],
    ),
    mapped: Derivatives(
        [0.004378039, 0.034500988, 0.113538852],
        [0.001146195, 0.035230644, 0.249984245],
        [0.0, 0.510574415, 0.0],
        [0.010492179, 0.102366809],
    ),
    prefixed: Derivatives(
        [0.050751752, 0.000375876, 1.0584e-05],
        [0.051520462, 0.00076447, 2.1567e-05],
        [0.00751752, 0.00187938, 0.00010584],
        [0.002537588, 0.02560881],
    ),
}


def norm(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: (tj.grad(f)(x) ** 2).sum()


@pytest.mark.parametrize("way", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("f", EXPECTED)
def test_derivatives(f: Callable[..., Any], way: Callable[..., Any]) -> None:
    expected = EXPECTED[f]
    np.testing.assert_allclose(way(tj.grad(f))(X).numpy(), expected.gradient, atol=1e-8)
    np.testing.assert_allclose(way(tj.grad(norm(f)))(X).numpy(), expected.second, atol=1e-8)
    np.testing.assert_allclose(way(tj.hessian(f))(X)[1].numpy(), expected.row, atol=1e-8)
    pushed = way(lambda x: tj.jvp(f, (x,), (W,)))(X)
    np.testing.assert_allclose([tangent.item() for tangent in pushed], expected.tangent, atol=1e-8)
    rows = tj.stack([X, X * 2, X * 3])
    many = way(tj.vmap(tj.grad(f)))(rows)
    np.testing.assert_allclose(many[2].numpy(), tj.grad(f)(X * 3).numpy(), rtol=1e-12)


@pytest.mark.parametrize("way", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_tangents_of_while(way: Callable[..., Any]) -> None:
    """Tangents alone: JAX has no reverse mode of ``while`` loops; see test_while_gradients.py."""

    def pushed(x: Any) -> Any:
        return tj.jvp(repeated, (x,), (W,))

    np.testing.assert_allclose(
        [slope.item() for slope in way(pushed)(X)], [8.739027563, 8.43887653], atol=1e-7
    )
    again = way(lambda x: tj.jvp(lambda x: pushed(x)[1], (x,), (W,)))(X)
    np.testing.assert_allclose([slope.item() for slope in again], [8.43887653, -0.526379947], atol=1e-6)
