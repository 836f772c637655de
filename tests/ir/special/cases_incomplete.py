"""Cases of the incomplete gamma and beta functions."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

from .cases import Array, Case, Rng


def lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def around(rng: Rng, count: int) -> list[Array]:
    """a over six decades, x around it."""
    a = 10.0 ** rng.uniform(-3, 3, count)
    return [a, a * np.exp(rng.normal(size=count) / np.sqrt(1 + a) * 2)]


def beta_arguments(rng: Rng, count: int) -> list[Array]:
    """a and b over four decades, x as the distribution has it."""
    a, b = 10.0 ** rng.uniform(-1.5, 2.5, count), 10.0 ** rng.uniform(-1.5, 2.5, count)
    return [a, b, np.clip(rng.beta(a, b), 1e-9, 1 - 1e-9)]


def incomplete_beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def incomplete_beta_upper(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, x, 1, regularized=True)


GAMMA_WHERE = "0.001 < a < 1000, x around a"
BETA_WHERE = "0.03 < a, b < 300, x as distributed"
CASES = (
    Case("gammainc", GAMMA_WHERE, lower, around, 20, {(1, 0): 60, (2, 0): 120}),
    Case("gammaincc", GAMMA_WHERE, upper, around, 60, {(1, 0): 60, (2, 0): 120}),
    Case("gamma_density", GAMMA_WHERE, lambda a, x: x ** (a - 1) * mp.exp(-x) / mp.gamma(a), around, 20),
    Case("betainc", BETA_WHERE, incomplete_beta, beta_arguments, 60,
         {(1, 0, 0): 300, (0, 1, 0): 300, (1, 1, 0): 600, (2, 0, 0): 1000}),
    Case("betaincc", BETA_WHERE, incomplete_beta_upper, beta_arguments, 60),
    Case("beta_density", BETA_WHERE, lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
         beta_arguments, 60),
)  # fmt: skip
