"""Ops on lines along an axis that a reshape merged of repeated axes and others.

    cumsum(ravel(x))   =  cumsum(x, 1) + what the rows before add up to, row by row
    argsort(ravel(x))  =  the places of the elements that are equal, and of their copies, element by element

Running folds go over the inner axes, and then over the folds of those. Equal elements are sorted by their
places: the copies of a group of equal elements along the first axis follow each other as wholes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....builder import Builder
from ....dtypes import INT64
from ....graph import Value
from ....registry import OPS, Attrs, Op
from .pieces import in_pieces
from .repeated_axes import Emit, Line

#: The fold of each running fold, and the op that combines two.
RUNNING: Final[Mapping[str, tuple[str, str]]] = {
    "cumsum": ("sum", "add"), "cumprod": ("prod", "mul"), "cummax": ("max", "maximum"),
    "cummin": ("min", "minimum"),
}  # fmt: skip


def running_fold(b: Builder, emit: Emit, op: Op, line: Line, group: range, attrs: Attrs) -> Value | None:
    """The running fold of `line` along the axes of `group`, which are there in the result; along others it
    has the size of what is repeated. None where there is none."""
    if line.value.dtype.kind not in "fiu" or op.name not in RUNNING:
        return None
    return _Running(b, emit, op, bool(attrs["reverse"])).along(line.value, line.fine, list(group))


class _Running:
    """Running folds with `op`, from the end where they are `reverse`."""

    def __init__(self, b: Any, emit: Emit, op: Op, reverse: bool) -> None:
        self.b, self.emit, self.op, self.reverse = b, emit, op, reverse
        fold, combine = RUNNING[op.name]
        self.fold, self.combine = OPS[fold], OPS[combine]

    def along(self, value: Value, fine: Sequence[int], axes: list[int]) -> Value:
        """The running fold of `value`, repeated to `fine` along `axes`, over all of them."""
        shape = tuple([fine[axis] if axis in axes else size for axis, size in enumerate(value.shape)])
        *outer, result = [
            self.b.broadcast_to(part, shape) if part.shape != shape else part
            for part in self._parts(value, fine, axes)
        ]
        for before in reversed(outer):  # in one nest, without what some of the axes have in common
            (result,) = self.b.append(self.combine, (before, result), {})
        return result

    def _parts(self, value: Value, fine: Sequence[int], axes: list[int]) -> list[Value]:
        """The fold of what is in front along each axis, the last one's with the element itself."""
        first, *rest = axes
        if not rest:
            return [self._over(value, fine, first)]
        folded = self.emit(self.fold, (self._sized(value, fine, rest),), {"axes": tuple(rest)})
        ones = [1 if axis in rest else size for axis, size in enumerate(value.shape)]
        running = self._over(self.b.reshape(folded, shape=tuple(ones)), fine, first)
        return [self._before(running, first), *self._parts(value, fine, rest)]

    def _sized(self, value: Value, fine: Sequence[int], axes: Sequence[int]) -> Value:
        shape = [fine[axis] if axis in axes else size for axis, size in enumerate(value.shape)]
        result: Value = self.b.broadcast_to(value, tuple(shape))
        return result

    def _over(self, value: Value, fine: Sequence[int], axis: int) -> Value:
        every = self._sized(value, fine, (axis,))
        return self.emit(self.op, (every,), {"axis": axis, "reverse": self.reverse})

    def _before(self, running: Value, axis: int) -> Value:
        """`running` one step before, and in front of all the number that changes nothing."""
        b, shape = self.b, running.shape
        one = tuple([1 if place == axis else size for place, size in enumerate(shape)])
        nothing = b.full(value=self._nothing(running), shape=one, dtype=running.dtype)
        start = [int(self.reverse) if place == axis else 0 for place in range(len(shape))]
        size = [own - (place == axis) for place, own in enumerate(shape)]
        kept = self.emit(
            OPS["slice"], (running,),
            {"start": tuple(start), "size": tuple(size), "step": (1,) * len(shape)},
        )  # fmt: skip
        parts = (kept, nothing) if self.reverse else (nothing, kept)
        result: Value = b.concat(*parts, axis=axis)
        return result

    def _nothing(self, running: Value) -> float | int:
        dtype = running.dtype
        if self.op.name in ("cumsum", "cumprod"):
            return dtype.type(self.op.name == "cumprod").item()  # type: ignore[no-any-return]
        least = self.op.name == "cummax"
        if dtype.kind == "f":
            return -math.inf if least else math.inf
        limits = np.iinfo(dtype)
        return int(limits.min if least else limits.max)


