"""Special values through jitted functions, in every width of vectors and in tails: as NumPy has them."""

from __future__ import annotations

import numpy as np

import tracejit as tj

from ..narrow import narrower, run_narrow
from .maths_harness import Array

UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sqrt", "cbrt", "reciprocal",
    "square", "sign", "floor", "ceil", "trunc", "rint", "absolute", "negative", "isnan", "isinf",
    "isfinite", "signbit", "spacing",
)  # fmt: skip
BINARY = (
    "power", "arctan2", "hypot", "logaddexp", "remainder", "fmod", "floor_divide", "maximum", "minimum",
    "fmax", "fmin", "copysign", "nextafter", "heaviside", "add", "subtract", "multiply", "divide",
    "less", "equal",
)  # fmt: skip
#: NumPy leaves the order of zeros open.
ORDERING = ("maximum", "minimum", "fmax", "fmin")


def special(dtype: type) -> Array:
    """Zeros, ones, halves, small and large floats, infinities, of either sign, and NaN: 47 of them."""
    info = np.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    values = [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e-3, tiny, 7 * tiny, float(info.tiny), float(info.max), np.inf]
    values += [
        float(np.nextafter(dtype(1), dtype(2))),
        2.0**24,
        2.0**53,
        5.3,
        0.9999999,
        np.pi / 2,
        1e5,
        1e30,
    ]
    values += [88.0, 710.0, 1 / 3]
    return np.array([*values, *(-value for value in values), np.nan], dtype)


def compare(name: str, got: Array, expected: Array, *arguments: Array) -> None:
    """Compare dtypes; infinities, NaN, zeros and their signs exactly; and other values to 8 ulps."""
    assert got.dtype == expected.dtype, name
    if expected.dtype == np.bool_:
        np.testing.assert_array_equal(got, expected, err_msg=name)
        return
    info = np.finfo(expected.dtype)
    size = np.abs(expected)
    if name == "logaddexp":
        size = np.maximum(size, np.fmax(*map(np.abs, arguments)))
    near = np.isfinite(expected) & (
        np.abs(got - expected) <= 8 * info.eps * size + 4 * info.smallest_subnormal
    )
    signs = (np.signbit(got) == np.signbit(expected)) | (name in ORDERING)
    same = np.where(expected == 0, (got == 0) & signs, (got == expected) | near) | (
        np.isnan(got) & np.isnan(expected)
    )
    wrong = np.flatnonzero(~same)[:4]
    assert wrong.size == 0, [
        (name, *(argument[i] for argument in arguments), got[i], expected[i]) for i in wrong
    ]


def check(length: int) -> None:
    """All functions on all special values, `length` at a time, and all at once."""
    with np.errstate(all="ignore"):
        for dtype in (np.float32, np.float64):
            values = special(dtype)
            pairs = np.repeat(values, values.size), np.tile(values, values.size)
            for names, arguments in ((UNARY, (values,)), (BINARY, pairs)):
                f = tj.jit(lambda *xs, names=names: tuple(getattr(tj, name)(*xs) for name in names))
                count = arguments[0].size
                for step in (count, length):
                    for start in range(0, count - step + 1, step):
                        some = tuple(argument[start : start + step] for argument in arguments)
                        for name, result in zip(names, f(*map(tj.tensor, some)), strict=True):
                            compare(name, np.asarray(result), getattr(np, name)(*some), *some)


def test_special_values() -> None:
    check(9)


@narrower
def test_special_values_in_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(
        "from tests.codegen.maths.test_maths_tails import check\ncheck(7)\nprint('fine')", features, bits
    )
