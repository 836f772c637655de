"""Lines of repeated operands: computed once, and repeated in the result.

    sort(broadcast(x))       =  broadcast(sort(x))          where no line is repeated along itself
    broadcast(x) @ y         =  broadcast(x @ y)            where rows of x are repeated
    x @ broadcast(y)         =  broadcast(x @ y)            where columns of y are repeated
    broadcast(x)[i]          =  broadcast(x[0 i])           where i, which is checked, selects a copy

Apart, the repeated operand goes to memory, which there may not be enough of.
"""

from __future__ import annotations

import numpy as np

from ...builder import Builder
from ...graph import Instruction, Value
from ...ops.indexing import indexed_axes
from ...ops.signal.fourier import has_pairs
from ..rewriting import Definitions, defined_by
from .gathers import FEW


def once_for_repeated_lines(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The rule of ops that compute each line along an axis by itself."""
    (operand,), attrs = instruction.operands, instruction.attrs
    line = _repeated(operand, defs)
    axis = attrs.get("axis", len(operand.shape) - 1)
    if line is None or line.shape[axis] != operand.shape[axis]:
        return None
    if has_pairs(instruction) and line.shape[-1] != operand.shape[-1]:
        return None
    result: Value = getattr(b, instruction.op.name)(line, **attrs)
    return b.broadcast(result, shape=instruction.result.shape)  # type: ignore[no-any-return]


def product_of_repeated_lines(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The rule of matrix products."""
    x, y = instruction.operands
    rows, columns = _repeated(x, defs), _repeated(y, defs)
    if rows is not None and rows.shape[-2] < x.shape[-2] and rows.shape[-1] == x.shape[-1]:
        x = b.broadcast(rows, shape=(*x.shape[:-2], 1, x.shape[-1]))
    if columns is not None and columns.shape[-1] < y.shape[-1] and columns.shape[-2] == y.shape[-2]:
        y = b.broadcast(columns, shape=(*y.shape[:-1], 1))
    if (x, y) == tuple(instruction.operands):
        return None
    return b.broadcast(b.matmul(x, y), shape=instruction.result.shape)  # type: ignore[no-any-return]


def gather_of_repeated_lines(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The rule of gathers. Indices of a repeated axis become 0 by a gather of their own, so that one that is
    out of range still is found."""
    operand, *indices = instruction.operands
    line, axes = _repeated(operand, defs), indexed_axes(len(indices), instruction.attrs["axes"])
    if line is None or operand.type.size <= max(operand.shape[axis] for axis in axes):
        return None
    for place, axis in enumerate(axes):
        if line.shape[axis] != operand.shape[axis]:
            zeros = b.broadcast_to(b.scalar(0, indices[place].dtype), operand.shape[axis : axis + 1])
            indices[place] = b.gather(zeros, indices[place])
    taken = b.gather(line, *indices, axes=instruction.attrs["axes"])
    return b.broadcast(taken, shape=instruction.result.shape)  # type: ignore[no-any-return]


def elements_of_repeated_lines(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The rule of slices: few elements of a flat array, such as a diagonal, are gathered."""
    flat = defined_by(instruction.operands[0], "reshape", defs)
    line = _repeated(flat.operands[0], defs) if flat is not None else None
    if flat is None or line is None or instruction.result.type.ndim != 1 or not instruction.result.type.size:
        return None
    (start,), (size,), (step,) = (instruction.attrs[name] for name in ("start", "size", "step"))
    if size * len(line.shape) * FEW > flat.result.type.size:
        return None
    place = b.add(b.mul(b.iota(shape=(size,), axis=0, dtype=np.dtype("i8")), step), start)
    indices = []
    for own, count in zip(reversed(line.shape), reversed(flat.operands[0].shape), strict=True):
        above = b.floor_divide(place, count)
        indices.append(b.sub(place, b.mul(above, count)) if own > 1 else b.mul(place, 0))
        place = above
    return b.gather(line, *reversed(indices))  # type: ignore[no-any-return]


def _repeated(value: Value, defs: Definitions) -> Value | None:
    """The value of the same rank that `value` repeats."""
    definition = defined_by(value, "broadcast", defs)
    if definition is None or len(definition.operands[0].shape) != len(value.shape):
        return None
    return definition.operands[0]
