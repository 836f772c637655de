"""Complex functions on planes: NumPy's branch cuts, signs of zeros, special values, and mpmath's values."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from tracejit.backward.engine import NUMPY_OPS
from tracejit.ir.passes.dtypes.complex_arithmetic import ARITHMETIC
from tracejit.ir.passes.dtypes.complex_functions import FUNCTIONS, whole_power
from tracejit.ir.passes.dtypes.complex_inverses import INVERSES
from tracejit.ir.passes.dtypes.planes import Planes
from tracejit.ir.registry import OPS

from ....support import Array, function_of, native

RULES = {**ARITHMETIC, **FUNCTIONS, **INVERSES}
UNARY = [name for name in RULES if len(OPS[name].params) == 1 and name != "rint"]
#: 0, 1, 2, halves, numbers whose square is subnormal or overflows, and what is no number; both signs.
PARTS = [0.0, 1.0, 0.5, 2.0, 3.0, 1e-300, 1e-310, 1e300, 1.7e308, 1e160, 750.0, np.inf]
#: Functions where NumPy's own are less exact, or leave it open: see docs/complex.md.
OPEN = {"log1p", "sign", "square"}


def grid() -> Array:
    """Every pair of special parts, signs included."""
    parts = np.array([sign * part for part in PARTS for sign in (1.0, -1.0)] + [np.nan])
    result = np.empty((len(parts), len(parts)), complex)
    result.real, result.imag = parts[:, None], parts[None, :]
    return result.ravel()


def planes_of(x: Array) -> Planes:
    return Planes(x.real.copy(), x.imag.copy())


def joined(result: Any) -> Array:
    if not isinstance(result, Planes):
        return np.asarray(result)
    both = np.empty(np.shape(result.re), complex)
    both.real, both.imag = result.re, result.im
    return both


def wrong(got: Array, want: Array) -> Array:
    """Mask of parts that are not the other one's NaN, infinity or signed zero, nor near in the sense of the
    absolute value of the number: C99 leaves the sign of zeros and infinities beside NaN open."""
    bad = np.zeros(want.shape, bool)
    with np.errstate(all="ignore"):
        near = np.abs(got / 4 - want / 4) <= 32 * np.finfo(float).eps * np.maximum(np.abs(want / 4), 1e-307)
    unsigned = np.isnan(want.real) | np.isnan(want.imag)
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
        same |= unsigned & (np.abs(a) == np.abs(b)) & ((a == 0) | np.isinf(a))
        with np.errstate(all="ignore"):
            close = near | (np.abs(a - b) <= 1e-13 * np.abs(b))
        same |= np.isfinite(a) & np.isfinite(b) & close & ((a != 0) | (b != 0))
        bad |= ~same
    return bad


@pytest.mark.parametrize("name", [name for name in UNARY if name not in OPEN])
def test_special_values_are_numpys(name: str) -> None:
    x = grid()
    with np.errstate(all="ignore"):
        want, got = np.asarray(OPS[name].eval(x)), joined(RULES[name](NUMPY_OPS, planes_of(x)))
    if want.dtype.kind != "c":
        with np.errstate(all="ignore"):
            assert np.allclose(got, want, rtol=1e-15, atol=0.0, equal_nan=True)
        return
    bad = wrong(got, want)
    assert not bad.any(), f"{name}{x[bad][:4]} is {got[bad][:4]}, expected {want[bad][:4]}"


@pytest.mark.parametrize("name", ["div", "add", "sub", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "fmin"])
def test_pairs_of_special_values(name: str) -> None:
    x, y = (z.ravel() for z in np.meshgrid(grid()[::3], grid()[::2]))
    with np.errstate(all="ignore"):
        want, got = OPS[name].eval(x, y), joined(RULES[name](NUMPY_OPS, planes_of(x), planes_of(y)))
    if want.dtype.kind == "b":
        assert np.array_equal(got, want)
    else:
        assert not wrong(got, want).any()


@pytest.mark.parametrize("name", [name for name in UNARY if name in {**FUNCTIONS, **INVERSES}])
def test_within_a_few_last_places_of_the_truth(name: str) -> None:
    """Errors relative to the absolute value: 4 units, also near branch points, the unit circle and poles."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=60) * np.exp(rng.normal(size=60)) + 1j * rng.normal(size=60)
    z = np.concatenate([z, np.exp(1j * z.real[:20]), 1 + 1e-4 * z[:20], 1e-5 * z[:20], 30 * z[:10]])
    if name in ("exp2", "expm1"):
        z = z[np.abs(z) < 20]
    truth = {"log2": lambda x: mpmath.log(x) / mpmath.log(2), "exp2": lambda x: mpmath.mpf(2) ** x,
             "log1p": lambda x: mpmath.log(1 + x), "expm1": lambda x: mpmath.exp(x) - 1}  # fmt: skip
    function = truth.get(name) or getattr(mpmath, name)
    got = joined(RULES[name](NUMPY_OPS, planes_of(z)))
    with mpmath.workdps(40):
        for x, value in zip(z, got, strict=True):
            want = function(mpmath.mpc(x))
            size = abs(want)
            if name in ("expm1", "log1p", "exp2"):  # by parts, whose terms may cancel
                size += abs(x) + (1 if abs(x) > 0.5 else 0)
            assert abs(mpmath.mpc(value) - want) <= 6 * np.finfo(float).eps * size, f"{name}({x})"


@pytest.mark.parametrize("exponent", [1, 2, 3, 7, -1, -4])
def test_whole_powers_are_numpys(exponent: int) -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=50) + 1j * rng.normal(size=50)
    got = joined(whole_power(NUMPY_OPS, planes_of(z), exponent))
    assert np.allclose(got, z**exponent, rtol=1e-14)


def test_powers_of_zero() -> None:
    """0 where the real part of the exponent is positive; 1 for 0, and NaN for others."""
    exponents = np.array([1 + 2j, 0.5 - 3j, 2, 0, 1j, -1, -1 + 2j, 1])
    zeros = np.zeros(8, complex)
    with np.errstate(all="ignore"):
        got = joined(FUNCTIONS["pow"](NUMPY_OPS, planes_of(zeros), planes_of(exponents)))
    np.testing.assert_array_equal(got, [0, 0, 0, 1, *[complex(np.nan, np.nan)] * 3, 0])


def test_single_precision_stays_single() -> None:
    """No rule computes in double precision, in which lanes would be half as many."""
    z = np.array([1 + 2j, -3 + 0.5j], np.complex64)
    for name in UNARY:
        result = RULES[name](NUMPY_OPS, planes_of(z))
        parts = [result.re, result.im] if isinstance(result, Planes) else [result]
        assert all(part.dtype in (np.float32, np.bool_) for part in parts), name


def test_native_special_values() -> None:
    """Vectors, their tails and single elements agree with NumPy, too."""
    z = grid()
    for name in ("exp", "sqrt", "log", "tanh", "acos", "atanh"):
        function = function_of(name, [z], lambda b, x, n=name: getattr(b, n)(x))
        (got,) = native(function, [z])
        with np.errstate(all="ignore"):
            assert not wrong(got, OPS[name].eval(z)).any(), name
