"""LLVM's values as the writers of code see them: a text, an element dtype, a number of lanes."""

from __future__ import annotations

import functools
from typing import Final, TypeAlias

from .literals import literal

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
    return Reg(text if lanes == 1 else f"splat ({LLVM_SCALAR[dtype]} {text})", dtype, lanes)


def pointer(text: str) -> Reg:
    """A pointer as an operand beside values."""
    return Reg(text, "ptr")
