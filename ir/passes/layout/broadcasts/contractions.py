"""Products and convolutions of values that repeat others: of rows, columns, matrices and images that are
repeated, each once."""

from __future__ import annotations

from ....graph import Instruction, Value
from ....registry import OPS
from ...rewriting import defined_by
from .. import LARGE
from .repeated_values import RepeatedValues


def contraction(repeats: RepeatedValues, instruction: Instruction) -> Value | None:
    """Products: rows, columns and matrices that are repeated are multiplied once; so is what is repeated
    along the sum on both sides."""
    (x, y), shape = instruction.operands, instruction.result.shape
    left, right = repeats.plain(x), repeats.plain(y)
    rows, columns = list(x.shape), list(y.shape)
    if left is not None and left.repeated[-2]:
        rows[-2] = 1
    if right is not None and right.repeated[-1]:
        columns[-1] = 1
    terms = 0
    if left is not None and right is not None:
        for axis in range(len(shape) - 2):
            if left.repeated[axis] and right.repeated[axis]:
                rows[axis] = columns[axis] = 1
        if left.repeated[-1] and right.repeated[-2] and x.dtype.kind != "b":
            terms = x.shape[-1]
            rows[-1] = columns[-2] = 1
    if tuple(rows) == x.shape and tuple(columns) == y.shape:
        return None
    x = repeats.repeat(left.value, tuple(rows)) if left is not None else x
    y = repeats.repeat(right.value, tuple(columns)) if right is not None else y
    if not terms:
        return repeats.repeat(repeats.b.matmul(x, y), shape)
    small = (*rows[:-1], columns[-1])
    product = repeats.b.mul(repeats.repeat(x, small), repeats.repeat(y, small))
    return repeats.repeat(repeats.times(product, terms), shape)


def product_of_merged(repeats: RepeatedValues, x: Value, y: Value) -> Value | None:
    """A product whose rows or columns are merged axes, some of which are repeated, as one of many
    matrices before the merge: apart, what is merged would be in memory."""
    rows = _merged(repeats, x)
    if rows is not None and rows.shape[-1] == x.shape[-1]:
        return repeats.reshaped(_times_matrix(repeats, rows, y), (x.shape[0], y.shape[1]))
    columns = _merged(repeats, y)
    if columns is None or columns.shape[0] != y.shape[0]:
        return None
    rank = len(columns.shape)
    perm = (*range(1, rank), 0)
    moved = repeats.b.transpose(repeats.lines[columns].value, perm=perm)
    rows = repeats.repeat(moved, tuple([columns.shape[axis] for axis in perm]))
    repeats.define()
    product = _times_matrix(repeats, rows, repeats.b.transpose(x, perm=(1, 0)))
    merged = repeats.reshaped(product, (y.shape[1], x.shape[0]))
    return repeats.b.transpose(merged, perm=(1, 0))  # type: ignore[no-any-return]


def _merged(repeats: RepeatedValues, value: Value) -> Value | None:
    """The repeated value of which `value` is a reshape."""
    reshape = defined_by(value, "reshape", repeats.defs)
    source = reshape.operands[0] if reshape is not None else None
    if source is None or source not in repeats.lines or not repeats.lines[source].is_plain:
        return None
    return source if source.type.size >= LARGE and len(source.shape) > 2 else None


def _times_matrix(repeats: RepeatedValues, x: Value, y: Value) -> Value:
    """The product of each matrix of `x` with the one `y`."""
    batch = x.shape[:-2]
    alone = repeats.reshaped(y, (*[1] * len(batch), *y.shape))
    factor = repeats.repeat(alone, (*batch, *y.shape))
    return repeats.emit(OPS["matmul"], (x, factor), {})


def convolution(repeats: RepeatedValues, instruction: Instruction) -> Value | None:
    """Convolutions of images that are repeated, by kernels that are, and of groups in which both are."""
    (x, w), whole = instruction.operands, instruction.result.shape
    images, kernels = repeats.plain(x), repeats.plain(w)
    groups = len(x.shape) == 5
    sizes = {x: list(x.shape), w: list(w.shape)}
    if images is not None and images.repeated[0]:
        sizes[x][0] = 1
    if kernels is not None and kernels.repeated[groups]:
        sizes[w][groups] = 1
    both = images is not None and kernels is not None and images.repeated[1] and kernels.repeated[0]
    if groups and both:
        sizes[x][1] = sizes[w][0] = 1
    if all(tuple(own) == value.shape for value, own in sizes.items()):
        return None
    lines = ((x, images), (w, kernels))
    operands = [
        value if line is None else repeats.repeat(line.value, tuple(sizes[value])) for value, line in lines
    ]
    return repeats.repeat(repeats.emit(instruction.op, operands, instruction.attrs), whole)
