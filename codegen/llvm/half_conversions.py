"""Conversions of float16, which lies in memory and registers as the integer of its bits.

Only conversions know half precision: a pass (`ir.passes.dtypes.widen_float16`) has written all arithmetic in
float32. Where the machine converts (F16C on x86-64, every AArch64), LLVM's ``half`` is the type for the one
instruction; elsewhere LLVM would call functions that the process may lack, so the bits are computed with.

All results are rounded once, ties to even; NaNs stay NaNs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .registers import Reg, constant, suffix

if TYPE_CHECKING:
    from .emitter import Emitter

#: Bits of the significand that float32 stores and float16 does not; and float64 beside float32.
_DROPPED_OF_32: Final = 13
_DROPPED_OF_64: Final = 29
_SIGN: Final = 0x8000
_INFINITY: Final = 0x7C00
_QUIET_NAN: Final = 0x7E00
#: Bits of float32: the smallest normal float16, and 2^16. Overflow to infinity begins below that.
_SMALLEST_NORMAL: Final = 0x38800000
_OVERFLOW: Final = 0x47800000
_INFINITY_OF_32: Final = 0x7F800000
#: (15 - 127) << 23: the difference of the exponents' biases.
_BIASES: Final = -112 << 23


def half_to_float(w: Emitter, x: Reg) -> Reg:
    """The f32 of an f16, exactly."""
    if w.declarations.half_conversions:
        return w.convert("fpext", w.convert("bitcast", x, "half"), "f32")
    bits = w.convert("zext", x, "i32")
    magnitude = w.and_(bits, _SIGN - 1)
    # exponent and significand in their places, 2^112 too small: that makes subnormals right, too
    shifted = w.bitcast(w.shl(magnitude, _DROPPED_OF_32), "f32")
    scaled = w.bits(w.exact("fmul", shifted, 2.0**112))
    special = w.select(w.ge(magnitude, _INFINITY), w.const(_INFINITY_OF_32, bits), 0)
    sign = w.shl(w.and_(bits, _SIGN), 16)
    return w.bitcast(w.or_(w.or_(scaled, special), sign), "f32")


def float_to_half(w: Emitter, x: Reg) -> Reg:
    """The f16 nearest to an f32."""
    if w.declarations.half_conversions:
        # the fence keeps LLVM from computing in half precision where the machine can, with products and sums
        # that are rounded together
        fenced = w.call(f"llvm.arithmetic.fence.{suffix('f32', x.lanes)}", "f32", x.lanes, x)
        half = w.convert("fptrunc", fenced, "half")
        return w.convert("bitcast", half, "f16")
    bits = w.bits(x)
    magnitude = w.and_(bits, 0x7FFFFFFF)
    # subnormal: added to 1/2, whose last place is that of the smallest float16, it is rounded by the machine
    small = w.sub(w.bits(w.exact("fadd", w.bitcast(magnitude, "f32"), 0.5)), 0x3F000000)
    odd = w.and_(w.lshr(magnitude, _DROPPED_OF_32), 1)
    rounded = w.add(w.add(magnitude, _BIASES + (1 << (_DROPPED_OF_32 - 1)) - 1), odd)
    normal = w.lshr(rounded, _DROPPED_OF_32)
    large = w.select(w.gt(magnitude, _INFINITY_OF_32), w.const(_QUIET_NAN, bits), _INFINITY)
    result = w.select(w.lt(magnitude, _SMALLEST_NORMAL), small, normal)
    result = w.select(w.ge(magnitude, _OVERFLOW), large, result)
    sign = w.and_(w.lshr(bits, 16), _SIGN)
    return w.convert("trunc", w.or_(result, sign), "f16")


def double_to_half(w: Emitter, x: Reg) -> Reg:
    """The f16 nearest to an f64, rounded once.

    What float32 drops leaves a trace in the last bit that it keeps ("rounding to odd", Boldo and Melquiond
    2008), so that the second rounding knows ties from what lies beside them. Results of float32 below its
    normal numbers are far below the smallest float16.
    """
    bits = w.bits(x)
    mask = constant((1 << _DROPPED_OF_64) - 1, "i64", x.lanes)
    # the sum carries into the last kept place unless all that is dropped is 0
    dropped = w.and_(w.add(w.and_(bits, mask), mask), w.not_(mask))
    odd = w.or_(w.and_(bits, w.not_(mask)), dropped)
    return float_to_half(w, w.convert("fptrunc", w.bitcast(odd, "f64"), "f32"))
