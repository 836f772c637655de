"""Composition of gathers with views and gathers: the elements are taken from where they lie.

    transpose(x)[:, i]  =  transpose(x[i])
    x[i][arange(n), j]  =  x[i, j]

Apart, the transposed array, or all the rows, would be written to memory for the few elements that are read.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder
from ...graph import Instruction, Value
from ...ops.indexing import indexed_axes, sliced_axes
from ...registry import OPS
from ..rewriting import Definitions, defined_by

#: Gathered elements are few if a transposed value has so many for each.
FEW: Final = 4


def gather_of_transpose(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A gather from a transposed value: from the value itself, and the slices transposed; where those lie
    together, or are few."""
    operand, *indices = instruction.operands
    transpose = defined_by(operand, "transpose", defs)
    if transpose is None:
        return None
    (source,), perm = transpose.operands, transpose.attrs["perm"]
    axes = instruction.attrs["axes"]
    indexed = tuple(perm[axis] for axis in indexed_axes(len(indices), axes))
    sliced = [perm[axis] for axis in sliced_axes(len(perm), len(indices), axes)]
    leading = indexed == tuple(range(len(indexed)))
    if not leading and instruction.result.type.size * FEW > source.type.size:
        return None  # whole rows of the transposed value take less time than elements far apart
    attrs = {**instruction.attrs, "axes": () if leading else indexed}
    (taken,) = b.append(instruction.op, (source, *indices), attrs)
    first = indices[0].type.ndim
    order = (*range(first), *(first + sorted(sliced).index(axis) for axis in sliced))
    if order == tuple(range(len(order))):
        return taken
    return b.append(OPS["transpose"], (taken,), {"perm": order})[0]


def gather_of_rows(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """Elements of each row that was gathered: of the rows where they lie. Every row is read, so that an index
    that is out of range still is found."""
    operand, *indices = instruction.operands
    rows = defined_by(operand, instruction.op.name, defs)
    if rows is None or rows.attrs["axes"] or instruction.attrs["axes"] or rows.attrs != instruction.attrs:
        return None
    source, *outer = rows.operands
    count = defined_by(indices[0], "iota", defs)
    if count is None or outer[0].type.ndim != 1 or len(outer) != 1 or len(indices) < 2:
        return None
    (length,), shape = outer[0].shape, indices[0].shape
    axis = count.attrs["axis"]
    if shape[axis] != length or any(size == 0 for size in shape):
        return None
    among = tuple(length if place == axis else 1 for place in range(len(shape)))
    row = outer[0] if among == (length,) else b.reshape(outer[0], shape=among)
    places = b.broadcast_to(row, shape)
    return b.append(instruction.op, (source, places, *indices[1:]), instruction.attrs)[0]
