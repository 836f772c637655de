"""Values by what they repeat, along axes of their own or along parts of axes that a reshape merged."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from typing import Final, TypeAlias, TypeVar

from .....base.records import record
from ....graph import Value
from ....registry import Attrs, Op
from ....types import Shape
from ..factors import groups_of, refined, wide

_T = TypeVar("_T")
#: Appends an op, sunk: ``emit(op, operands, attrs)``.
Emit: TypeAlias = Callable[[Op, Sequence[Value], Attrs], Value]
#: Ops along an axis that have no such axis in their results.
PLACES: Final = ("argmax", "argmin")


@record
class Line:
    """A value that is ``reshape(broadcast(value, fine), shape)``: `value` has as many axes as `fine`, and
    size 1 along those that are repeated. Each axis of the shape is `counts` axes of `fine`, at least one."""

    value: Value
    fine: Shape
    counts: tuple[int, ...]

    @property
    def repeated(self) -> tuple[bool, ...]:
        return tuple([own == 1 < size for own, size in zip(self.value.shape, self.fine, strict=True)])

    @property
    def is_plain(self) -> bool:
        """Whether each axis is one of `fine`."""
        return len(self.counts) == len(self.fine)

    @property
    def groups(self) -> list[range]:
        """The axes of `fine` that each axis is made of."""
        groups, first = [], 0
        for count in self.counts:
            groups.append(range(first, first + count))
            first += count
        return groups

    @property
    def shape(self) -> Shape:
        return tuple([math.prod(self.fine[axis] for axis in group) for group in self.groups])


@record
class CommonAxes:
    """Axes that one value has in common with others: its own sizes along the axes `fine`, of which each axis
    of the shape is `counts`."""

    sizes: Shape
    fine: Shape
    counts: tuple[int, ...]


def cut_by(line: Line, shape: Shape) -> CommonAxes | None:
    """The axes of a reshape of `line`, the fewest; None where a part of an element's run is cut from it."""
    if 0 in shape:
        return None
    runs, repeated = _runs(line.fine, line.repeated)
    fine = refined((runs, wide(shape)))
    if fine is None:
        return None
    flags = [own for own, group in zip(repeated, groups_of(fine, runs), strict=True) for _ in group]
    return _cut(fine, flags, shape)


def cut_together(lines: Sequence[Line], shape: Shape) -> list[CommonAxes] | None:
    """The axes that `lines` of one `shape` can all be cut to."""
    first = lines[0]
    if all(line.fine == first.fine and line.counts == first.counts for line in lines):
        return [CommonAxes(line.value.shape, line.fine, line.counts) for line in lines]
    fine = refined([wide(shape), *(wide(line.fine) for line in lines)])
    if 0 in shape or fine is None:
        return None
    counts = _cut(fine, [False] * len(fine), shape, merge=False)
    cuts = []
    for line in lines:
        own = [flag for flag, size in zip(line.repeated, line.fine, strict=True) if size != 1]
        flags = [
            flag for flag, group in zip(own, groups_of(fine, wide(line.fine)), strict=True) for _ in group
        ]
        cuts.append(CommonAxes(_cut(fine, flags, shape, merge=False).sizes, counts.fine, counts.counts))
    return cuts


def _runs(fine: Shape, repeated: Sequence[bool]) -> tuple[Shape, list[bool]]:
    """The axes of `fine` without those of size 1, neighbours that are alike in being `repeated` as one."""
    sizes: list[int] = []
    flags: list[bool] = []
    for size, own in zip(fine, repeated, strict=True):
        if size == 1:
            continue
        if flags and flags[-1] is own:
            sizes[-1] *= size
        else:
            sizes.append(size)
            flags.append(own)
    return tuple(sizes), flags


def _cut(fine: Shape, repeated: Sequence[bool], shape: Shape, *, merge: bool = True) -> CommonAxes:
    """The axes `fine`, none of which is 1, as parts of those of `shape`; axes of size 1 are one part."""
    groups = iter(groups_of(fine, wide(shape)))
    sizes: list[int] = []
    parts: list[int] = []
    counts = []
    for size in shape:
        group = next(groups) if size != 1 else ()
        own, flags = tuple([fine[axis] for axis in group]), [repeated[axis] for axis in group]
        if merge:
            own, flags = _runs(own, flags)
        own, flags = own or (1,), flags or [False]
        counts.append(len(own))
        parts += own
        sizes += [1 if flag else part for flag, part in zip(flags, own, strict=True)]
    return CommonAxes(tuple(sizes), tuple(parts), tuple(counts))


def without(values: Sequence[_T], axes: Container[int]) -> tuple[_T, ...]:
    """`values` of the axes other than `axes`."""
    return tuple([value for axis, value in enumerate(values) if axis not in axes])
