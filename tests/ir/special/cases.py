"""The special functions with their truth in mpmath, where they are sampled, and how far off they may be.

`CASES` is what ``test_special_accuracy.py`` checks and what ``docs/special.md`` is generated from
(``python -m tests.ir.special.page``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rng = np.random.Generator
#: The step of mpmath's differences, at `DIGITS` digits.
STEP = mp.mpf(10) ** -14
DIGITS = 60


#: Bounds in float32 of the functions that compiled code does not compute as float64 rounded: in float32
#: itself, or where they are below 1 in float64 by shorter polynomials and series.
SINGLE: dict[str, float] = {
    "beta": 0.7, "beta_rate": 0.7, "betainc": 0.8, "betaln": 0.7, "ci": 0.7, "entr": 3, "erf": 1.6,
    "erfc": 3.1, "erfcinv": 4, "erfcx": 8, "erfinv": 4, "exp_quotient": 4, "expit": 3, "gamma": 8,
    "gammainc": 0.7, "gammaincc": 0.7, "gammaln": 5, "gelu_tanh": 8, "gelu_tanh_slope": 8, "i0": 8,
    "i0e": 5, "i1": 8, "i1e": 5, "kl_div": 8, "log_expit": 3, "log_ndtr": 8, "log_ratio": 3, "logit": 3,
    "ndtr": 8, "ndtri": 5, "rel_entr": 4, "si": 0.7, "silu": 3, "silu_bend": 4,
    "silu_slope": 4, "sinc": 4, "xlog1py": 3, "xlogy": 3, "zeta": 0.7,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A function: its truth, its arguments as ``sample(rng, count)``, and bounds in ulps by derivative.

    `floor` is a number or a function of the arguments: results that are smaller are measured in its ulps.
    """

    name: str
    where: str
    truth: Callable[..., Any]
    sample: Callable[[Rng, int], list[Array]]
    bound: float
    slopes: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    floor: Callable[..., Any] | float = 0.0
    #: Digits that the truth needs.
    digits: int = 40
    #: The truth of derivatives that mpmath's differences are not good at.
    exact: Mapping[tuple[int, ...], Callable[..., Any]] = field(default_factory=dict)

    @property
    def single(self) -> float:
        """The bound in float32, in its ulps: half of one where float64 is rounded."""
        return SINGLE.get(self.name, 0.5)


def log_uniform(rng: Rng, low: float, high: float, count: int) -> Array:
    """Numbers from 10^low to 10^high."""
    return np.asarray(10.0 ** rng.uniform(low, high, count))


def mixed(*parts: Callable[[Rng, int], Any]) -> Callable[[Rng, int], list[Array]]:
    """A sampler of one argument that takes equal shares from several."""

    def sample(rng: Rng, count: int) -> list[Array]:
        share = -(-count // len(parts))
        return [np.concatenate([np.asarray(part(rng, share)) for part in parts])]

    return sample


def uniform(low: float, high: float) -> Callable[[Rng, int], Array]:
    return lambda rng, count: np.asarray(rng.uniform(low, high, count))


def powers(low: float, high: float) -> Callable[[Rng, int], Array]:
    return lambda rng, count: log_uniform(rng, low, high, count)


def product(*parts: Callable[[Rng, int], Array]) -> Callable[[Rng, int], list[Array]]:
    """A sampler of several arguments, each by its own."""
    return lambda rng, count: [part(rng, count) for part in parts]


def truth_of(case: Case, orders: tuple[int, ...], arguments: list[float]) -> Any:
    """The derivative `orders` of the case's function."""
    digits = max(case.digits, DIGITS if any(orders) else 0)
    with mp.workdps(digits):
        values = [mp.mpf(argument) for argument in arguments]
        if not any(orders):
            return case.truth(*values)
        if orders in case.exact:
            return case.exact[orders](*values)
        moving = [place for place, order in enumerate(orders) if order]

        def of_moving(*moved: Any) -> Any:
            now = list(values)
            for place, value in zip(moving, moved, strict=True):
                now[place] = value
            return case.truth(*now)

        point = tuple(values[place] for place in moving)
        moving_orders = tuple(orders[place] for place in moving)
        if len(moving) == 1:
            return mp.diff(of_moving, point[0], moving_orders[0], h=STEP * abs(point[0]))
        return mp.diff(of_moving, point, moving_orders, h=STEP)


def ulp_error(value: float, truth: Any, floor: Any = 0.0) -> float:
    """|value - truth| in ulps of the larger of |truth| and `floor`."""
    if mp.isnan(truth) or np.isnan(value):
        return 0.0 if mp.isnan(truth) and np.isnan(value) else float("inf")
    if mp.isinf(truth) or np.isinf(value):
        return 0.0 if float(truth) == value else float("inf")
    size = max(abs(truth), mp.mpf(floor))
    exponent = max(int(mp.frexp(size)[1]) - 53 if size else -1074, -1074)
    return float(abs(mp.mpf(value) - truth) / mp.mpf(2) ** exponent)


def all_cases() -> dict[str, Case]:
    """Every case, by name."""
    from . import (
        cases_bessel,
        cases_gamma,
        cases_hypergeometric,
        cases_incomplete,
        cases_integrals,
        cases_normal,
    )  # fmt: skip

    modules = (
        cases_gamma,
        cases_normal,
        cases_incomplete,
        cases_bessel,
        cases_integrals,
        cases_hypergeometric,
    )
    return {case.name: case for module in modules for case in module.CASES}
