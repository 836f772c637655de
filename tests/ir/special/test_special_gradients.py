"""Gradients of the special functions in every operand, to second order, against mpmath's differences."""

from __future__ import annotations

import itertools
import zlib
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tracejit as tj
import tracejit.scipy.special as sp
from tracejit.array.operands import run
from tracejit.ir.special.table import special

from ...rotation import share_of
from .cases import all_cases, truth_of

CASES = all_cases()
#: Points in an easy region, where differences have digits: uniform between these, for each operand.
EASY: dict[str, list[tuple[float, float]]] = {
    "gammainc": [(0.5, 8.0), (0.5, 8.0)],
    "gammaincc": [(0.5, 8.0), (0.5, 8.0)],
    "gamma_density": [(0.5, 8.0), (0.5, 8.0)],
    "betainc": [(0.5, 8.0), (0.5, 8.0), (0.1, 0.9)],
    "betaincc": [(0.5, 8.0), (0.5, 8.0), (0.1, 0.9)],
    "beta_density": [(0.5, 8.0), (0.5, 8.0), (0.1, 0.9)],
    "zeta": [(1.5, 8.0), (0.3, 5.0)],
    "binom": [(5.0, 9.0), (1.2, 4.0)],
    "riemann_zeta": [(-3.4, 5.0)],
    "expn": [(3.0, 3.0), (0.2, 2.0)],
    "eval_legendre": [(3.0, 3.0), (0.2, 0.9)],
    "lpmv": [(1.0, 1.0), (3.0, 3.0), (0.2, 0.9)],
    "sph_legendre_p": [(3.0, 3.0), (1.0, 1.0), (0.2, 0.9)],
    "lambertw_m1": [(-0.3, -0.1)],
    "hyp1f1": [(0.5, 3.0), (1.0, 4.0), (-2.0, 2.0)],
    "hyp2f1": [(0.5, 3.0), (0.5, 2.0), (3.0, 6.0), (-0.8, 0.6)],
}
DEFAULT = (0.2, 0.9)


def function(name: str) -> Any:
    return lambda *operands: run(
        f"special{len(operands)}", *operands, function=name, orders=(0,) * len(operands)
    )


def points(name: str) -> list[float]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [
        float(rng.uniform(*low_high)) for low_high in EASY.get(name, [DEFAULT] * len(special(name).params))
    ]


def derivatives(f: Any, firsts: list[int], seconds: list[tuple[int, int]]) -> Any:
    """Slopes and second derivatives of `f` as one jitted function."""
    slopes = [tj.grad(f, argnums=place) for place in firsts]
    bends = [tj.grad(tj.grad(f, argnums=first), argnums=second) for first, second in seconds]
    return tj.jit(lambda *values: ([slope(*values) for slope in slopes], [bend(*values) for bend in bends]))


@pytest.mark.parametrize("name", share_of([*CASES], 2))
def test_gradients(name: str) -> None:
    """``tj.grad`` of the function, and of its gradient, jitted and not."""
    case, at = CASES[name], points(name)
    places = [place for place, slope in enumerate(special(name).slopes) if slope is not None]
    pairs = [*itertools.combinations_with_replacement(places, 2)]
    f = function(name)
    values = [tj.tensor(value, dtype=tj.float64) for value in at]
    slopes, bends = derivatives(f, places, pairs)(*values)
    for place, slope in zip(places, slopes, strict=True):
        orders = tuple(int(other == place) for other in range(len(at)))
        truth = float(truth_of(case, orders, at))
        assert float(tj.grad(f, argnums=place)(*values)) == pytest.approx(truth, rel=1e-11), (place, at)
        assert float(slope) == pytest.approx(truth, rel=1e-11), (place, at)
    for (first, second), bend in zip(pairs, bends, strict=True):
        orders = tuple((first == other) + (second == other) for other in range(len(at)))
        truth = float(truth_of(case, orders, at))
        assert float(bend) == pytest.approx(truth, rel=1e-9, abs=1e-12), (first, second, at)


@pytest.mark.parametrize("name", ["gammainc", "betainc", "zeta", "log_ndtr"])
def test_batches_and_forward_mode(name: str) -> None:
    rng = np.random.default_rng(3)
    limits = EASY.get(name, [DEFAULT] * len(special(name).params))
    values = [tj.tensor(rng.uniform(*pair, 5)) for pair in limits]
    f = function(name)
    together = f(*values).numpy()
    assert np.allclose(tj.vmap(f)(*values).numpy(), together, rtol=1e-14)
    tangents = [tj.ones_like(value) for value in values]
    _, tangent = tj.jvp(f, values, tangents)
    each = sum(tj.grad(lambda *v: f(*v).sum(), argnums=i)(*values).numpy() for i in range(len(values)))
    assert np.allclose(tangent.numpy(), each, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "forward", "at"),
    [("gammaincinv", "gammainc", (2.5, 0.3)), ("gammainccinv", "gammaincc", (2.5, 0.3)),
     ("betaincinv", "betainc", (2.5, 1.5, 0.3))],
)  # fmt: skip
def test_gradients_of_inverses(name: str, forward: str, at: tuple[float, ...]) -> None:
    """Gradients agree with central differences of the inverse, which is exact to some parts in 10^15."""
    f = function(name)
    values = [tj.tensor(value, dtype=tj.float64) for value in at]
    step = 1e-3

    def difference(fn: Any, place: int) -> float:
        """Richardson's extrapolation of central differences: the error is some step^4."""
        half = [(shifted(fn, place, by) - shifted(fn, place, -by)) / (2 * by) for by in (step, 2 * step)]
        return (4 * half[0] - half[1]) / 3

    def shifted(fn: Any, place: int, by: float) -> float:
        return float(fn(*[value + by * (other == place) for other, value in enumerate(values)]))

    places = [*range(len(at))]
    pairs = [*itertools.combinations_with_replacement(places, 2)]
    slopes, bends = derivatives(f, places, pairs)(*values)
    for place, slope in zip(places, slopes, strict=True):
        assert float(slope) == pytest.approx(difference(f, place), rel=1e-7), place
    for (first, second), bend in zip(pairs, bends, strict=True):
        slope = tj.grad(f, argnums=first)
        assert float(bend) == pytest.approx(difference(slope, second), rel=1e-6, abs=1e-8), (first, second)


@pytest.mark.parametrize("x", [-3.0, 0.7, 2.0])
def test_expi_has_derivatives_of_any_order(x: float) -> None:
    f = sp.expi
    for order in range(8):
        f = tj.grad(f)
        truth = float(mp.diff(lambda v: mp.exp(v) / v, mp.mpf(x), order))
        np.testing.assert_allclose(float(f(x)), truth, rtol=1e-11)
