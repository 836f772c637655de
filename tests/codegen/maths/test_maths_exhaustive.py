"""Errors of each function under the stated bounds: every float32 of its usual range, a hundredth of the other
ones, and many float64 against long doubles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracejit.codegen.maths import ULP_BOUND

from ...rotation import share_of
from .maths_exhaustive import IN_DOUBLE, SYMMETRIC, worst, worst_of_doubles


@pytest.mark.parametrize("method", IN_DOUBLE)
def test_a_sample_of_all_floats(method: str) -> None:
    """A prime step, so that all kinds of significands come."""
    for wide_tables in (None, False):
        error, where = worst(method, wide_tables, [(0.0, math.inf, 60013)])
        assert error <= ULP_BOUND[method]["f32"], where


#: Ranges where every float is tried, by size: all of its binades, or a few where the others are alike.
USUAL: dict[str, tuple[float, float]] = {
    "exp": (2.0**-13, 104.0),
    "exp2": (2.0**-13, 151.0),
    "expm1": (2.0**-13, 89.0),
    "log": (2.0**-2, 4.0),
    "log2": (2.0**-2, 4.0),
    "log10": (2.0**-2, 4.0),
    "log1p": (2.0**-13, 4.0),
    "sin": (2.0**-13, 1e5),
    "cos": (2.0**-13, 1e5),
    "tan": (2.0**-13, 1e5),
    "asin": (2.0**-13, 1.0),
    "acos": (2.0**-13, 1.0),
    "atan": (2.0**-13, 2.0**13),
    "sinh": (2.0**-13, 90.0),
    "cosh": (2.0**-13, 90.0),
    "tanh": (2.0**-13, 10.0),
    "sech_squared": (2.0**-13, 43.0),
    "asinh": (2.0**-13, 2.0**16),
    "acosh": (1.0, 2.0**16),
    "atanh": (2.0**-13, 1.0),
    "erf": (2.0**-13, 4.0),
    "erfc": (2.0**-13, 10.5),
    "cbrt": (1.0, 8.0),
    "rsqrt": (1.0, 4.0),
    "reciprocal": (1.0, 2.0),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "wide_tables"), share_of([(method, wide) for method in USUAL for wide in (None, False)], 10)
)
def test_every_float(method: str, wide_tables: bool | None) -> None:
    low, high = USUAL[method]
    slower = 16 if method in ("erf", "erfc") else 1  # the truth takes NumPy code of many steps
    error, where = worst(method, wide_tables, [(0.0, low, 101), (low, high, slower), (high, math.inf, 101)])
    print(f"{method} {error:.4f} at {where!r}")
    assert error <= ULP_BOUND[method]["f32"], where


#: Ranges where float64 is sampled: usual ones, and where the errors are large.
DOUBLES: dict[str, list[tuple[float, float]]] = {
    "exp": [(-1, 1), (-700, 700)],
    "exp2": [(-1, 1), (-1000, 1000)],
    "expm1": [(-0.7, 1.5), (-30, 40), (1e-9, 1e-3)],
    "log": [(0.7, 1.5), (1.06, 1.07), (1e-5, 1e5)],
    "log2": [(0.7, 1.5), (1.06, 1.07), (1e-5, 1e5)],
    "log10": [(0.7, 1.5), (1.06, 1.07), (1e-5, 1e5)],
    "log1p": [(-0.5, 1.5), (0.06, 0.07), (-0.065, -0.055)],
    "sin": [(-7, 7), (-1e4, 1e4)],
    "cos": [(-7, 7), (-1e4, 1e4)],
    "tan": [(-2, 2), (0.75, 0.82), (-1e4, 1e4)],
    "asin": [(-1, 1)],
    "acos": [(-1, 1)],
    "atan": [(-3, 3), (0.9, 1.1)],
    "sinh": [(-2, 2), (0.3, 0.5)],
    "cosh": [(-6, 6)],
    "tanh": [(-1, 1), (-3, 3), (0.01, 0.02)],
    "asinh": [(-2, 2), (0.02, 0.1)],
    "acosh": [(1, 1.1), (1, 3)],
    "atanh": [(-0.99, 0.99), (0.01, 0.1)],
    "cbrt": [(1, 8)],
    "rsqrt": [(1, 4)],
    "reciprocal": [(1, 2)],
}
LONG_DOUBLES = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long doubles are not longer here"
)


@LONG_DOUBLES
@pytest.mark.parametrize("method", DOUBLES)
def test_many_doubles(method: str) -> None:
    for wide_tables in (None, False):
        error, where = worst_of_doubles(method, wide_tables, DOUBLES[method], 1 << 14)
        assert error <= ULP_BOUND[method]["f64"], where


@LONG_DOUBLES
@pytest.mark.slow
@pytest.mark.parametrize("method", share_of([*DOUBLES], 2))
def test_more_doubles(method: str) -> None:
    for wide_tables in (None, False):
        error, where = worst_of_doubles(method, wide_tables, DOUBLES[method], 1 << 22)
        print(f"{method} {error:.4f} at {where!r}")
        assert error <= ULP_BOUND[method]["f64"], where


def test_all_functions_are_covered() -> None:
    assert set(USUAL) == set(IN_DOUBLE) >= SYMMETRIC
    assert set(ULP_BOUND) - set(USUAL) == {"pow", "atan2", "hypot", "logaddexp", "logaddexp2"}
