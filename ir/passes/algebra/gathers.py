"""Composition of gathers with views and gathers: the elements are taken from where they lie.

    transpose(x)[:, i]  =  transpose(x[i])
    x[i][arange(n), j]  =  x[i, j]

Apart, the transposed array, or all the rows, would be written to memory for the few elements that are read.
And convolutions of single channels with short kernels, which are sums of shifted images:

    convolve(x, w)  =  w[0, 0] x[:-1, :-1] + w[0, 1] x[:-1, 1:] + ...

The lanes of a convolution are outputs; with one output they would be one. As arithmetic its lanes lie along
rows of pixels, and it is one nest with what is around it.
"""

from __future__ import annotations

import itertools
import math
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


#: Elements of a kernel, and columns of the result: fewer are no lanes.
MOST_ELEMENTS: Final = 25
LEAST_COLUMNS: Final = 16


def shifted_sums(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """A convolution of a single channel with a short kernel as a sum of shifted images."""
    (x, w), result, attrs = instruction.operands, instruction.result, instruction.attrs
    kernel, padding = w.shape[-2:], attrs["padding"]
    if w.shape[:-2] != (1, 1) or math.prod(kernel) > MOST_ELEMENTS or result.dtype.kind != "f":
        return None
    if result.shape[-1] < LEAST_COLUMNS or attrs["stride"] != (1, 1) or min(padding) < 0:
        return None
    rank = x.type.ndim
    padded = x
    if any(padding):
        sizes = [size + sum(padding[2 * axis : 2 * axis + 2]) for axis, size in enumerate(x.shape[-2:])]
        zeros = b.broadcast_to(b.scalar(0, x.dtype), (*x.shape[:-2], *sizes))
        start = (*(0,) * (rank - 2), padding[0], padding[2])
        (padded,) = b.append(OPS["update"], (zeros, x), {"start": start, "step": (1,) * rank})
    total: Value | None = None
    for at in itertools.product(*map(range, kernel)):
        shift = tuple(place * step for place, step in zip(at, attrs["dilation"], strict=True))
        image = b.slice(padded, start=(*(0,) * (rank - 2), *shift), size=result.shape, step=(1,) * rank)
        weight = b.slice(w, start=(0, 0, *at), size=(1, 1, 1, 1), step=(1,) * rank)
        term = b.mul(image, b.broadcast_to(weight, result.shape))
        total = term if total is None else b.add(total, term)
    return total
