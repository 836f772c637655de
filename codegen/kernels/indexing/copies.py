"""Copies of memory that indexing kernels begin with or are made of."""

from __future__ import annotations

from typing import Final

from ....ir.graph import Value
from ....ir.registry import Kind
from ...llvm.emitter import Number, pointer
from ...llvm.loops import FunctionWriter
from ...lowering.lowering import Definitions

#: The reason why these kernels use no vectors.
COPIES_STRETCHES: Final = "it copies whole stretches of memory"


def copy_operand(w: FunctionWriter, nbytes: Number, source: str, target: str) -> None:
    """Copy unless both are the same memory."""
    if source == target:
        return
    differ = w.compute("icmp ne", "bool", 1, pointer(source), pointer(target))
    w.when(differ, lambda: w.copy(target, source, nbytes))


def copy_unless_empty(w: FunctionWriter, value: Value, defs: Definitions, source: str, target: str) -> None:
    """Copy `value` unless both are the same memory, or nothing was written to it."""
    definition = defs.get(value)
    if definition is None or definition.op.kind is not Kind.ALLOCATION:
        copy_operand(w, value.type.nbytes, source, target)


def copy_stretch(w: FunctionWriter, dtype: str, target: str, source: str, count: int) -> None:
    """Copy `count` elements."""
    if count == 1:
        memory = "u8" if dtype == "bool" else dtype
        w.store(w.load(source, memory), target)
    else:
        w.copy(target, source, count * (1 if dtype == "bool" else int(dtype[1:]) // 8))
