"""Concatenations with parts that repeat elements: what reads them reads the parts.

    f(concat(a, broadcast(b)))    =  concat(f(a), broadcast(f(b)))
    sum(concat(a, broadcast(b)))  =  sum(a) + n b                     along the joined axis
    concat(broadcast(b), broadcast(b))  =  broadcast(b)               as in a roll

Apart, the repeats would be in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....base.records import record
from ...builder import Builder
from ...graph import Instruction, Value
from ...ops.signal.fourier import has_pairs
from ...registry import OPS, Attrs, Kind, Op
from ...types import Shape
from ..rewriting import Definitions, constant_of
from .repeated_axes import PLACES, Line

#: The ops that combine folds of parts.
_COMBINE: Final[Mapping[str, str]] = {
    "sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or",
    "all": "logical_and",
}  # fmt: skip
#: Appends an op, sunk: ``emit(op, operands, attrs)``.
_Emit = Callable[[Op, Sequence[Value], Attrs], Value]


@record
class Join:
    """The `parts` that are concatenated along `axis`."""

    axis: int
    parts: tuple[Value, ...]

    @property
    def sizes(self) -> Shape:
        return tuple([part.shape[self.axis] for part in self.parts])


def join_of(concat: Instruction, lines: Mapping[Value, Line]) -> Join | None:
    """The parts of `concat`; None where none of them repeats elements."""
    if lines.keys().isdisjoint(concat.operands):
        return None
    return Join(concat.attrs["axis"], concat.operands)


def same_slice(concat: Instruction, lines: Mapping[Value, Line]) -> Line | None:
    """The slice that all parts of `concat` repeat along the axis; None where they differ."""
    slices = [_slice_of(part, concat.attrs["axis"], lines) for part in concat.operands]
    first = slices[0]
    if first is None or any(own is None or own.value is not first.value for own in slices):
        return None
    return first


def _slice_of(part: Value, axis: int, lines: Mapping[Value, Line]) -> Line | None:
    line = lines.get(part)
    return line if line is not None and line.is_plain and line.value.shape[axis] == 1 else None


class JoinReader:
    """Rewrites instructions that read `joins`, on the parts."""

    def __init__(
        self, b: Builder, joins: Mapping[Value, Join], lines: Mapping[Value, Line], emit: _Emit
    ) -> None:
        self.b, self.joins, self.lines, self.emit = b, joins, lines, emit

    def read(self, instruction: Instruction, defs: Definitions) -> Value | None:
        """The result of `instruction` from the parts of its operands; None where it needs them joined."""
        op = instruction.op
        if op.kind is Kind.ELEMENTWISE:
            return self._map(instruction, defs)
        join = self.joins.get(instruction.operands[0])
        if join is None:
            return None
        if op.kind is Kind.REDUCTION:
            return self._fold(instruction, join)
        if op.kind.traits.along_axis:
            return self._by_lines(instruction, join)
        if op.name in ("slice", "transpose", "reshape"):
            view: Value | None = getattr(self, f"_{op.name}")(instruction, join)
            return view
        return None

    def _joined(self, parts: Sequence[Value], axis: int) -> Value:
        return self.emit(OPS["concat"], parts, {"axis": axis})

    def _map(self, instruction: Instruction, defs: Definitions) -> Value | None:
        """Arithmetic on joins that are cut at the same places, and on what is the same along the axis."""
        joins = [self.joins.get(operand) for operand in instruction.operands]
        first = next(join for join in joins if join is not None)
        axis = first.axis
        constants = [constant_of(operand, defs) for operand in instruction.operands]
        slices = [_slice_of(operand, axis, self.lines) for operand in instruction.operands]
        for join, constant, line in zip(joins, constants, slices, strict=True):
            if join is not None and (join.axis != axis or join.sizes != first.sizes):
                return None
            if join is None and constant is None and line is None:
                return None
        parts = []
        for number, part in enumerate(first.parts):
            operands = []
            for operand, join, line in zip(instruction.operands, joins, slices, strict=True):
                if join is not None:
                    operands.append(join.parts[number])
                elif line is not None:
                    operands.append(self.b.broadcast_to(line.value, part.shape))
                else:
                    scalar = self.b.scalar(constant_of(operand, defs), operand.dtype)
                    operands.append(self.b.broadcast_to(scalar, part.shape))
            parts.append(self.emit(instruction.op, operands, instruction.attrs))
        return self._joined(parts, axis)

    def _fold(self, instruction: Instruction, join: Join) -> Value | None:
        op, axes = instruction.op, instruction.attrs["axes"]
        if join.axis not in axes:
            parts = [self.emit(op, (part,), instruction.attrs) for part in join.parts]
            return self._joined(parts, join.axis - sum(axis < join.axis for axis in axes))
        combine = _COMBINE.get(op.name)
        if combine is None or (op.name in ("sum", "prod") and join.parts[0].dtype.kind == "b"):
            return None
        total, *others = [self.emit(op, (part,), instruction.attrs) for part in join.parts]
        for other in others:
            total = self.emit(OPS[combine], (total, other), {})
        return total

    def _by_lines(self, instruction: Instruction, join: Join) -> Value | None:
        """Ops on lines along another axis, and not on the pairs that are joined."""
        op, last = instruction.op, len(instruction.operands[0].shape) - 1
        axis = instruction.attrs.get("axis", last)
        if join.axis == axis or (join.axis == last and has_pairs(instruction)):
            return None
        parts = [self.emit(op, (part,), instruction.attrs) for part in join.parts]
        return self._joined(parts, join.axis - (op.name in PLACES and axis < join.axis))

    def _slice(self, instruction: Instruction, join: Join) -> Value | None:
        """A slice along other axes."""
        attrs, axis = instruction.attrs, join.axis
        whole = instruction.operands[0].shape[axis]
        if tuple([attrs[name][axis] for name in ("start", "size", "step")]) != (0, whole, 1):
            return None
        parts = []
        for part in join.parts:
            size = (*attrs["size"][:axis], part.shape[axis], *attrs["size"][axis + 1 :])
            parts.append(self.emit(instruction.op, (part,), {**attrs, "size": size}))
        return self._joined(parts, axis)

    def _transpose(self, instruction: Instruction, join: Join) -> Value:
        parts = [self.emit(instruction.op, (part,), instruction.attrs) for part in join.parts]
        return self._joined(parts, instruction.attrs["perm"].index(join.axis))

    def _reshape(self, instruction: Instruction, join: Join) -> Value | None:
        """A reshape that keeps the axis."""
        old, new = instruction.operands[0].shape, instruction.result.shape
        before = math.prod(old[: join.axis])
        for axis, size in enumerate(new):
            if size == old[join.axis] and math.prod(new[:axis]) == before:
                break
        else:
            return None
        parts: list[Any] = []
        for part in join.parts:
            shape = (*new[:axis], part.shape[join.axis], *new[axis + 1 :])
            parts.append(self.emit(instruction.op, (part,), {"shape": shape}))
        return self._joined(parts, axis)
