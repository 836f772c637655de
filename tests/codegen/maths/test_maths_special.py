"""Special values of the maths functions, and the functions that are exact, against NumPy bit by bit."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from .maths_harness import NATIVE, NUMPY, Array, compiled

FLOATS = ("f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
LANES = [(dtype, lanes) for dtype in FLOATS for lanes in (1, NATIVE[dtype])]
INTEGER_LANES = [(dtype, lanes) for dtype in INTEGERS for lanes in (1, 8)]


def interesting(dtype: str) -> Array:
    info = np.finfo(NUMPY[dtype])
    tiny = float(info.smallest_subnormal)
    values = [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e-3, tiny, 7 * tiny, float(info.tiny), float(info.max), np.inf]
    values += [float(np.nextafter(info.dtype.type(1), info.dtype.type(2))), 2.0**24, 2.0**24 - 1, 5.3]
    return np.array([*values, *(-value for value in values), np.nan], NUMPY[dtype])


def grid(dtype: str) -> tuple[Array, Array]:
    rows = np.array(list(product(interesting(dtype), repeat=2)), NUMPY[dtype])
    return np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])


def same(got: Array, expected: Array, *arguments: Array) -> None:
    """Equal, NaN where NaN is, and zeros of the same sign."""
    expected = np.asarray(expected)
    equal = (got == expected) & (np.signbit(got) == np.signbit(expected)) | (got != got) & (
        expected != expected
    )
    wrong = np.flatnonzero(~equal)[:5]
    assert wrong.size == 0, [
        (*(argument[i] for argument in arguments), "got", got[i], "expected", expected[i]) for i in wrong
    ]


INF, NAN, PI = math.inf, math.nan, math.pi
#: Arguments and the values that C99 (annex F) gives there, exactly or as the nearest float.
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (NAN, NAN), (1e30, INF), (-1e30, 0)],
    "exp2": [
        (0, 1),
        (10, 1024),
        (-126, 2.0**-126),
        (INF, INF),
        (-INF, 0),
        (NAN, NAN),
        (1e30, INF),
        (-1e30, 0),
    ],
    "expm1": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (NAN, NAN), (1e30, INF), (-1e30, -1)],
    "log": [(1, 0), (0, -INF), (-0.0, -INF), (-1, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "log2": [(1, 0), (8, 3), (2.0**-140, -140), (0, -INF), (-0.0, -INF), (-1, NAN), (INF, INF), (NAN, NAN)],
    "log10": [(1, 0), (10, 1), (1000, 3), (0, -INF), (-0.0, -INF), (-1, NAN), (INF, INF), (NAN, NAN)],
    "log1p": [(0, 0), (-0.0, -0.0), (-1, -INF), (-2, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "sin": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "cos": [(0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "tan": [(0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
    "asin": [(0, 0), (-0.0, -0.0), (1, PI / 2), (-1, -PI / 2), (2, NAN), (-2, NAN), (INF, NAN), (NAN, NAN)],
    "acos": [(1, 0), (0, PI / 2), (-1, PI), (2, NAN), (-2, NAN), (INF, NAN), (NAN, NAN)],
    "atan": [(0, 0), (-0.0, -0.0), (1, PI / 4), (INF, PI / 2), (-INF, -PI / 2), (NAN, NAN)],
    "sinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN), (1e30, INF), (-1e30, -INF)],
    "cosh": [(0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (NAN, NAN), (1e30, INF)],
    "tanh": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (NAN, NAN), (1e30, 1)],
    "asinh": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "acosh": [(1, 0), (0.5, NAN), (-3, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)],
    "atanh": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (2, NAN), (-2, NAN), (INF, NAN), (NAN, NAN)],
    "erf": [(0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (NAN, NAN), (7, 1), (-7, -1)],
    "erfc": [(0, 1), (-0.0, 1), (INF, 0), (-INF, 2), (NAN, NAN), (30, 0), (-7, 2)],
    "cbrt": [
        (0, 0),
        (-0.0, -0.0),
        (8, 2),
        (-27, -3),
        (INF, INF),
        (-INF, -INF),
        (NAN, NAN),
        (2.0**-126, 2.0**-42),
    ],
    "rsqrt": [(4, 0.5), (0, INF), (-0.0, -INF), (-1, NAN), (INF, 0), (NAN, NAN)],
    "reciprocal": [(4, 0.25), (0, INF), (-0.0, -INF), (INF, 0), (-INF, -0.0), (NAN, NAN)],
}


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
@pytest.mark.parametrize("method", SPECIAL)
def test_special_values(method: str, dtype: str, lanes: int) -> None:
    x, expected = (np.array(column, NUMPY[dtype]) for column in zip(*SPECIAL[method], strict=True))
    same(compiled(method, (dtype,), dtype, lanes)(x), expected, x)
    same(compiled(method, (dtype,), dtype, lanes, True, False)(x), expected, x)  # without tables in registers


ODD = ("expm1", "log1p", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("method", ODD)
def test_identity_for_denormals(method: str, dtype: str) -> None:
    x = np.ldexp(
        np.array([1, -3, 1023, 8191.0]), np.finfo(NUMPY[dtype]).minexp - np.finfo(NUMPY[dtype]).nmant
    )
    x = x.astype(NUMPY[dtype])
    for wide_tables in (None, False):
        same(compiled(method, (dtype,), dtype, NATIVE[dtype], True, wide_tables)(x), x, x)


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
@pytest.mark.parametrize(
    ("method", "numpy_name"),
    [("pow", "power"), ("atan2", "arctan2"), ("hypot", "hypot"), ("logaddexp", "logaddexp")],
)
def test_special_pairs(method: str, numpy_name: str, dtype: str, lanes: int) -> None:
    """Zeros, infinities and NaNs as NumPy has them; finite results within a few ulps."""
    x, y = grid(dtype)
    for wide_tables in (None, False):  # with tables in registers where there are any, and without
        got = compiled(method, (dtype, dtype), dtype, lanes, True, wide_tables)(x, y)
        _compare_with_numpy(method, numpy_name, got, x, y)


def _compare_with_numpy(method: str, numpy_name: str, got: Array, x: Array, y: Array) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(np, numpy_name)(x, y)
        # logaddexp cancels between its operands; their size is the measure there.
        size = np.maximum(abs(expected), np.fmax(abs(x), abs(y)) if method == "logaddexp" else 0)
        close = (
            abs(got - expected) <= 8 * np.finfo(x.dtype).eps * size + 4 * np.finfo(x.dtype).smallest_subnormal
        )
    finite = np.isfinite(expected) & (expected != 0) & close
    same(np.where(finite, expected, got), expected, x, y)


DIVIDING = ("fmod", "remainder", "floor_divide")
ORDERING = ("maximum", "minimum", "fmax", "fmin")


def reference(method: str, x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        result: Array = getattr(np, method)(x, y)
    return result


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
@pytest.mark.parametrize("method", [*DIVIDING, *ORDERING, "nextafter", "copysign", "heaviside"])
def test_exact_pairs(method: str, dtype: str, lanes: int) -> None:
    rng = np.random.default_rng(17)
    x, y = grid(dtype)
    count = 2000
    wild = rng.integers(0, 2**64, (2, count), np.uint64)
    words = wild if dtype == "f64" else (wild >> np.uint64(32)).astype(np.uint32)
    wild_floats = words.view(NUMPY[dtype])
    near = rng.uniform(-10, 10, (2, count)).astype(NUMPY[dtype])
    x, y = np.concatenate([x, wild_floats[0], near[0]]), np.concatenate([y, wild_floats[1], near[1]])
    got = compiled(method, (dtype, dtype), dtype, lanes)(x, y)
    expected = reference(method, x, y)
    if method in ORDERING:  # NumPy leaves the order of zeros open
        got, expected = np.where(got == 0, 0, got), np.where(expected == 0, 0, expected)
    same(got, expected, x, y)


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
def test_float_tests_and_sign(dtype: str, lanes: int) -> None:
    x = interesting(dtype)
    for method in ("isinf", "isfinite", "signbit"):
        np.testing.assert_array_equal(compiled(method, (dtype,), "bool", lanes)(x), getattr(np, method)(x))
    same(compiled("sign", (dtype,), dtype, lanes)(x), np.sign(x), x)
    with np.errstate(all="ignore"):
        same(compiled("square", (dtype,), dtype, lanes)(x), np.square(x), x)


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
@pytest.mark.parametrize("count", ["i32", "i64"])
def test_ldexp(dtype: str, lanes: int, count: str) -> None:
    rng = np.random.default_rng(3)
    powers = [0, 1, -1, 5, -5, 23, -24, 127, 128, -126, -149, -150, 300, 1023, -1074, -1100, 2097]
    powers += [2**31 - 1, -(2**31)]
    x = np.concatenate([interesting(dtype), rng.uniform(1, 2, 20).astype(NUMPY[dtype])])
    rows = list(product(x, powers))
    x, n = np.array([row[0] for row in rows], NUMPY[dtype]), np.array([row[1] for row in rows], NUMPY[count])
    got = compiled("ldexp", (dtype, count), dtype, lanes)(x, n)
    with np.errstate(all="ignore"):
        same(got, np.ldexp(x, n), x, n)


def integers(dtype: str) -> tuple[Array, Array]:
    info = np.iinfo(NUMPY[dtype])
    edges = [0, 1, 2, 3, 5, 7, 8, 13, 31, 32, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
    edges += [-1, -2, -7, -64] if info.min < 0 else []
    rng = np.random.default_rng(5)
    rows = np.array(list(product(edges, repeat=2)), object)
    extra = rng.integers(info.min, info.max, (300, 2), NUMPY[dtype], endpoint=True)
    both = np.concatenate([rows.astype(NUMPY[dtype]), extra])
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


@pytest.mark.parametrize(("dtype", "lanes"), INTEGER_LANES)
@pytest.mark.parametrize("method", [*DIVIDING, *ORDERING])
def test_integer_pairs(method: str, dtype: str, lanes: int) -> None:
    x, y = integers(dtype)
    got = compiled(method, (dtype, dtype), dtype, lanes)(x, y)
    np.testing.assert_array_equal(got, reference(method, x, y))


@pytest.mark.parametrize(("dtype", "lanes"), LANES)
def test_spacing(dtype: str, lanes: int) -> None:
    x = interesting(dtype)
    with np.errstate(all="ignore"):
        same(compiled("spacing", (dtype,), dtype, lanes)(x), np.spacing(x), x)


@pytest.mark.parametrize(("dtype", "lanes"), INTEGER_LANES)
def test_shifts(dtype: str, lanes: int) -> None:
    x, y = integers(dtype)
    for method, function in (("shift_left", np.left_shift), ("shift_right", np.right_shift)):
        np.testing.assert_array_equal(compiled(method, (dtype, dtype), dtype, lanes)(x, y), function(x, y))


@pytest.mark.parametrize(("dtype", "lanes"), INTEGER_LANES)
def test_integer_powers_signs_and_squares(dtype: str, lanes: int) -> None:
    x, y = integers(dtype)
    n = np.abs(y.astype(object)).astype(np.uint64).astype(NUMPY[dtype])
    x, n = x[n >= 0], n[n >= 0]
    np.testing.assert_array_equal(compiled("int_pow", (dtype, dtype), dtype, lanes)(x, n), np.power(x, n))
    np.testing.assert_array_equal(compiled("sign", (dtype,), dtype, lanes)(x), np.sign(x))
    np.testing.assert_array_equal(compiled("square", (dtype,), dtype, lanes)(x), np.square(x))
    np.testing.assert_array_equal(compiled("signbit", (dtype,), "bool", lanes)(x), x < 0)
    assert not compiled("isinf", (dtype,), "bool", lanes)(x).any()
    assert compiled("isfinite", (dtype,), "bool", lanes)(x).all()


@pytest.mark.parametrize("lanes", [1, 16])
def test_bools(lanes: int) -> None:
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    pairs: dict[str, Any] = {"maximum": x | y, "minimum": x & y, "fmax": x | y, "fmin": x & y}
    for method, expected in pairs.items():
        np.testing.assert_array_equal(compiled(method, ("bool", "bool"), "bool", lanes)(x, y), expected)
