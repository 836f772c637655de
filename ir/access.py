"""Views as affine index maps: which element of which buffer a value's element is.

`resolve` follows a value through views to what must exist in memory, and returns the composed `Access`
from the value's index space to the source's. Fusion and codegen both read operands this way.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from .graph import Instruction, Value
from .registry import Access, Kind
from .types import Shape, contiguous_strides


@functools.lru_cache(maxsize=64)
def identity(rank: int) -> Access:
    """Element i is element i."""
    return Access(tuple((axis, 1, 0) for axis in range(rank)))


def compose(outer: Access, inner: Access) -> Access:
    """Compose two accesses: first `outer` (index to a view's index), then `inner` (the view's index to its
    operand's)."""
    dims: list[tuple[int | None, int, int]] = []
    for axis, step, offset in inner.dims:
        if axis is None:
            dims.append((None, 0, offset))
        else:
            source, by, start = outer.dims[axis]
            dims.append((source, step * by if source is not None else 0, offset + step * start))
    return Access(tuple(dims))


def view_access(instruction: Instruction) -> Access | None:
    """The index map of a view instruction, None for anything that is not an affine view."""
    op = instruction.op
    if op.kind is not Kind.VIEW or op.access is None:
        return None
    return op.access(instruction.operands[0].type, instruction.result.type, instruction.attrs)


def resolve(value: Value, defs: Mapping[Value, Instruction]) -> tuple[Value, Access]:
    """The value that `value` is a view of, through any number of affine views, and the index map."""
    access = None
    while True:
        instruction = defs.get(value)
        step = view_access(instruction) if instruction is not None else None
        if instruction is None or step is None:
            return value, identity(len(value.shape)) if access is None else access
        access = step if access is None else compose(access, step)
        value = instruction.operands[0]


def viewed(value: Value, defs: Mapping[Value, Instruction]) -> Value:
    """The value whose elements `value` has, through any number of views."""
    while (view := defs.get(value)) is not None and view.op.kind is Kind.VIEW:
        (value,) = view.operands
    return value


def element_strides(access: Access, strides: Shape, rank: int) -> tuple[tuple[int, ...], int]:
    """Per-dimension strides and the offset, in elements, of reading a buffer with `strides` by `access`."""
    result = [0] * rank
    offset = 0
    for (axis, step, start), stride in zip(access.dims, strides, strict=True):
        offset += start * stride
        if axis is not None:
            result[axis] += step * stride
    return tuple(result), offset


def start_in_memory(value: Value, defs: Mapping[Value, Instruction]) -> int:
    """The offset, in elements, of the view `value` in the memory that it is a view of; 0 for other values.

    *Requires*: the elements of `value` lie together. Those of views on the way need not: the first element is
    followed through each of them.
    """
    start = 0  # the number of that element in the order of the elements of `value`
    while (view := defs.get(value)) is not None and view.op.kind is Kind.VIEW:
        (value,) = view.operands
        access = view_access(view)
        if access is not None:
            shape = view.result.shape
            strides, first = element_strides(access, contiguous_strides(value.shape), len(shape))
            places = zip(strides, contiguous_strides(shape), shape, strict=True)
            start = first + sum(stride * (start // apart % size) for stride, apart, size in places if size)
    return start


def counter_strides(instruction: Instruction, defs: Mapping[Value, Instruction]) -> tuple[int, ...] | None:
    """The strides of a counter: the differences between neighbours along each axis, of an iota or of a
    reshape that cuts the axis of one. None for any other instruction, and where a reshape merges that axis
    with others."""
    if instruction.op.name == "iota":
        counted: int = instruction.attrs["axis"]
        return tuple([int(axis == counted) for axis in range(len(instruction.result.shape))])
    if instruction.op.name != "reshape":
        return None
    inner = defs.get(instruction.operands[0])
    if inner is None or inner.op.name != "iota" or inner.result.type.size == 0:
        return None
    shape, axis = inner.result.shape, inner.attrs["axis"]
    behind, whole = math.prod(shape[axis + 1 :]), math.prod(shape[axis:])
    result: list[int] = []
    size = 1
    cuts = {1}
    for extent in reversed(instruction.result.shape):
        result.append(size // behind if behind <= size < whole and extent > 1 else 0)
        size *= extent
        cuts.add(size)
    return tuple(reversed(result)) if {behind, whole} <= cuts else None
