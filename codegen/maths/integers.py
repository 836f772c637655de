"""Functions of integers, with NumPy's meaning for every operand: shifts, powers, set bits."""

from __future__ import annotations

from ..llvm.emitter import BITS, Emitter, Reg, suffix
from .support import any_lane


def _in_range(b: Emitter, count: Reg) -> Reg:
    unsigned = Reg(count.text, f"u{BITS[count.dtype]}", count.lanes)
    return b.lt(unsigned, BITS[count.dtype])


def shift_left(b: Emitter, x: Reg, count: Reg) -> Reg:
    """x << count; 0 where the count is negative or not less than the width."""
    fine = _in_range(b, count)
    return b.select(fine, b.shl(x, b.select(fine, count, 0)), 0)


def shift_right(b: Emitter, x: Reg, count: Reg) -> Reg:
    """x >> count; 0, or -1 for negative x, where the count is negative or not less than the width."""
    fine = _in_range(b, count)
    if x.is_signed:
        return b.shr(x, b.select(fine, count, BITS[x.dtype] - 1))
    return b.select(fine, b.shr(x, b.select(fine, count, 0)), 0)


def bitwise_count(b: Emitter, x: Reg) -> Reg:
    """The number of set bits of |x|, as u8."""
    magnitude = b.abs(x)
    name = f"llvm.ctpop.{suffix(x.dtype, x.lanes)}"
    return b.cast(b.call(name, x.dtype, x.lanes, magnitude), "u8")


def int_pow(b: Emitter, x: Reg, n: Reg) -> Reg:
    """x^n modulo 2^width, by an internal function that squares while some lane has exponent bits left.

    A negative exponent counts as the unsigned integer of its bits; callers that follow NumPy refuse it first.
    """
    name = f"tracejit.int_pow.{suffix(x.dtype, x.lanes)}"
    if name not in b.declarations:
        kind = x.type
        inner = Emitter(b.declarations)
        region = inner.begin_while([b.const(1, x), Reg("%x", x.dtype, x.lanes), Reg("%n", x.dtype, x.lanes)])
        total, base, left = region.carried
        odd = inner.ne(inner.and_(left, 1), 0)
        factor = inner.select(odd, base, 1)
        following = [inner.mul(total, factor), inner.mul(base, base), inner.lshr(left, 1)]
        inner.end_while(region, following, any_lane(inner, inner.ne(following[2], 0)))
        inner.ret(following[0])
        signature = f"internal {kind} @{name}({kind} %x, {kind} %n)"
        b.declarations[name] = inner.function(signature, "nounwind")
    return b.result_of(name, x.dtype, x.lanes, x, n)
