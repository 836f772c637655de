"""Cases of the Bessel functions."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

from .cases import Array, Case, Rng, mixed, powers, uniform


def orders(rng: Rng, count: int) -> list[Array]:
    """Orders up to 30, arguments over five decades."""
    return [rng.uniform(0, 30, count), np.asarray(10.0 ** rng.uniform(-2, 2.5, count))]


def far_envelope(*arguments: float) -> float:
    """The amplitude of J and Y for large arguments."""
    return float(min(1.0, np.sqrt(2 / np.pi / abs(arguments[-1]))))


def scaled(function: Any, sign: int) -> Any:
    return lambda *v: mp.exp(sign * v[-1]) * function(*v)


WHERE = "0 < v < 30, 0.01 < x < 300"
REAL = "0 < x < 10^4; ulps of the envelope"
NEAR, EVERYWHERE = mixed(uniform(0, 20), powers(-3, 4)), mixed(uniform(0, 20), powers(-3, 2.8))
CASES = (
    Case("kv", WHERE, mp.besselk, orders, 150, {(1, 0): 80, (2, 0): 100}),
    Case("kve", WHERE, scaled(mp.besselk, 1), orders, 150, {(1, 0): 80, (2, 0): 80}),
    Case("iv", WHERE, mp.besseli, orders, 60, {(1, 0): 400, (2, 0): 1200}),
    Case("ive", WHERE, scaled(mp.besseli, -1), orders, 60, {(1, 0): 400, (2, 0): 1200}),
    Case("jv", WHERE + "; where x > v, ulps of the envelope", mp.besselj, orders, 1000,
         {(1, 0): 800, (2, 0): 3000},
         floor=lambda v, x: far_envelope(x) if x > v else 0.0),
    Case("j0", REAL, lambda x: mp.besselj(0, x), NEAR, 6, floor=far_envelope),
    Case("j1", REAL, lambda x: mp.besselj(1, x), NEAR, 6, floor=lambda x: min(far_envelope(x), x / 2)),
    Case("y0", REAL, lambda x: mp.bessely(0, x), NEAR, 6, floor=far_envelope),
    Case("y1", REAL, lambda x: mp.bessely(1, x), NEAR, 6, floor=far_envelope),
    Case("i0", "0 < x < 600", lambda x: mp.besseli(0, x), EVERYWHERE, 8),
    Case("i1", "0 < x < 600", lambda x: mp.besseli(1, x), EVERYWHERE, 8),
    Case("i0e", "0 < x < 10^4", scaled(lambda x: mp.besseli(0, x), -1), NEAR, 6),
    Case("i1e", "0 < x < 10^4", scaled(lambda x: mp.besseli(1, x), -1), NEAR, 6),
    Case("k0", "0 < x < 600", lambda x: mp.besselk(0, x), EVERYWHERE, 12),
    Case("k1", "0 < x < 600", lambda x: mp.besselk(1, x), EVERYWHERE, 8),
    Case("k0e", "0 < x < 10^4", scaled(lambda x: mp.besselk(0, x), 1), NEAR, 12),
    Case("k1e", "0 < x < 10^4", scaled(lambda x: mp.besselk(1, x), 1), NEAR, 8),
)  # fmt: skip
