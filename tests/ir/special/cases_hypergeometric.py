"""Cases of hypergeometric, Legendre and Lambert's functions."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

from .cases import Array, Case, Rng, mixed, powers, product, uniform


def degrees(rng: Rng, count: int) -> list[Array]:
    return [rng.integers(0, 30, count).astype(np.float64), rng.uniform(-1, 1, count)]


def degrees_and_orders(rng: Rng, count: int) -> list[Array]:
    n = rng.integers(0, 12, count)
    return [rng.integers(-n, n + 1).astype(np.float64), n.astype(np.float64), rng.uniform(-1, 1, count)]


def associated(m: Any, n: Any, x: Any) -> Any:
    """Associated Legendre function by derivatives of the polynomial: mpmath's own is complex."""
    order, degree = abs(int(m)), int(n)
    coefficients = [mp.mpf(0)] * (2 * degree + 1)
    for k in range(degree + 1):  # (x^2 - 1)^n
        coefficients[2 * k] = mp.binomial(degree, k) * (-1) ** (degree - k)
    for _ in range(degree + order):
        coefficients = [k * c for k, c in enumerate(coefficients)][1:] or [mp.mpf(0)]
    value = mp.fsum(c * x**k for k, c in enumerate(coefficients)) / (2**degree * mp.factorial(degree))
    value *= (-1) ** order * (1 - x * x) ** (mp.mpf(order) / 2)
    if m < 0:
        value *= (-1) ** order * mp.factorial(degree - order) / mp.factorial(degree + order)
    return value


def spherical(n: Any, m: Any, theta: Any) -> Any:
    order, degree = int(m), int(n)
    factor = mp.sqrt(
        (2 * degree + 1) / (4 * mp.pi) * mp.factorial(degree - order) / mp.factorial(degree + order)
    )
    return factor * associated(m, n, mp.cos(theta))


def degrees_orders_and_angles(rng: Rng, count: int) -> list[Array]:
    order, degree, _ = degrees_and_orders(rng, count)
    return [degree, order, rng.uniform(0, np.pi, count)]


def branch(k: int) -> Any:
    return lambda z: mp.lambertw(z, k).real


CASES = (
    Case("hyp1f1", "0.1 < a, b < 10, -30 < x < 50", mp.hyp1f1,
         product(uniform(0.1, 10), uniform(0.1, 10), uniform(-30, 50)), 3000,
         {(1, 0, 0): 3000, (0, 1, 0): 3000, (0, 0, 1): 3000}, digits=80),
    Case("hyp2f1", "0.1 < a, b < 5, 1 < c < 10, -5 < z < 0.95", mp.hyp2f1,
         product(uniform(0.1, 5), uniform(0.1, 5), uniform(1, 10), uniform(-5, 0.95)), 1000,
         {(1, 0, 0, 0): 3000, (0, 0, 1, 0): 3000, (0, 0, 0, 1): 3000}, digits=80),
    Case("eval_legendre", "0 <= n < 30, -1 < x < 1; ulps of 1", mp.legendre, degrees, 20, floor=1.0),
    Case("lpmv", "|m| <= v < 12, -1 < x < 1; ulps of (2 v)!", associated, degrees_and_orders, 40,
         floor=lambda m, v, x: float(mp.factorial(v + m) / mp.factorial(v) / 4)),
    Case("sph_legendre_p", "|m| <= n < 12, 0 < theta < pi; ulps of 1", spherical,
         degrees_orders_and_angles, 12,
         {(0, 0, 1): 120}, floor=1.0),
    Case("lambertw_0", "-1 / e < z", branch(0), mixed(uniform(-0.3678, 3), powers(-300, 300)), 4, digits=60),
    Case("lambertw_m1", "-1 / e < z < 0", branch(-1),
         mixed(uniform(-0.3678, 0), lambda rng, count: -powers(-300, -1)(rng, count)), 4, digits=60),
)  # fmt: skip
