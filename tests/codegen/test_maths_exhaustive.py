"""Every float32 of each function's usual range, and a hundredth of the others, under the stated bounds."""

from __future__ import annotations

import math

import pytest

from tracejit.codegen.maths import ULP_BOUND

from .maths_exhaustive import IN_DOUBLE, SYMMETRIC, worst


@pytest.mark.parametrize("method", IN_DOUBLE)
def test_a_sample_of_all_floats(method: str) -> None:
    """A prime step, so that all kinds of significands come."""
    for wide_tables in (None, False):
        error, where = worst(method, wide_tables, [(0.0, math.inf, 60013)])
        assert error <= ULP_BOUND[method]["f32"], where


#: Where every float is tried, by size: all of its binades, or a few where the others are alike.
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
@pytest.mark.parametrize("wide_tables", [None, False])
@pytest.mark.parametrize("method", USUAL)
def test_every_float(method: str, wide_tables: bool | None) -> None:
    low, high = USUAL[method]
    slower = 16 if method in ("erf", "erfc") else 1  # the truth takes NumPy code of many steps
    error, where = worst(method, wide_tables, [(0.0, low, 101), (low, high, slower), (high, math.inf, 101)])
    print(f"{method} {error:.4f} at {where!r}")
    assert error <= ULP_BOUND[method]["f32"], where


def test_all_functions_are_covered() -> None:
    assert set(USUAL) == set(IN_DOUBLE) >= SYMMETRIC
    assert set(ULP_BOUND) - set(USUAL) == {"pow", "atan2", "hypot", "logaddexp", "logaddexp2"}
