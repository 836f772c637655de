"""pow with tables in AVX-512's registers: exp2(y log2 |x|), the logarithm as a double word.

log2 |x| is good to about 2^-34 in f32 and 2^-63 in f64. Negative x, and results that are or nearly are
infinite or 0, are left to a function that is called where some lane needs it.
"""

from __future__ import annotations

from typing import Final

from ...llvm.emitter import Emitter, Reg
from ..bases import BINARY
from ..exponential import exp2_wide
from ..support import INFINITY, NAN, declared, muladd, polynomial, rarely, two_product, two_sum
from ..tables import logarithms
from . import lookup
from .logarithm import cell

#: `wide.significand`'s selection: 3/4 <= m < 3/2, of |x|.
SIZE_IN_THE_MIDDLE: Final = 3 + 4
#: Argument from which 2^t is infinite, and below its negative 0.
LIMIT: Final = {"f32": 192.0, "f64": 1200.0}


def _log2(b: Emitter, x: Reg) -> tuple[Reg, Reg]:
    """log2 |x| as a double word; the upper one infinite where x is 0 or infinite."""
    dtype = x.dtype
    m = lookup.significand(b, x, SIZE_IN_THE_MIDDLE)
    e = b.exact("fsub", lookup.exponent(b, x), lookup.exponent(b, m))
    index = cell(b, m)
    c, high, low = (
        lookup.lookup(b, table[dtype], index, dtype)
        for table in (
            logarithms.SHORT_INVERSES,
            logarithms.SHORT_LOGS,
            logarithms.SHORT_LOGS_LOW,
        )
    )
    f = b.fma(m, c, b.const(-1.0, m))  # exact
    minus_half = b.mul(f, -0.5)
    bent = b.fma(minus_half, f, f)
    bent_low = b.fma(minus_half, f, b.exact("fsub", f, bent))
    cube = b.mul(b.mul(f, f), f)
    bent_low = muladd(b, cube, polynomial(b, f, logarithms.SHORT_SERIES[dtype]), bent_low)
    near, near_low = two_product(b, bent, BINARY.e_high[dtype])
    near_low = muladd(b, bent, BINARY.e_low[dtype], near_low)
    near_low = muladd(b, bent_low, BINARY.e_high[dtype], near_low)
    total, lost = two_sum(b, b.exact("fadd", e, high), near)
    return total, b.add(b.add(lost, low), near_low)


def unsigned_zero(b: Emitter, x: Reg, y: Reg, y_low: Reg) -> Reg:
    """`x`, of which -0.0 is 0.0 where `y` is a whole number by rounding `y_low` off."""
    rounded = b.and_(b.ne(y_low, 0.0), b.lt(b.abs(y), 2.0**22))
    return b.select(rounded, b.exact("fadd", x, 0.0), x)


def special(b: Emitter, common: Reg, x: Reg, y: Reg, t: Reg, y_low: Reg | None = None) -> Reg:
    """x^y as C99, annex F.10.4.4, has it; `common` is |x|^y where |t| is below the limit."""
    x = x if y_low is None else unsigned_zero(b, x, y, y_low)
    far = b.select(b.gt(t, 0.0), b.const(INFINITY, t), 0.0)
    # t is NaN where an operand is, and for infinity times 0, which stands for 1.
    value = b.select(b.lt(b.abs(t), LIMIT[t.dtype]), common, b.select(b.isnan(t), b.const(1.0, t), far))
    integer = b.eq(b.trunc(y), y)
    half = b.mul(y, 0.5)
    odd = b.and_(integer, b.ne(b.trunc(half), half))
    undefined = b.and_(b.and_(b.lt(x, 0.0), b.gt(x, -INFINITY)), b.not_(integer))
    value = b.select(undefined, b.const(NAN, x), value)
    value = b.select(b.and_(b.lt(b.bits(x), 0), odd), b.neg(value), value)
    unordered = b.unordered(x, y)
    value = b.select(unordered, b.const(NAN, x), value)
    return b.select(b.or_(b.eq(y, 0.0), b.eq(x, 1.0)), b.const(1.0, x), value)


def unchecked(b: Emitter, x: Reg, y: Reg, y_low: Reg | None) -> tuple[Reg, Reg]:
    """|x|^(y + y_low) where the logarithm to base 2 of that is below the limit, and that logarithm."""
    high, low = _log2(b, x)
    t, t_low = two_product(b, y, high)
    t_low = muladd(b, y, low, t_low)
    if y_low is not None:
        t_low = muladd(b, y_low, high, t_low)
    return exp2_wide(b, t, t_low), t


def pow(b: Emitter, x: Reg, y: Reg) -> Reg:
    """x^y, within 1.2 ulp in f32, 1.8 in f64."""
    common, t = unchecked(b, x, y, None)
    usual = b.and_(b.lt(b.abs(t), LIMIT[x.dtype]), b.ge(x, 0.0))
    args = (common, x, y, t)
    return rarely(b, b.not_(usual), declared(b, "tracejit.pow_special", special, *args), *args)
