"""LLVM's values as the writers of code see them, and constants in LLVM text."""

from __future__ import annotations

import functools
import struct
from typing import Final, TypeAlias

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


LLVM_SCALAR: Final = {
    "bool": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "u8": "i8",
    "u16": "i16",
    "u32": "i32",
    "u64": "i64",
    "f16": "i16",  # its bits: see `half_conversions`
    "f32": "float",
    "f64": "double",
}
#: Bytes of an element of a type in memory.
MEMORY_BYTES: Final = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1, "ptr": 8}
BITS: Final = {name: 1 if name == "bool" else int(name[1:]) for name in LLVM_SCALAR}


class Reg:
    """An SSA value or constant of LLVM: its text, element dtype, and lanes (1 for a scalar).

    Values that are no elements of arrays have their LLVM type as dtype: pointers ``ptr``, masks ``i16``.
    """

    __slots__ = ("dtype", "lanes", "text")

    def __init__(self, text: str, dtype: str, lanes: int = 1) -> None:
        self.text = text
        self.dtype = dtype
        self.lanes = lanes

    @property
    def type(self) -> str:
        return llvm_type(self.dtype, self.lanes)

    @property
    def is_float(self) -> bool:
        return self.dtype[0] == "f"

    @property
    def is_signed(self) -> bool:
        return self.dtype[0] == "i"

    def __str__(self) -> str:
        return f"{llvm_type(self.dtype, self.lanes)} {self.text}"


Number: TypeAlias = "Reg | int | float | bool"


@functools.cache
def llvm_type(dtype: str, lanes: int = 1) -> str:
    """The LLVM type of `lanes` elements of `dtype`.

    >>> llvm_type("f32", 16)
    '<16 x float>'
    """
    scalar = LLVM_SCALAR.get(dtype, dtype)
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def memory_type(dtype: str) -> str:
    """The LLVM type of an element of `dtype` in memory: a bool is a byte there."""
    return "i8" if dtype == "bool" else LLVM_SCALAR.get(dtype, dtype)


def suffix(dtype: str, lanes: int = 1) -> str:
    """The mangled type at the end of an overloaded intrinsic's name, as ``v16f32``."""
    base = f"f{BITS[dtype]}" if dtype[0] == "f" else f"i{BITS[dtype]}"
    return base if lanes == 1 else f"v{lanes}{base}"


def constant(value: float | int | bool, dtype: str, lanes: int = 1) -> Reg:
    """A constant, splat over `lanes`."""
    # zeros of both signs are equal
    return _constant(value, dtype, lanes, str(value) if value == 0 else "")


@functools.lru_cache(maxsize=4096)
def _constant(value: float | int | bool, dtype: str, lanes: int, zero: str) -> Reg:
    text = literal(value, dtype)
    return Reg(text if lanes == 1 else f"splat ({LLVM_SCALAR.get(dtype, dtype)} {text})", dtype, lanes)


def pointer(text: str) -> Reg:
    """A pointer as an operand beside values."""
    return Reg(text, "ptr")
