"""Constants in LLVM text, and arithmetic on them that need not be written."""

from __future__ import annotations

import struct

import numpy as np

_LIMIT = 1 << 63


def literal(value: float | int | bool, dtype: str) -> str:
    """A scalar constant's text, exact for floats."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype == "f16":
        return str(int(np.asarray(value, np.float16).view(np.int16)))
    if dtype[0] != "f":
        bits = int(dtype[1:])
        wrapped = int(value) & ((1 << bits) - 1)
        return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)
    if dtype == "f32":  # LLVM writes float constants as the double of the same value
        try:
            value = struct.unpack("<f", struct.pack("<f", float(value)))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"


def bytes_constant(name: str, data: bytes) -> str:
    """The definition of a constant array of `data`, aligned for vectors."""
    text = "\\" + data.hex("\\").upper() if data else ""
    return f'@{name} = internal constant [{len(data)} x i8] c"{text}", align 64'


def folded(op: str, x: str, y: str) -> str | None:
    """The text of what ``add``, ``sub`` or ``mul`` gives for two i64, None where that must be computed.

    Much of the address arithmetic of nests is with 0 and 1, all of which LLVM would have to read.

    >>> folded("mul", "%v1", "1")
    '%v1'
    """
    if x[0] == "%" and y[0] == "%":
        return None
    if x[0] != "%" and y[0] != "%":
        a, b = int(x), int(y)
        total = a * b if op == "mul" else a + b if op == "add" else a - b
        return str((total + _LIMIT) % (2 * _LIMIT) - _LIMIT)
    if op == "mul":
        if x == "0" or y == "0":
            return "0"
        return y if x == "1" else x if y == "1" else None
    if y == "0":
        return x
    return y if op == "add" and x == "0" else None
