"""Parts of values joined along an axis are read where they lie, each through a window.

    concat(a, b)  =  where(pad(true), pad(a), pad(b))

A roll is such a concatenation, of two slices. Apart, each roll of a stencil on a ring would write its result
to memory; like this, one nest reads all of them from the value that is rolled, and away from the seam a read
is an ordinary one (`codegen/nest/window.py`).
"""

from __future__ import annotations

from typing import Final

from ...access import resolve
from ...builder import Builder
from ...dtypes import BOOL
from ...graph import Function, Instruction, Value
from ...registry import OPS, Kind
from ..algebra.cleanup import dce
from ..fusion.inlining import is_inline
from ..fusion.reasons import why_alone
from ..rewriting import Definitions, rewrite

#: Elements from which on, those along the last axis alone and altogether: the seam of less is much of it.
LEAST: Final = 1024
LEAST_COLUMNS: Final = 32
#: Parts, and readers of each.
MOST_PARTS: Final = 3
MOST_READERS: Final = 4


def read_joins(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: slices that are joined for arithmetic alone are read through
    windows; no dead code where it changed anything."""
    if not any(instruction.op.kind is Kind.CONCAT for instruction in function.body):
        return function
    readers: dict[Value, list[Instruction]] = {}
    for reader in function.body:
        for operand in reader.operands:
            readers.setdefault(operand, []).append(reader)
    kept = set(function.results)

    def rule(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        mine = readers.get(instruction.result, ())
        if instruction.result in kept or not 0 < len(mine) <= MOST_READERS or any(map(why_alone, mine)):
            return None
        return _windows(b, instruction) if _pays(instruction, defs) else None

    joined = rewrite(function, {"concat": (rule,)})
    return function if joined is function else dce(joined)


def _pays(instruction: Instruction, defs: Definitions) -> bool:
    """Whether the parts lie in memory, some as slices, and are large."""
    shape = instruction.result.shape
    if (
        len(instruction.operands) > MOST_PARTS
        or instruction.result.type.size < LEAST
        or shape[-1] < LEAST_COLUMNS
    ):
        return False
    slices = 0
    for part in instruction.operands:
        source, _ = resolve(part, defs)
        if part.type.size == 0 or is_inline(defs.get(source), defs):
            return False
        slices += source is not part and source.type.size > part.type.size
    return slices > 0


def _windows(b: Builder, instruction: Instruction) -> Value:
    """The parts in their places, the largest chosen first: that is what is read almost everywhere."""
    axis, result = instruction.attrs["axis"], instruction.result
    steps = (1,) * result.type.ndim

    def pad(value: Value, at: int) -> Value:
        around = b.broadcast_to(b.scalar(0, value.dtype), result.shape)
        start = tuple(at if place == axis else 0 for place in range(len(steps)))
        return b.append(OPS["update"], (around, value), {"start": start, "step": steps})[0]

    places, at = [], 0
    for part in instruction.operands:
        places.append((part, at))
        at += part.shape[axis]
    *others, (last, at) = sorted(places, key=lambda place: -place[0].type.size)
    joined = pad(last, at)
    for part, at in reversed(others):
        inside = pad(b.broadcast_to(b.scalar(True, BOOL), part.shape), at)
        joined = b.where(inside, pad(part, at), joined)
    return joined
