"""Atomic access to words that threads share."""

from __future__ import annotations

from ..llvm.emitter import Number, Reg
from .structs import Items
from .writer import NativeWriter, Pointer


def atomic_load(f: NativeWriter, word: Pointer, order: str = "seq_cst") -> Reg:
    """The value of a word."""
    dtype = _dtype(word)
    return f.assign(f"load atomic {dtype}, ptr {word.text} {order}, align {int(dtype[1:]) // 8}", dtype)


def atomic_store(f: NativeWriter, word: Pointer, value: Number) -> None:
    """Put a value into a word."""
    dtype = _dtype(word)
    f.line(f"store atomic {f.coerced(value, dtype)}, ptr {word.text} seq_cst, align {int(dtype[1:]) // 8}")


def atomic_add(f: NativeWriter, word: Pointer, value: int) -> Reg:
    """Add to a word; what it was before."""
    dtype = _dtype(word)
    return f.assign(f"atomicrmw add ptr {word.text}, {f.coerced(value, dtype)} seq_cst", dtype)


def compare_and_swap(f: NativeWriter, word: Pointer, old: Number, new: Number) -> Reg:
    """Put `new` into a word where it is `old`; whether it was."""
    dtype, pair = _dtype(word), f.fresh("pair")
    expected, value = f.coerced(old, dtype), f.coerced(new, dtype)
    f.line(f"{pair} = cmpxchg ptr {word.text}, {expected}, {value} seq_cst seq_cst")
    return f.assign(f"extractvalue {{ {dtype}, i1 }} {pair}, 1", "bool")


def _dtype(word: Pointer) -> str:
    assert isinstance(word.target, Items)
    assert isinstance(word.target.type, str)
    return word.target.type
