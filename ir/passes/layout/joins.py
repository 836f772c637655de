"""Parts of values joined along an axis are read where they lie, each through a window, or computed further.

    concat(a, b)  =  where(pad(true), pad(a), pad(b))

A roll is such a concatenation, of two slices. Apart, each roll of a stencil on a ring would write its result
to memory; like this, one nest reads all of them from the value that is rolled, and away from the seam a read
is an ordinary one (`codegen/nest/window.py`).

Where the parts are computed, arithmetic with constants on what is joined is done on the parts instead,

    f(concat(g(a), h(b)))  =  concat(f(g(a)), f(h(b)))

in the nests that compute them: it would be a pass of its own over what is joined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....base.machine import machine
from ...access import element_strides, resolve
from ...builder import Builder
from ...dataflow import read_counts
from ...dtypes import BOOL
from ...graph import Function, Instruction, Value
from ...grouping.inlining import is_inline, parts_of
from ...grouping.reasons import why_alone
from ...registry import OPS, Kind
from ...types import Shape, contiguous_strides
from ..algebra.cleanup import dce
from ..rewriting import Definitions, constant_of, rewrite
from . import LARGE

#: Elements from which on, those along the last axis alone and altogether: the seam of less is much of it.
MIN_SIZE: Final = 1024
MIN_COLUMNS: Final = 32
#: Parts, and readers of each.
MAX_PARTS: Final = 3
MAX_READERS: Final = 4


def read_joins(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: slices that are joined for arithmetic alone are read through
    windows; no dead code where it changed anything."""
    if not any(op.kind is Kind.CONCAT for op in function.ops):
        return function
    if not any(each.op.kind is Kind.CONCAT and each.result.type.size >= MIN_SIZE for each in function.body):
        return function
    readers: dict[Value, list[Instruction]] = {}
    for reader in function.body:
        for operand in reader.operands:
            readers.setdefault(operand, []).append(reader)
    kept = set(function.results)

    def rule(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        mine = readers.get(instruction.result, ())
        inside = instruction.result not in kept and 0 < len(mine) <= MAX_READERS
        inside = inside and not any(map(why_alone, mine))
        pays = inside and _pays(instruction, defs)
        return _windows(b, instruction) if pays or _repeats(instruction, inside, defs) else None

    joined = rewrite(function, {"concat": (rule,)})
    mapped = _Parts(joined).run()
    return function if mapped is function else dce(mapped)


def _pays(instruction: Instruction, defs: Definitions) -> bool:
    """Whether the parts lie in memory, some as slices, and are large."""
    shape = instruction.result.shape
    if (
        len(instruction.operands) > MAX_PARTS
        or instruction.result.type.size < MIN_SIZE
        or shape[-1] < MIN_COLUMNS
    ):
        return False
    slices = 0
    for part in instruction.operands:
        source, _ = resolve(part, defs)
        if part.type.size == 0 or is_inline(defs.get(source), defs):
            return False
        slices += source is not part and source.type.size > part.type.size
    return slices > 0


def _repeats(instruction: Instruction, inside: bool, defs: Definitions) -> bool:
    """Whether a large part repeats elements other than in long stretches, which a copy would read where they
    lie, and no nest that computes parts reads the others, too; or any, where arithmetic alone reads it."""
    if parts_of(instruction, defs):
        return False
    for part in instruction.operands:
        source, access = resolve(part, defs)
        if part.type.size < LARGE or source.type.size == part.type.size or is_inline(defs.get(source), defs):
            continue
        strides, _ = element_strides(access, contiguous_strides(source.shape), part.type.ndim)
        row = part.shape[-1] * part.dtype.itemsize
        if 0 in strides and (inside or strides[-1] != 1 or row < machine().line_bytes):
            return True
    return False


def _windows(b: Builder, instruction: Instruction) -> Value:
    """Concatenate by selecting among padded parts. The largest part is selected first, as most elements read
    it."""
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


class _Parts:
    """Arithmetic moved in front of the concatenations that it reads."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.uses = read_counts(function)
        self.reduced = self._reduced()
        #: The values of `function` that concatenations of what was moved stand for.
        self.stands: dict[Value, Value] = {}

    def run(self) -> Function:
        names = {
            instruction.op.name
            for instruction in self.function.body
            if instruction.op.kind is Kind.ELEMENTWISE and not why_alone(instruction)
        }
        return rewrite(self.function, dict.fromkeys(names, (self._rule,)))

    def _reduced(self) -> set[Value]:
        """Values that reach a reduction through arithmetic and views alone. The reduction would read a joined
        one in its own pass."""
        reduced = set[Value]()
        for instruction in reversed(self.function.body):
            onward = instruction.op.kind in (Kind.ELEMENTWISE, Kind.VIEW) and instruction.result in reduced
            if instruction.op.kind is Kind.REDUCTION or onward:
                reduced.update(instruction.operands)
        return reduced

    def _alone(self, value: Value) -> bool:
        """Whether one instruction reads `value`."""
        return self.uses[self.stands.get(value, value)] == 1

    def _rule(self, b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        joined = [operand for operand in instruction.operands if constant_of(operand, defs) is None]
        result = instruction.result
        if len(joined) != 1 or result.type.size < MIN_SIZE or result in self.reduced:
            return None
        parts, axis, row = self._parts(joined[0], defs)
        computed = sum(part.type.size for part in parts if self._is_computed(part, defs))
        if 2 * computed < result.type.size:
            return None
        mapped = []
        for part in parts:
            if row:
                shape = (part.type.size // math.prod(row), *row)
                (part,) = b.append(OPS["reshape"], (part,), {"shape": shape})
            operands = [
                part
                if operand is joined[0]
                else b.broadcast_to(b.scalar(constant_of(operand, defs), operand.dtype), part.shape)
                for operand in instruction.operands
            ]
            mapped.append(b.append(instruction.op, tuple(operands), instruction.attrs)[0])
        (value,) = b.append(OPS["concat"], tuple(mapped), {"axis": axis})
        self.stands[value] = result
        self.uses.update(mapped)
        return value

    def _parts(self, value: Value, defs: Definitions) -> tuple[Sequence[Value], int, Shape]:
        """The parts that are concatenated for `value` alone, and the axis; no parts of other values. A stack
        along the first axis, which a reshape turns into rows, is a concatenation of rows: the third result is
        then the shape of a row."""
        nothing: tuple[Sequence[Value], int, Shape] = (), 0, ()
        shape, definition = value.shape, defs.get(value)
        if definition is None or not self._alone(value):
            return nothing
        if definition.op.name == "reshape" and len(shape) > 1:
            joined, row = defs.get(definition.operands[0]), shape[1:]
            if joined is None or joined.op.kind is not Kind.CONCAT or not self._alone(joined.result):
                return nothing
            before = math.prod(joined.result.shape[: joined.attrs["axis"]])
            fits = before == 1 and not any(part.type.size % math.prod(row) for part in joined.operands)
            return (joined.operands, 0, row) if fits else nothing
        if definition.op.kind is not Kind.CONCAT:
            return nothing
        axis: int = definition.attrs["axis"]
        if axis == len(shape) - 1 and shape[-1] < MIN_COLUMNS:
            return nothing
        return definition.operands, axis, ()

    def _is_computed(self, part: Value, defs: Definitions) -> bool:
        """Whether a nest computes `part` for what it is joined to."""
        while (definition := defs.get(part)) is not None and definition.op.name == "reshape":
            part = definition.operands[0]
        return definition is not None and definition.op.kind is Kind.ELEMENTWISE and self._alone(part)
