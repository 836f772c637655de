"""Keys as signed numbers in the order of the elements that they stand for."""

from __future__ import annotations

from typing import Final

from ...llvm.emitter import BITS, INT_OF, Emitter, Reg, constant

#: The number of NaNs with the sign bit set: all mantissas but 0.
_NEGATIVE_NANS: Final = {"f64": (1 << 52) - 1, "f32": (1 << 23) - 1}


def key_of(b: Emitter, x: Reg, *, merged: bool = False) -> Reg:
    """The key of `x`: larger for larger numbers, and largest for NaNs.

    With `merged`, equal numbers (0.0 and -0.0) and all NaNs have one key; else each has its own, from which
    `value_of` makes the number again.
    """
    key, sign = f"u{BITS[x.dtype]}", 1 << (BITS[x.dtype] - 1)
    if x.is_signed:
        return b.bitcast(b.xor(x, -sign), key)
    if not x.is_float:
        return x
    if merged:
        x = b.exact("fadd", x, 0.0)  # -0.0 becomes 0.0
    bits = b.bits(x)
    # sets the sign of what is positive, turns all bits of what is negative
    turned = b.bitcast(b.xor(bits, b.or_(b.shr(bits, BITS[x.dtype] - 1), -sign)), key)
    if merged:
        return b.select(b.isnan(x), constant(-1, key, x.lanes), turned)
    # negative NaNs, the lowest so far, go round to the highest
    return b.sub(turned, _NEGATIVE_NANS[x.dtype])


def value_of(b: Emitter, key: Reg, dtype: str) -> Reg:
    """The number of `dtype` whose key is `key`."""
    signed, sign = INT_OF.get(dtype, dtype), 1 << (BITS[dtype] - 1)
    if dtype[0] == "u":
        return key
    if dtype[0] == "i":
        return b.xor(b.bitcast(key, dtype), -sign)
    turned = b.bitcast(b.add(key, _NEGATIVE_NANS[dtype]), signed)
    bits = b.xor(turned, b.or_(b.not_(b.shr(turned, BITS[dtype] - 1)), -sign))
    return b.bitcast(bits, dtype)
