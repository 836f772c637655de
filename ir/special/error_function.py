"""erf and erfc as NumPy formulas, within 1 and 2.5 ulp in float64 (float32 is rounded from that).

The rational functions are those of fdlibm's s_erf.c, on the ranges |x| < 0.84375, < 1.25, < 1 / 0.35 and
beyond. A far value needs x^2 to more than 53 bits, so x is split into z, of half the bits, and the rest.
Small arrays take ``math``'s functions element by element, which are as exact, and quicker there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import FLOAT64

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

#: erf x = x + x P(x^2) / Q(x^2).
_NEAR_P: Final = (
    1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
    -5.77027029648944159157e-03, -2.37630166566501626084e-05,
)  # fmt: skip
_NEAR_Q: Final = (
    1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
    1.32494738004321644526e-04, -3.96022827877536812320e-06,
)  # fmt: skip
#: erf x = _AT_1 + P(|x| - 1) / Q(|x| - 1); _AT_1 is about erf 1, and has 24 bits.
_AT_1: Final = 8.45062911510467529297e-01
_MIDDLE_P: Final = (
    -2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
    3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
    -2.16637559486879084300e-03,
)  # fmt: skip
_MIDDLE_Q: Final = (
    1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
    1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02,
)  # fmt: skip
#: erfc x = exp(-x^2 - 0.5625 + P(1 / x^2) / Q(1 / x^2)) / x, below and from _FAR on.
_FAR_P: Final = (
    -9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01,
    -6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02,
    -8.12874355063065934246e01, -9.81432934416914548592e00,
)  # fmt: skip
_FAR_Q: Final = (
    1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02,
    6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02,
    6.57024977031928170135e00, -6.04244152148580987438e-02,
)  # fmt: skip
_END_P: Final = (
    -9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01,
    -1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03,
    -4.83519191608651397019e02,
)  # fmt: skip
_END_Q: Final = (
    1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03,
    3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02,
    -2.24409524465858183362e01,
)  # fmt: skip

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
    return x + x * _quotient(x * x, _NEAR_P, _NEAR_Q)


def _erf_middle(x: Array) -> Any:
    return np.copysign(_AT_1 + _quotient(np.abs(x) - 1.0, _MIDDLE_P, _MIDDLE_Q), x)


def _erf_far(x: Array) -> Any:
    return np.copysign(1.0 - _tail(np.abs(x), _FAR_P, _FAR_Q), x)


def _erf_end(x: Array) -> Any:
    return np.copysign(1.0 - _tail(np.abs(x), _END_P, _END_Q), x)


def _erfc_near(x: Array) -> Array:
    # 1 - (x + rest) would lose bits where erfc is far below 1
    return 0.5 - (x * _quotient(x * x, _NEAR_P, _NEAR_Q) + (x - 0.5))


def _erfc_middle(x: Array) -> Any:
    sign = np.copysign(1.0, x)
    return (1.0 - sign * _AT_1) - sign * _quotient(np.abs(x) - 1.0, _MIDDLE_P, _MIDDLE_Q)


def _erfc_far(x: Array) -> Any:
    return _reflected(_tail(np.abs(x), _FAR_P, _FAR_Q), x)


def _erfc_end(x: Array) -> Any:
    return _reflected(_tail(np.abs(x), _END_P, _END_Q), x)


def _reflected(tail: Array, x: Array) -> Any:
    """erfc of x, for the erfc of its absolute value: tail, or 2 - tail."""
    sign = np.copysign(1.0, x)
    return (1.0 - sign) + sign * tail


def _tail(x: Array, over: Sequence[float], under: Sequence[float]) -> Any:
    """erfc of x >= _MIDDLE."""
    x = np.minimum(x, _END)
    z = (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(FLOAT64)
    rest = (z - x) * (z + x) + _quotient(1.0 / (x * x), over, under)
    return np.exp(-z * z - 0.5625) * np.exp(rest) / x


def _quotient(x: Array, over: Sequence[float], under: Sequence[float]) -> Array:
    return _polynomial(x, over) / _polynomial(x, under)


def _polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Horner's rule, the constant term first, in one array."""
    total: Array = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total += coefficient
        total *= x
    total += coefficients[0]
    return total