def sorted_places(b: Any, line: Line, group: range) -> Value:
    """The places of the elements of `line`, in order, along the merged axes of `group`, its last ones. Along
    others the result has the size of what is repeated."""
    places = _SortedPlaces(b, line, group)
    total = places.lines * places.whole
    stacked = in_pieces(b, total, places.arrays, places.piece)
    return b.reshape(stacked, shape=(*line.value.shape[: group[0]], places.whole))  # type: ignore[no-any-return]


class _SortedPlaces:
    """Sorts the elements that are not repeated, and numbers their copies."""

    def __init__(self, b: Any, line: Line, group: range) -> None:
        self.b = b
        #: The sizes of the merged axes, and whether each is repeated.
        self.axes = [(line.fine[axis], line.repeated[axis]) for axis in group]
        self.whole = math.prod(size for size, _ in self.axes)
        self.count = math.prod(size for size, repeated in self.axes if not repeated)
        self.lines = line.value.type.size // self.count
        shape = (self.lines, self.count)
        flat = b.reshape(line.value, shape=shape)
        self.order, ordered = b.argsort(flat), b.sort(flat)
        self.number = b.iota(shape=shape, axis=1, dtype=INT64)
        before = _shifted(b, ordered)
        nan = b.logical_and(b.ne(ordered, ordered), b.ne(before, before))
        changes = b.logical_and(b.ne(ordered, before), b.logical_not(nan))
        # where the elements begin that are alike, and how many they are: equal, and then of one index along
        # the axes in front of a repeated one
        bounds = self._bounds(changes)
        kept, copies = self.count, self.whole // self.count
        for size, repeated in self.axes:
            if repeated:
                copies //= size
                continue
            kept //= size
            if copies > 1:
                above = b.floor_divide(self.order, kept)
                changes = b.logical_or(changes, b.ne(above, _shifted(b, above)))
                bounds += self._bounds(changes)
        #: The arrays that `piece` reads, one number for each element that is not repeated.
        self.arrays = [
            b.reshape(own, shape=(self.lines * self.count,)) for own in (*bounds, self._first_places())
        ]

    def _bounds(self, changes: Value) -> list[Value]:
        b = self.b
        start = b.cummax(b.where(changes, self.number, 0), axis=1, reverse=False)
        following = b.where(_shifted(b, changes, back=True), b.add(self.number, 1), self.count)
        return [start, b.sub(b.cummin(following, axis=1, reverse=True), start)]

    def _first_places(self) -> Value:
        """The place of each element's first copy."""
        b, rest = self.b, self.order
        result: Value = b.mul(rest, 0)
        kept, below = self.count, self.whole
        for size, repeated in self.axes:
            below //= size
            if not repeated:
                kept //= size
                index = b.floor_divide(rest, kept)
                rest = b.sub(rest, b.mul(index, kept))
                result = b.add(result, b.mul(index, below))
        return result

    def piece(self, b: Any, number: Value, arrays: Sequence[Value]) -> Value:
        """The places of the elements that are in order the ones of `number`."""
        *bounds, first_places = arrays
        turn = b.floor_divide(number, self.whole)
        at = b.sub(number, b.mul(turn, self.whole))
        first = b.mul(turn, self.count)
        copies, below = self.whole // self.count, self.whole
        member = b.floor_divide(at, copies)
        start, size = [b.gather(own, b.add(member, first)) for own in bounds[:2]]
        levels = iter(zip(bounds[2::2], bounds[3::2], strict=True))
        within, place = b.sub(at, b.mul(start, copies)), b.mul(at, 0)
        for extent, repeated in self.axes:
            below //= extent
            if repeated:
                copies //= extent
                block = b.mul(size, copies)
                turn = b.floor_divide(within, block)
                within = b.sub(within, b.mul(turn, block))
                place = b.add(place, b.mul(turn, below))
            elif copies > 1:
                member = b.add(b.add(start, b.floor_divide(within, copies)), first)
                own_start, size = [b.gather(own, member) for own in next(levels)]
                within = b.sub(within, b.mul(b.sub(own_start, start), copies))
                start = own_start
        return b.add(place, b.gather(first_places, b.add(b.add(start, within), first)))  # type: ignore[no-any-return]


def _shifted(b: Any, value: Value, *, back: bool = False) -> Any:
    """Each element's neighbour before, or behind it, along the last of two axes; at the end itself."""
    lines, count = value.shape
    end = b.slice(value, start=(0, (count - 1) * back), size=(lines, 1), step=(1, 1))
    rest = b.slice(value, start=(0, int(back)), size=(lines, count - 1), step=(1, 1))
    return b.concat(*((rest, end) if back else (end, rest)), axis=1)
