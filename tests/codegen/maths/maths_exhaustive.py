"""Every float32 through one maths function: ``python -m tests.codegen.maths.maths_exhaustive [METHOD ...]``.

The truth is NumPy's function of the same number in float64, whose error of about one ulp is 2^-29 of one in
float32. `test_maths_exhaustive.py` compares with the stated bounds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tracejit.ir.special.error_function import erf, erfc

from .maths_harness import NATIVE, Array, compiled

#: Each function of float32, in float64.
IN_DOUBLE: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sech_squared": lambda x: 4 * np.exp(-2 * np.abs(x)) / (1 + np.exp(-2 * np.abs(x))) ** 2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": lambda x: erf(x, np.float64),
    "erfc": lambda x: erfc(x, np.float64),
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": np.reciprocal,
}
#: Functions whose result for -x is minus that for x, or the same, which the code makes by setting the sign:
#: half of the floats will do.
SYMMETRIC = frozenset(
    ("sin", "cos", "tan", "asin", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "erf", "cbrt")
)
_BLOCK = 1 << 20
_DOUBLES = 1 << 17
_SIGN = 0x80000000
#: Sizes from the first to the second, every so many floats.
Range = tuple[float, float, int]


def floats(symmetric: bool, ranges: Sequence[Range]) -> Iterator[Array]:
    """The floats of `ranges` in blocks, of both signs unless `symmetric`; the ends too."""
    for low, high, step in ranges:
        first, last = np.array([low, high], np.float32).view(np.uint32).tolist()
        for sign in (0,) if symmetric else (0, _SIGN):
            for start in range(first, last + 1, _BLOCK * step):
                stop = min(start + _BLOCK * step, last + 1)
                block = np.arange(sign + start, sign + stop, step, np.uint32).view(np.float32)
                yield np.append(block, np.float32(-high if sign else high)) if stop > last else block


def errors(got: Array, truth: Array) -> Array:
    """|got - truth| in ulps of the float32 result; infinite where only one is NaN or infinite.

    As `ulp_errors`: beyond the largest float an infinity has no error.
    """
    bits = np.abs(truth).view(np.int64) >> 52
    unit = ((np.maximum(bits, 1023 - 126) - 23) << 52).view(np.float64)
    distances: Array = np.abs(got - truth) / unit
    finite = np.isfinite(got) & np.isfinite(truth)
    if not finite.all():
        both_nan = np.isnan(got) & np.isnan(truth)
        top = float(np.finfo(np.float32).max)
        overflow = np.isinf(got) & (np.abs(truth) > top) & (np.signbit(got) == np.signbit(truth))
        distances[~finite] = np.where((both_nan | overflow)[~finite], 0.0, np.inf)
    return distances


def worst(
    method: str, wide_tables: bool | None = None, ranges: Sequence[Range] = ((0.0, math.inf, 1),)
) -> tuple[float, float]:
    """The largest error in ulps over the floats of `ranges`, and where it is."""
    function = compiled(method, ("f32",), "f32", NATIVE["f32"], True, wide_tables)
    largest_error, where = 0.0, math.nan
    with np.errstate(all="ignore"):
        for x in floats(method in SYMMETRIC, ranges):
            some = errors(function(x).astype(np.float64), IN_DOUBLE[method](x.astype(np.float64)))
            largest = int(np.argmax(some))
            if some[largest] > largest_error:
                largest_error, where = float(some[largest]), float(x[largest])
    return largest_error, where


def worst_of_doubles(
    method: str, wide_tables: bool | None, ranges: Sequence[tuple[float, float]], count: int
) -> tuple[float, float]:
    """The largest error in ulps of `count` float64 in each range, and where it is; the truth is NumPy's
    function of a long double with 11 bits more."""
    function = compiled(method, ("f64",), "f64", NATIVE["f64"], True, wide_tables)
    rng = np.random.default_rng(count)
    largest_error, where = 0.0, math.nan
    for low, high in ranges:
        for _ in range(-(-count // _DOUBLES)):
            x = rng.uniform(low, high, min(count, _DOUBLES))
            truth = IN_DOUBLE[method](x.astype(np.longdouble))
            exponent = np.frexp(truth)[1]
            some = (np.abs(function(x) - truth) / np.ldexp(np.longdouble(1), exponent - 53)).astype(
                np.float64
            )
            largest = int(np.argmax(some))
            if some[largest] > largest_error:
                largest_error, where = float(some[largest]), float(x[largest])
    return largest_error, where


def main() -> None:
    """Print the largest errors of the methods that are named, or of all."""
    for method in sys.argv[1:] or IN_DOUBLE:
        for wide_tables in (None, False):
            error, where = worst(method, wide_tables)
            print(f"{method:12} {'narrow' if wide_tables is False else 'native':8} {error:.4f} at {where!r}")


if __name__ == "__main__":
    main()
