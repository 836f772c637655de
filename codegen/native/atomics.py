"""Atomic access to words that threads share."""

from __future__ import annotations

from ..llvm.emitter import Number, Reg
from ..llvm.operations import Load, Store
from .pointers import Pointer
from .structs import Items
from .writer import NativeWriter


def atomic_load(f: NativeWriter, word: Pointer, order: str = "seq_cst") -> Reg:
    """The value of a word."""
    dtype = _dtype(word)
    value = Load(f.fresh(), dtype, 1, word.text, int(dtype[1:]) // 8, order)
    f.operations.append(value)
    return value


def atomic_store(f: NativeWriter, word: Pointer, value: Number) -> None:
    """Put a value into a word."""
    dtype = _dtype(word)
    f.operations.append(Store(f.coerced(value, dtype), word.text, int(dtype[1:]) // 8, order="seq_cst"))


def atomic_add(f: NativeWriter, word: Pointer, value: int) -> Reg:
    """Add to a word; returns its value before."""
    return f.update("add", word.text, f.coerced(value, _dtype(word)))


def compare_and_swap(f: NativeWriter, word: Pointer, old: Number, new: Number) -> Reg:
    """Put `new` into a word where it is `old`; whether it was."""
    dtype = _dtype(word)
    return f.compare_exchange(word.text, f.coerced(old, dtype), f.coerced(new, dtype))


def _dtype(word: Pointer) -> str:
    assert isinstance(word.target, Items)
    assert isinstance(word.target.type, str)
    return word.target.type
