"""Gathers from values that repeat elements: the elements that are taken are computed, and no others.

    gather(x, broadcast(i))        =  broadcast(gather(x, i))                    of indices that are repeated
    gather(ravel(broadcast(x)), i) =  gather(x, i mod n)                         for n elements of x
    gather(f(x, y), i)             =  f(gather(x, i), gather(y, i))              of few elements
    gather(concat(x, y), i)        =  where(i < n, gather(x, i), gather(y, i - n))

Indices are found to be in range before they are taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....builder import Builder
from ....dtypes import INT64
from ....graph import Instruction, Value
from ....ops.indexing import indexed_axes, sliced_axes
from ....registry import OPS, Attrs, Kind
from ....types import Shape
from ...algebra.gathers import FEW
from ...rewriting import Definitions, constant_of
from .. import LARGE
from .repeated_axes import Emit, Line, cut_together
from .repeated_joins import Join

_GATHER: Final = OPS["gather"]


class GatherReader:
    """Rewrites gathers from `lines` and `joins`, and from arithmetic on them."""

    def __init__(
        self,
        b: Builder,
        joins: Mapping[Value, Join],
        lines: Mapping[Value, Line],
        defs: Definitions,
        emit: Emit,
    ) -> None:
        self.b, self.joins, self.lines, self.defs, self.emit = b, joins, lines, defs, emit
        #: Whether a large value is computed of what repeats elements.
        self._mixed: dict[Value, bool] = {}
        #: The elements that were taken of a value.
        self._taken: dict[tuple[Value, ...], Value] = {}

    def read(self, instruction: Instruction) -> Value | None:
        """The result of a gather; None where it reads its operand."""
        operand, *indices = instruction.operands
        attrs, shape = instruction.attrs, instruction.result.shape
        if 0 in shape or 0 in operand.shape:
            return None
        once = self._once(operand, indices, attrs, shape)
        if once is not None:
            return once
        line = self.lines.get(operand)
        if line is not None:
            return self._of_line(line, indices, attrs, shape)
        join = self.joins.get(operand)
        if join is not None:
            return self._of_join(operand, join, indices, attrs, instruction.result)
        if self._is_mixed(operand) and instruction.result.type.size * FEW <= operand.type.size:
            return self._of_arithmetic(operand, indices, attrs)
        return None

    def _once(self, operand: Value, indices: Sequence[Value], attrs: Attrs, shape: Shape) -> Value | None:
        """A gather at indices that are all repeated along some axes."""
        lines = {index: self.lines.get(index) for index in indices if constant_of(index, self.defs) is None}
        own = [line for line in lines.values() if line is not None]
        if not own or len(own) < len(lines):
            return None
        cuts = cut_together(own, indices[0].shape)
        if cuts is None:
            return None
        fine = cuts[0].fine
        repeats = [all(cut.sizes[axis] == 1 < size for cut in cuts) for axis, size in enumerate(fine)]
        if not any(repeats):
            return None
        kept = tuple([size for size, repeated in zip(fine, repeats, strict=True) if not repeated])
        small = dict(zip(lines, zip(own, cuts, strict=True), strict=True))
        few = []
        for index in indices:
            part = small.get(index)
            if part is None:
                few.append(self.b.full(value=constant_of(index, self.defs), shape=kept, dtype=INT64))
                continue
            line, cut = part
            sizes = tuple([size for size, repeated in zip(cut.sizes, repeats, strict=True) if not repeated])
            few.append(self.b.broadcast_to(self._reshaped(line.value, sizes), kept))
        taken = self.emit(_GATHER, (operand, *few), attrs)
        slices = shape[len(indices[0].shape) :]
        among = tuple([1 if repeated else size for size, repeated in zip(fine, repeats, strict=True)])
        whole = self.b.broadcast_to(self._reshaped(taken, (*among, *slices)), (*fine, *slices))
        return self._reshaped(whole, shape)

    def _of_line(self, line: Line, indices: Sequence[Value], attrs: Attrs, shape: Shape) -> Value:
        """A gather from what is repeated: an index along merged axes is one along each of them that is not
        repeated."""
        b, count, groups, first = self.b, len(indices), line.groups, indices[0].shape
        indexed = indexed_axes(count, attrs["axes"])
        slices = [axis for place in sliced_axes(len(groups), count, indexed) for axis in groups[place]]
        parts: list[Any] = []
        axes: list[int] = []
        checked: list[Any] = []
        for axis, index in zip(indexed, indices, strict=True):
            group = groups[axis]
            if len(group) == 1 and not line.repeated[group[0]]:
                parts.append(index)
                axes += group
                continue
            place, zero = self.checked(index, line.shape[axis], axis)
            checked.append(zero)
            own: list[Any] = []
            for part in reversed(group):
                above = b.floor_divide(place, line.fine[part])
                if not line.repeated[part]:
                    own.append(b.sub(place, b.mul(above, line.fine[part])))
                place = above
            parts += reversed(own)
            axes += [part for part in group if not line.repeated[part]]
        if not axes:  # all elements of an axis are alike
            first, axes, parts = (), [groups[indexed[0]][0]], [checked.pop()]
        for zero in checked:
            parts[0] = b.add(parts[0], b.broadcast_to(zero, first))
        kept = sorted([*axes, *slices])
        value = self._reshaped(line.value, tuple([line.value.shape[axis] for axis in kept]))
        places = tuple([kept.index(axis) for axis in axes])
        leading = places == tuple(range(len(places)))
        taken = self.emit(_GATHER, (value, *parts), {**attrs, "axes": () if leading else places})
        lead = indices[0].shape
        if first != lead:
            taken = self._reshaped(taken, (*(1,) * len(lead), *taken.shape))
        whole = b.broadcast_to(taken, (*lead, *[line.fine[axis] for axis in slices]))
        return self._reshaped(whole, shape)

    def _of_join(
        self, operand: Value, join: Join, indices: Sequence[Value], attrs: Attrs, result: Value
    ) -> Value | None:
        """A gather from parts: along other axes, of each; along theirs, of the one that has the place."""
        b, indexed = self.b, indexed_axes(len(indices), attrs["axes"])
        if join.axis not in indexed:
            slices = sliced_axes(len(operand.shape), len(indices), indexed)
            parts = [self.emit(_GATHER, (part, *indices), attrs) for part in join.parts]
            axis = len(indices[0].shape) + slices.index(join.axis)
            return self.emit(OPS["concat"], parts, {"axis": axis})
        filled = [part for part in join.parts if part.shape[join.axis]]
        if result.type.size * len(filled) > operand.type.size:
            return None
        number = indexed.index(join.axis)
        place, zero = self.checked(indices[number], operand.shape[join.axis], join.axis)
        place = b.add(place, b.broadcast_to(zero, place.shape))
        first, taken = 0, None
        for part in filled:
            size = part.shape[join.axis]
            own: list[Any] = list(indices)
            own[number] = b.minimum(b.maximum(b.sub(place, first), 0), size - 1)
            elements = self.emit(_GATHER, (part, *own), attrs)
            if taken is None:
                taken = elements
            else:
                here: Any = b.ge(place, first)
                lead = b.reshape(here, shape=(*here.shape, *(1,) * (len(result.shape) - len(here.shape))))
                taken = b.where(b.broadcast_to(lead, result.shape), elements, taken)
            first += size
        return taken

    def _is_mixed(self, value: Value) -> bool:
        """Whether a large value is arithmetic on what repeats elements."""
        if value.type.size < LARGE:
            return False
        if value in self.lines or value in self.joins:
            return True
        mixed = self._mixed.get(value)
        if mixed is None:
            definition = self.defs.get(value)
            arithmetic = definition is not None and definition.op.kind is Kind.ELEMENTWISE
            self._mixed[value] = mixed = (
                arithmetic and definition is not None and any(map(self._is_mixed, definition.operands))
            )
        return mixed

    def _of_arithmetic(self, value: Value, indices: Sequence[Value], attrs: Attrs) -> Value:
        """Arithmetic on the elements that are taken of each operand."""
        key = (value, *indices)
        taken = self._taken.get(key)
        if taken is not None:
            return taken
        definition, constant = self.defs.get(value), constant_of(value, self.defs)
        if constant is not None:
            slices = sliced_axes(len(value.shape), len(indices), indexed_axes(len(indices), attrs["axes"]))
            shape = (*indices[0].shape, *[value.shape[axis] for axis in slices])
            taken = self.b.broadcast_to(self.b.scalar(constant, value.dtype), shape)
        elif definition is not None and self._is_mixed(value) and value in self._mixed:
            operands = [self._of_arithmetic(operand, indices, attrs) for operand in definition.operands]
            taken = self.emit(definition.op, operands, definition.attrs)
        else:
            taken = self.emit(_GATHER, (value, *indices), attrs)
        self._taken[key] = taken
        return taken

    def checked(self, index: Value, size: int, axis: int) -> tuple[Value, Value]:
        """`index`, counted from the start of an axis of `size`, and a 0, for which all are inside: an error
        else."""
        b: Any = self.b
        outside = b.logical_or(b.lt(index, -size), b.ge(index, size))
        outside = b.any(outside, axes=tuple(range(len(index.shape))))
        error = f"gather: an index is out of bounds for axis {axis} with size {size}"
        nothing = b.full(value=0, shape=(1,), dtype=INT64)
        (zero,) = b.append(
            OPS["check"], (nothing, b.cast(outside, dtype=INT64)), {"axes": (), "error": error}
        )
        return b.where(b.lt(index, 0), b.add(index, size), index), zero

    def _reshaped(self, value: Value, shape: Shape) -> Value:
        return value if value.shape == shape else self.emit(OPS["reshape"], (value,), {"shape": shape})
