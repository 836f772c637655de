"""Slices that tuples of indices select, and the check of the indices before anything is read or written."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

from ....base.records import record
from ....ir.graph import Instruction
from ....ir.ops.indexing import CHECK, indexed_axes, sliced_axes
from ....ir.types import contiguous_strides
from ...llvm.emitter import Reg, constant
from ...llvm.loops import Bound, FunctionWriter
from .copies import over_stretches


def contiguous_tail(shape: tuple[int, ...], by: list[int]) -> int:
    """The first axis from which on the written elements are contiguous."""
    expected = 1
    axis = len(shape)
    while axis > 0 and (by[axis - 1] == expected or shape[axis - 1] == 1):
        axis -= 1
        expected *= shape[axis]
    return axis


@record
class Slices:
    """Locations in an operand of the slices that tuples of indices select.

    A *place* is the sum of the indices times `steps`, in units of `unit` elements: the number of the slice
    where the first axes are indexed, and else the offset of its first element.
    """

    #: The axes that are indexed, and their sizes.
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    unit: int
    #: Sizes and strides of the loops over what of a slice lies apart.
    outer: tuple[tuple[int, int], ...]
    #: Elements that lie together.
    stretch: int

    @property
    def leading(self) -> bool:
        """Whether the first axes are indexed, so that a slice is one stretch."""
        return not self.outer and self.unit == self.stretch

    @property
    def elements(self) -> int:
        """Number of elements of a slice."""
        return math.prod([size for size, _ in self.outer]) * self.stretch

    def offsets(self) -> list[int]:
        """Offsets of the elements of a slice, in order."""
        outer = [range(0, size * stride, stride) for size, stride in self.outer]
        return [sum(at) for at in itertools.product(*outer, range(self.stretch))]

    def moves(
        self, w: FunctionWriter, dtype: str, place: str, packed: str, move: Callable[[str, str], None]
    ) -> None:
        """Call ``move(stretch in the slice at place, the same where slices are packed)`` for each stretch."""
        sizes = [size for size, _ in self.outer]
        axes = [
            (size, stride, math.prod(sizes[dim + 1 :]) * self.stretch)
            for dim, (size, stride) in enumerate(self.outer)
        ]
        over_stretches(w, dtype, axes, (place, packed), move)


def slices_of(shape: tuple[int, ...], count: int, axes: tuple[int, ...]) -> Slices:
    """The slices of an operand of `shape` that `count` indices lead to, along `axes` or the first ones."""
    indexed, strides = indexed_axes(count, axes), contiguous_strides(shape)
    sliced = sliced_axes(len(shape), count, axes)
    sizes = tuple([shape[axis] for axis in indexed])
    if indexed == tuple(range(count)):
        stretch = math.prod(shape[count:])
        return Slices(indexed, sizes, contiguous_strides(sizes), stretch, (), stretch)
    tail = contiguous_tail(tuple([shape[axis] for axis in sliced]), [strides[axis] for axis in sliced])
    return Slices(
        indexed,
        sizes,
        tuple([strides[axis] for axis in indexed]),
        1,
        tuple([(shape[axis], strides[axis]) for axis in sliced[:tail]]),
        math.prod([shape[axis] for axis in sliced[tail:]]),
    )


def check_indices(w: FunctionWriter, slices: Slices, first: int, count: int, lanes: int) -> None:
    """Return i32, 1 + number of the index that is out of range; `lanes` are looked at together."""
    for number, size in enumerate(slices.sizes):
        inside = _all_inside(w, f"%b{first + number}", size, count, lanes)
        w.when(w.not_(inside), functools.partial(w.ret, constant(number + 1, "i32")))


def over_indices(
    w: FunctionWriter,
    slices: Slices,
    first: int,
    bounds: tuple[Bound, Bound],
    body: Callable[[FunctionWriter, Reg, Reg], None],
) -> None:
    """Call ``body(w, number, place)`` per index tuple; all are in range, or limited to it where another
    thread of Python changes them meanwhile."""

    def run(number: Reg, _: list[Reg]) -> Sequence[Reg]:
        at = constant(0, "i64")
        for position, (size, step) in enumerate(zip(slices.sizes, slices.steps, strict=True)):
            index = w.load(w.offset(f"%b{first + position}", "i64", number), "i64")
            wrapped = w.select(w.lt(index, 0), w.add(index, size), index)
            limited = w.max(w.min(wrapped, size - 1), 0)
            at = w.add(at, w.mul(limited, step))
        body(w, number, at)
        return ()

    w.loop(*bounds, 1, run)


def _all_inside(w: FunctionWriter, indices: str, extent: int, count: int, lanes: int) -> Reg:
    """Whether all of `count` indices are in [-extent, extent)."""

    def check(number: Reg, state: list[Reg], lanes: int) -> Sequence[Reg]:
        index = w.load(w.offset(indices, "i64", number), "i64", lanes)
        return [w.and_(state[0], w.and_(w.ge(index, -extent), w.lt(index, extent)))]

    whole = count // lanes * lanes
    fine = constant(True, "bool", lanes if whole else 1)
    (fine,) = w.loop(0, whole, lanes, lambda number, state: check(number, state, lanes), [fine])
    if fine.lanes > 1:
        bits = w.packed(fine)
        fine = w.compute("icmp eq", "bool", 1, bits, Reg("-1", bits.dtype))
    (fine,) = w.loop(whole, count, 1, lambda number, state: check(number, state, 1), [fine])
    return fine


def index_messages(instruction: Instruction, slices: Slices) -> tuple[str, ...]:
    """Error message of each indexed axis for an index out of range."""
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    if instruction.op is CHECK:
        return (f"{instruction.attrs['error']}{where}",) * len(slices.axes)
    return tuple(
        f"{instruction.op.name}: an index is out of bounds for axis {axis} with size {size}{where}"
        for axis, size in zip(slices.axes, slices.sizes, strict=True)
    )
