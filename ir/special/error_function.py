"""erf and erfc as NumPy formulas, within 1 and 2.5 ulp in float64 (float32 is rounded from that).

The rational functions are those of fdlibm's s_erf.c, on the ranges |x| < 0.84375, < 1.25, < 1 / 0.35 and
beyond. A far value needs x^2 to more than 53 bits, so x is split into z, of half the bits, and the rest.
Small arrays take ``math``'s functions element by element, which are as exact, and quicker there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...base.loading import LazyModule
from ..dtypes import FLOAT64

if TYPE_CHECKING:
    from . import coefficients
else:
    coefficients = LazyModule(".coefficients", __package__)

Array = np.ndarray[Any, Any]

#: Most elements for which Python's loop over them is faster than NumPy's calls.
_FEW: Final = 512
#: Elements that are computed at a time, so that intermediate arrays stay in the cache.
_BLOCK: Final = 1 << 14
_NEAR: Final = 0.84375
_MIDDLE: Final = 1.25
_FAR: Final = 1 / 0.35
#: erf is 1 from 6 on; erfc is 0 from here on.
_END: Final = 28.0

_each_erf: Final = np.frompyfunc(math.erf, 1, 1)
_each_erfc: Final = np.frompyfunc(math.erfc, 1, 1)


def erf(x: Any, dtype: Any) -> Array:
    """The error function of `x` as an array of `dtype`."""
    return _by_ranges(np.asarray(x), dtype, _each_erf, _erf_near, _erf_middle, _erf_far, _erf_end)


def erfc(x: Any, dtype: Any) -> Array:
    """1 - erf of `x`, without cancellation, as an array of `dtype`."""
    return _by_ranges(np.asarray(x), dtype, _each_erfc, _erfc_near, _erfc_middle, _erfc_far, _erfc_end)


def exp_of_minus_square(b: Any, x: Any) -> Any:
    """e^(-x^2), written with the namespace `b`: where it is 0 its derivatives are, and not 0 times the
    derivative 2 x of the square, which may be infinite."""
    return b.exp(b.neg(b.square(b.where(b.gt(b.abs(x), 64.0), 64.0, x))))


def _by_ranges(x: Array, dtype: Any, each: Any, *formulas: Callable[[Array], Array]) -> Array:
    """The formula of its range for each element of `x`."""
    if x.size <= _FEW:
        return np.asarray(each(x)).astype(dtype)
    result = np.empty(x.shape, dtype)
    flat, values = np.ravel(x), result.reshape(-1)
    with np.errstate(all="ignore"):
        for begin in range(0, flat.size, _BLOCK):
            part = flat[begin : begin + _BLOCK].astype(FLOAT64)
            size = np.abs(part)
            above, far, end = size >= _NEAR, size >= _MIDDLE, ~(size < _FAR)  # NaN is at the end
            out = np.empty_like(part)
            for mask, formula in zip((~(above | end), above ^ far, far & ~end, end), formulas, strict=True):
                where = np.flatnonzero(mask)  # several times as quick as masks, which branches depend on
                if where.size:
                    out[where] = formula(part.take(where))
            values[begin : begin + _BLOCK] = out
    return result


def _erf_near(x: Array) -> Any:
    return x + x * _quotient(x * x, "NEAR")


def _erf_middle(x: Array) -> Any:
    return np.copysign(_at_1() + _quotient(np.abs(x) - 1.0, "MIDDLE"), x)


def _erf_far(x: Array) -> Any:
    return np.copysign(1.0 - _tail(np.abs(x), "FAR"), x)


def _erf_end(x: Array) -> Any:
    return np.copysign(1.0 - _tail(np.abs(x), "END"), x)


def _erfc_near(x: Array) -> Array:
    # 1 - (x + rest) would lose bits where erfc is far below 1
    return 0.5 - (x * _quotient(x * x, "NEAR") + (x - 0.5))


def _erfc_middle(x: Array) -> Any:
    sign = np.copysign(1.0, x)
    return (1.0 - sign * _at_1()) - sign * _quotient(np.abs(x) - 1.0, "MIDDLE")


def _erfc_far(x: Array) -> Any:
    return _reflected(_tail(np.abs(x), "FAR"), x)


def _erfc_end(x: Array) -> Any:
    return _reflected(_tail(np.abs(x), "END"), x)


def _reflected(tail: Array, x: Array) -> Any:
    """erfc of x, for the erfc of its absolute value: tail, or 2 - tail."""
    sign = np.copysign(1.0, x)
    return (1.0 - sign) + sign * tail


def _tail(x: Array, part: str) -> Any:
    """erfc of x >= _MIDDLE, by the quotient of its `part`."""
    x = np.minimum(x, _END)
    z = (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(FLOAT64)
    rest = (z - x) * (z + x) + _quotient(1.0 / (x * x), part)
    return np.exp(-z * z - 0.5625) * np.exp(rest) / x


def _quotient(x: Array, part: str) -> Array:
    """P(x) / Q(x), with the tables of a `part` of the line."""
    tables = coefficients.error_function
    return _polynomial(x, getattr(tables, f"{part}_P")) / _polynomial(x, getattr(tables, f"{part}_Q"))


def _at_1() -> float:
    """A number of 24 bits that is about erf 1."""
    return coefficients.error_function.AT_1  # type: ignore[no-any-return]


def _polynomial(x: Array, numbers: Sequence[float]) -> Array:
    """Horner's rule, the constant term first, in one array."""
    total: Array = x * numbers[-1]
    for coefficient in numbers[-2:0:-1]:
        total += coefficient
        total *= x
    total += numbers[0]
    return total
