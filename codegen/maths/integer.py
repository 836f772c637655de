"""Integer shifts and powers with NumPy's meaning for every operand."""

from __future__ import annotations

from ..llvm.emitter import BITS, Emitter, Reg, suffix
from ..llvm.operations import Compute, Phi
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
        inner.branch("loop")
        inner.start("loop")
        total, base, left, new_total, new_base, new_left = (
            Reg(f"%{text}", x.dtype, x.lanes)
            for text in ("total", "base", "left", "nexttotal", "nextbase", "nextleft")
        )
        first = (b.const(1, x).text, "%x", "%n")
        for phi, start, new in zip((total, base, left), first, (new_total, new_base, new_left), strict=True):
            inner.operations.append(Phi(phi, [(start, "start"), (new.text, "loop")]))
        odd = inner.ne(inner.and_(left, 1), 0)
        factor = inner.select(odd, base, 1)
        inner.operations += [
            Compute(new_total.text, x.dtype, x.lanes, "mul", (total, factor)),
            Compute(new_base.text, x.dtype, x.lanes, "mul", (base, base)),
            Compute(new_left.text, x.dtype, x.lanes, "lshr", (left, b.const(1, x))),
        ]
        inner.branch_if(any_lane(inner, inner.ne(new_left, 0)), "loop", "out")
        inner.start("out")
        inner.ret(new_total)
        signature = f"internal {kind} @{name}({kind} %x, {kind} %n)"
        b.declarations[name] = inner.function(signature, "nounwind", entry="start")
    return b.result_of(name, x.dtype, x.lanes, x, n)
