"""Integer shifts and powers with NumPy's meaning for every operand."""

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
        inner.lines.append("start:")
        inner.line("br label %loop")
        inner.lines.append("loop:")
        inner.line(f"%total = phi {kind} [ {b.const(1, x).text}, %start ], [ %nexttotal, %loop ]")
        inner.line(f"%base = phi {kind} [ %x, %start ], [ %nextbase, %loop ]")
        inner.line(f"%left = phi {kind} [ %n, %start ], [ %nextleft, %loop ]")
        total, base, left = (Reg(one, x.dtype, x.lanes) for one in ("%total", "%base", "%left"))
        odd = inner.ne(inner.and_(left, 1), 0)
        factor = inner.select(odd, base, 1)
        inner.line(f"%nexttotal = mul {total}, {factor.text}")
        inner.line(f"%nextbase = mul {base}, {base.text}")
        inner.line(f"%nextleft = lshr {left}, {b.const(1, x).text}")
        more = any_lane(inner, inner.ne(Reg("%nextleft", x.dtype, x.lanes), 0))
        inner.line(f"br i1 {more.text}, label %loop, label %out")
        inner.lines.append("out:")
        inner.line(f"ret {kind} %nexttotal")
        head = f"define internal {kind} @{name}({kind} %x, {kind} %n) nounwind {{"
        b.declarations[name] = "\n".join([head, *inner.lines, "}"])
    return b.assign(f"call {x.type} @{name}({x}, {n})", x.dtype, x.lanes)
