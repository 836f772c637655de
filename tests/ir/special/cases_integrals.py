"""Cases of exponential, trigonometric and elliptic integrals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

from .cases import Array, Case, Rng, mixed, powers, uniform


def whole_order(rng: Rng, count: int) -> list[Array]:
    return [rng.integers(0, 40, count).astype(np.float64), np.asarray(10.0 ** rng.uniform(-3, 2, count))]


def negative_powers(low: float, high: float) -> Callable[[Rng, int], Array]:
    return lambda rng, count: -powers(low, high)(rng, count)


def dilogarithm(z: Any) -> Any:
    return mp.polylog(2, 1 - z).real


CASES = (
    Case("exp1", "0 < x < 600", mp.e1, mixed(uniform(0, 5), powers(-10, 2.8)), 6),
    Case("expi", "-600 < x < 600", mp.ei, mixed(uniform(-5, 8), uniform(-600, 600), powers(-3, 1)), 12),
    Case("expn", "0 <= n < 40, 0.001 < x < 100", mp.expint, whole_order, 20),
    Case("sinc", "-10^4 < x < 10^4; of sizes below 1 / x, ulps of that, at most 1", mp.sinc,
         mixed(uniform(-10, 10), powers(-5, 4)), 4, {(1,): 6, (2,): 6}, floor=lambda x: min(1.0, 1 / abs(x))),
    Case("si", "-10^4 < x < 10^4", mp.si, mixed(uniform(-10, 10), powers(-5, 4)), 4),
    Case("ci", "0 < x < 10^4; of sizes below 1 / x, ulps of that, at most 1", mp.ci,
         mixed(uniform(0, 10), powers(-5, 4)),
         12, floor=lambda x: min(1.0, 1 / x)),
    Case("spence", "0 < z < 10^4; of sizes below 0.1, ulps of 0.1", dilogarithm,
         mixed(uniform(0, 3), powers(-10, 4)), 8, floor=0.1),
    Case("ellipk", "-10^100 < m < 1", mp.ellipk,
         mixed(uniform(0, 1), negative_powers(-3, 4), negative_powers(4, 100)), 6,
         {(1,): 20, (2,): 60}),
    Case("ellipe", "-10^100 < m < 1", mp.ellipe,
         mixed(uniform(0, 1), negative_powers(-3, 4), negative_powers(4, 100)), 30,
         {(1,): 60, (2,): 200}),
)  # fmt: skip
