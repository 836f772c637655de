"""Concatenations with parts that repeat elements: what reads them reads the parts.

    f(concat(a, broadcast(b)))    =  concat(f(a), broadcast(f(b)))
    sum(concat(a, broadcast(b)))  =  sum(a) + n b                     along the joined axis
    concat(a, broadcast(b)) @ y   =  concat(a @ y, broadcast(b) @ y)  or the sum of such products
    cumsum(concat(a, b))          =  concat(cumsum(a), cumsum(b) + sum(a))
    concat(broadcast(b), broadcast(b))  =  broadcast(b)               as in a roll

Apart, the repeats would be in memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from .....base.records import record
from ....builder import Builder
from ....graph import Instruction, Value
from ....ops.signal.fourier import has_pairs
from ....registry import OPS, Kind
from ....types import Shape
from ...rewriting import Definitions, constant_of
from .merged_lines import RUNNING
from .repeated_axes import PLACES, Emit, Line

#: The ops that combine folds of parts.
_COMBINE: Final[Mapping[str, str]] = {
    "sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or",
    "all": "logical_and",
}  # fmt: skip


@record
class Join:
    """The `parts` that are concatenated along `axis`."""

    axis: int
    parts: tuple[Value, ...]
    #: Whether there is the value, too, which a nest of arithmetic reads that makes results, or any nest where
    #: all parts but one are one number.
    stands: bool = False
    fills: bool = False

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
        self,
        b: Builder,
        joins: dict[Value, Join],
        lines: Mapping[Value, Line],
        spread: Collection[Value],
        emit: Emit,
    ) -> None:
        self.b, self.joins, self.lines, self.spread, self.emit = b, joins, lines, spread, emit

    def read(self, instruction: Instruction, defs: Definitions) -> Value | None:
        """The result of `instruction` from the parts of its operands; None where it needs them joined."""
        op = instruction.op
        if op.kind is Kind.ELEMENTWISE:
            return self._map(instruction, defs)
        if op.name == "matmul":
            return self._product(*instruction.operands)
        join = self.joins.get(instruction.operands[0])
        if join is None:
            return None
        if op.kind is Kind.REDUCTION:
            return self._fold(instruction, join)
        if op.kind.traits.along_axis:
            return self._by_lines(instruction, join) or self._along(instruction, join)
        if op.name in ("slice", "transpose", "reshape"):
            view: Join | None = getattr(self, f"_{op.name}")(instruction, join)
            if view is None:
                return None
            if len(view.parts) == 1:
                return view.parts[0]
            if not join.stands:
                return self._joined(view.parts, view.axis)
            self.joins[instruction.result] = Join(view.axis, view.parts, stands=True, fills=join.fills)
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
            if join is not None and (join.fills or (join.stands and instruction.result in self.spread)):
                return None
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

    def _along(self, instruction: Instruction, join: Join) -> Value | None:
        """Ops on lines along the joined axis whose results follow from those of the parts."""
        op, attrs, parts = instruction.op, instruction.attrs, [part for part in join.parts if part.type.size]
        if attrs.get("axis") != join.axis or not parts or parts[0].dtype.kind not in "fiu":
            return None
        if op.name in PLACES:
            return self._place(instruction, parts, join.axis)
        if op.name not in RUNNING:
            return None
        fold, combine = [OPS[name] for name in RUNNING[op.name]]
        reverse, results, before = bool(attrs["reverse"]), [], None
        for part in reversed(parts) if reverse else parts:
            result = self.emit(op, (part,), attrs)
            folded = self.emit(fold, (part,), {"axes": (join.axis,)})
            if before is not None:
                among = (*part.shape[: join.axis], 1, *part.shape[join.axis + 1 :])
                offset = self.emit(OPS["reshape"], (before,), {"shape": among})
                result = self.emit(combine, (self.b.broadcast_to(offset, part.shape), result), {})
                folded = self.emit(combine, (before, folded), {})
            before = folded
            results.append(result)
        return self._joined(results[::-1] if reverse else results, join.axis)

    def _place(self, instruction: Instruction, parts: Sequence[Value], axis: int) -> Value:
        """The first place of the extreme element: of the first part that has it, or NaN."""
        b: Any = self.b
        largest = instruction.op.name == "argmax"
        place: Any = None
        extreme, first = None, 0
        for part in parts:
            own = self.emit(instruction.op, (part,), instruction.attrs)
            element = self.emit(OPS["max" if largest else "min"], (part,), {"axes": (axis,)})
            if extreme is None:
                place, extreme = own, element
            else:
                beyond = b.gt(element, extreme) if largest else b.lt(element, extreme)
                nan = b.logical_and(b.ne(element, element), b.eq(extreme, extreme))
                chosen = b.logical_or(beyond, nan)
                place = b.where(chosen, b.add(own, first), place)
                extreme = b.where(chosen, element, extreme)
            first += part.shape[axis]
        return place  # type: ignore[no-any-return]

    def _product(self, x: Value, y: Value) -> Value | None:
        """Products of rows, columns or matrices that are joined; of parts of the sum, which are added up."""
        join = self.joins.get(x) or self.joins.get(y)
        assert join is not None
        left, last = x in self.joins, len(x.shape) - 1
        axis, other = join.axis, y if left else x
        if len(x.shape) != len(y.shape) or len(x.shape) < 2:
            return None
        sums = axis == (last if left else last - 1)
        results: list[Value] = []
        first = 0
        for part in join.parts:
            size, beside = part.shape[axis], other
            if axis < last - 1 or sums:
                along = axis if not sums else last - 1 if left else last
                beside = self._sliced(other, along, first, size)
            first += size
            if size or not sums:
                results.append(self.emit(OPS["matmul"], (part, beside) if left else (beside, part), {}))
        if not sums:
            return self._joined(results, axis)
        total, *others = results
        for part in others:
            total = self.emit(OPS["add"], (total, part), {})
        return total

    def _sliced(self, value: Value, axis: int, first: int, size: int) -> Value:
        shape = value.shape
        start = tuple([first if place == axis else 0 for place in range(len(shape))])
        sizes = (*shape[:axis], size, *shape[axis + 1 :])
        return self.emit(OPS["slice"], (value,), {"start": start, "size": sizes, "step": (1,) * len(shape)})

    def _slice(self, instruction: Instruction, join: Join) -> Join | None:
        """A slice of each part: along the joined axis, of those that it has elements of."""
        attrs, axis = instruction.attrs, join.axis
        start, step = attrs["start"][axis], attrs["step"][axis]
        if step < 1 or not instruction.result.type.size:
            return None
        parts, first = [], 0
        for part in join.parts:
            below, above = [
                min(max(-((start - end) // step), 0), attrs["size"][axis])
                for end in (first, first + part.shape[axis])
            ]
            own = {name: list(attrs[name]) for name in ("start", "size", "step")}
            own["start"][axis], own["size"][axis] = start + below * step - first, above - below
            first += part.shape[axis]
            if above > below:
                parts.append(
                    self.emit(instruction.op, (part,), {name: tuple(each) for name, each in own.items()})
                )
        return Join(axis, tuple(parts))

    def _transpose(self, instruction: Instruction, join: Join) -> Join:
        parts = [self.emit(instruction.op, (part,), instruction.attrs) for part in join.parts]
        return Join(instruction.attrs["perm"].index(join.axis), tuple(parts))

    def _reshape(self, instruction: Instruction, join: Join) -> Join | None:
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
        return Join(axis, tuple(parts))
