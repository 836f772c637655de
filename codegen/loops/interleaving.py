"""Interleaving of independent copies of a loop's body, instruction by instruction.

The copies that an unrolled body has, for vectors side by side, do not depend on each other, but each is one
long chain of instructions that do. Behind one another they fill the processor's schedulers with instructions
that wait; in turn there is always one that can run. An exponential and its sum take 15 % fewer cycles so on
Zen 5. LLVM keeps the order that it gets here, because its scheduler weighs registers alone.

Copies take turns as far as their values fit the registers: all, halves of them, or none. With AVX-512 these
may be twice as many: what does not fit is loaded beside the arithmetic, as tables are, and costs less than
waiting does. On a Xeon (Cascade Lake), erfc of f64 takes 0.8 of the time by all of its four copies, log_expit
0.75, each of some 10 values, arcsinh of f32 and f64 0.8, erfc and ndtr of f32 0.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..llvm.control_operations import Origins
from ..llvm.loops import FunctionWriter
from ..llvm.operations import (
    Arrange,
    Clear,
    Compute,
    Convert,
    Copy,
    FunctionCall,
    Load,
    MaskedAccess,
    Offset,
    Operation,
    Store,
)

#: Most vectors of copies that may be live at a time, without and with AVX-512.
_VECTORS: Final = (16, 64)
#: Operations that may change places with those of other copies.
_MOVABLE: Final = (Arrange, Compute, Convert, FunctionCall, Load, Offset, Origins, Store)


def side_by_side(w: FunctionWriter, copies: int, write: Callable[[int], None], held: int = 0) -> None:
    """``write(copy)`` for each of some `copies` of a body, which take turns if they are independent. Each has
    `held` vectors from one iteration to the next, too."""
    if copies == 1:
        return write(0)
    parts: list[list[Operation]] = []
    for copy in range(copies):
        start = len(w.operations)
        write(copy)
        parts.append(w.operations[start:])
        del w.operations[start:]
    w.operations += interleaved(parts, _VECTORS[w.wide_tables] - held * copies)


def interleaved(copies: Sequence[Sequence[Operation]], vectors: int) -> list[Operation]:
    """The operations of `copies`, which are written one after the other, in the order in which a machine with
    room for so many `vectors` runs them best. `Origins` stay true."""
    together = len(copies)
    if together > 1 and independent(copies):
        live = max(map(live_vectors, copies))
        while together > 1 and live * together > vectors:
            together //= 2
    else:
        together = 1
    merged: list[Operation] = []
    for start in range(0, len(copies), together):
        merged += in_turn(copies[start : start + together])
    return merged


def independent(copies: Sequence[Sequence[Operation]]) -> bool:
    """Whether no copy reads what another one writes, and none has control flow or calls functions."""
    defined: dict[str, int] = {}
    stored: dict[str, int] = {}
    pointers: list[tuple[str, int]] = []
    for number, copy in enumerate(copies):
        for operation in copy:
            if not isinstance(operation, _MOVABLE) or isinstance(operation, (Clear, Copy, MaskedAccess)):
                return False
            if isinstance(operation, FunctionCall) and not operation.callee.startswith("@llvm."):
                return False
            for text in operation.operands():
                if defined.get(text, number) != number:
                    return False
            if operation.result is not None:
                defined[operation.result.text] = number
            if isinstance(operation, (Load, Store)):
                pointers.append((operation.pointer, number))
                if isinstance(operation, Store):
                    stored.setdefault(operation.pointer, number)
    return not stored or all(stored.get(pointer, number) == number for pointer, number in pointers)


def live_vectors(operations: Sequence[Operation]) -> int:
    """Number of vectors that `operations` define and that are live at a time, at the most."""
    last = {text: place for place, operation in enumerate(operations) for text in operation.operands()}
    ends: dict[int, int] = {}
    live = most = 0
    for place, operation in enumerate(operations):
        live -= ends.pop(place, 0)
        result = operation.result
        if result is not None and result.lanes > 1 and last.get(result.text, 0) > place:
            ends[last[result.text]] = ends.get(last[result.text], 0) + 1
            live += 1
            most = max(most, live)
    return most


def in_turn(copies: Sequence[Sequence[Operation]]) -> list[Operation]:
    """Interleave the operations of the copies, each in proportion to its length."""
    if len(copies) == 1:
        return list(copies[0])
    origins: tuple[int, ...] | None = None
    marked: list[tuple[float, int, tuple[int, ...], Operation]] = []
    for number, copy in enumerate(copies):
        current: tuple[int, ...] = ()
        for place, operation in enumerate(copy):
            if isinstance(operation, Origins):
                current = operation.numbers
            else:
                marked.append((place / len(copy), number, current, operation))
    merged: list[Operation] = []
    for _, _, current, operation in sorted(marked, key=lambda item: item[:2]):
        if current != origins:
            origins = current
            merged.append(Origins(current))
        merged.append(operation)
    merged.append(Origins(()))
    return merged
