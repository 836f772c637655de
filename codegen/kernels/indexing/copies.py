"""Copies of memory that indexing kernels begin with or are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....ir.graph import Value
from ....ir.registry import Kind
from ...llvm.emitter import Number, Reg, pointer
from ...llvm.loops import Bound, FunctionWriter
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


def over_stretches(
    w: FunctionWriter,
    dtype: str,
    axes: Sequence[tuple[int, int, int]],
    places: tuple[str, str],
    move: Callable[[str, str], None],
    tasks: tuple[Bound, Bound] | None = None,
) -> None:
    """Call `move` with the places of each stretch of two arrays, in loops over `axes`: sizes, and how far
    apart elements are in each array. The first loop is over `tasks`, where there are any."""
    if not axes:
        move(*places)
        return
    (size, *distances), *inner = axes

    def body(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        first, second = [
            w.offset(place, dtype, w.mul(index, distance))
            for place, distance in zip(places, distances, strict=True)
        ]
        over_stretches(w, dtype, inner, (first, second), move)
        return ()

    if tasks is None:
        w.loop(0, size, 1, body)
    else:
        w.loop(*tasks, 1, body, nonempty=True)
