"""The NumPy formulas of erf and erfc: their stated bounds against mpmath, and what arrays they take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import OPS
from tracejit.ir.special import error_function

#: Bounds in units of the last place of the exact value, which is denormal at the end of erfc. See the module.
BOUNDS = {"erf": 1.0, "erfc": 2.5}
EXACT: dict[str, Callable[[Any], Any]] = {"erf": mpmath.erf, "erfc": mpmath.erfc}


def points() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(7)
    edges = np.array([0.25, 0.84375, 1.25, 1 / 0.35, 6.0, 26.5, 27.0, 28.0])
    return np.concatenate(
        [
            rng.uniform(-1.3, 1.3, 700),
            rng.uniform(-6.0, 6.0, 900),
            rng.uniform(6.0, 27.5, 400),
            10.0 ** rng.uniform(-307, -1, 150),
            *[sign * np.nextafter(edges, side) for sign in (1, -1) for side in (0.0, 30.0)],
            *[edges, -edges, np.array([0.0, 5e-324, 30.0, -30.0, 1e300, -1e300])],
        ]
    )


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_ulps_against_mpmath(name: str) -> None:
    x = points()
    assert x.size > error_function._FEW  # so that the formulas are asked
    got = OPS[name].eval(x)
    worst = 0.0
    with mpmath.workprec(140):
        for at, value in zip(x.tolist(), got.tolist(), strict=True):
            want = EXACT[name](mpmath.mpf(max(-40.0, min(at, 40.0))))  # mpmath fails beyond
            error = abs((mpmath.mpf(value) - want) / mpmath.mpf(math.ulp(float(want))))
            worst = max(worst, float(error))
    assert worst < BOUNDS[name]


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_float32_is_rounded_once(name: str) -> None:
    x = np.linspace(-4, 10, 3000).astype(np.float32)
    got = OPS[name].eval(x)
    assert got.dtype == np.float32
    want = np.array([getattr(math, name)(float(number)) for number in x])
    assert np.all(
        np.abs(got - want) <= 0.5001 * np.spacing(np.maximum(np.abs(want).astype(np.float32), 1e-37))
    )


@pytest.mark.parametrize("name", ["erf", "erfc"])
@pytest.mark.parametrize("size", [0, 1, 3, 512, 513, 16384, 16385, 40000])
def test_every_element_of_every_size(name: str, size: int) -> None:
    x = np.random.default_rng(size).normal(0, 3, size)
    want = np.array([getattr(math, name)(number) for number in x])
    np.testing.assert_allclose(OPS[name].eval(x), want, rtol=1e-15)


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_special_values_and_errors_of_floats(name: str) -> None:
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324]
    x = np.tile(special, 200)
    with np.errstate(all="raise"):
        got = OPS[name].eval(x)
    want = np.array([getattr(math, name)(number) for number in special])
    np.testing.assert_array_equal(got, np.tile(want, 200))
    np.testing.assert_array_equal(np.signbit(got[3:5]), np.signbit(want[3:5]))


def test_layouts_and_integers() -> None:
    x = np.random.default_rng(0).normal(0, 2, (60, 50))
    for view in (x.T, x[::2, ::-1], np.asfortranarray(x)):
        np.testing.assert_array_equal(OPS["erf"].eval(view), OPS["erf"].eval(view.copy("C")))
    many = np.arange(-400, 400)
    np.testing.assert_allclose(
        OPS["erfc"].eval(many), [math.erfc(number) for number in many.tolist()], rtol=1e-15
    )
    assert OPS["erf"].eval(many.astype(np.int8)).dtype == np.float32
    assert OPS["erf"].eval(many).dtype == np.float64


def test_eager_jitted_and_gradient_agree() -> None:
    x = np.linspace(-5, 5, 2001)
    np.testing.assert_allclose(tj.jit(tj.erf)(x).numpy(), tj.erf(x).numpy(), rtol=1e-15)
    np.testing.assert_allclose(tj.jit(tj.erfc)(x).numpy(), tj.erfc(x).numpy(), rtol=2e-15)
    slope = tj.grad(lambda x: tj.erf(x).sum())(x).numpy()
    np.testing.assert_allclose(slope, 2 / math.sqrt(math.pi) * np.exp(-x * x), rtol=1e-14)
