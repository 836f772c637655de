"""Repeated values in factored form: the unrepeated array with its repeated axes (see `repeats`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from ....base.records import record
from ...graph import Value
from ...grouping.inlining import MAX_COLUMNS
from ...types import Shape

#: Vectors lie along the last axis, which is as long as this.
MIN_COLUMNS: Final = 16


@record
class Factors:
    """A value in factors: `value`, whose axes are those of `fine` that are not `repeated`, repeated along the
    others and reshaped. No axis is 1."""

    value: Value
    fine: Shape
    repeated: tuple[bool, ...]
    #: The value before it was reshaped, if nothing else has been done to it since.
    whole: Value | None = None

    @property
    def among(self) -> Shape:
        """The shape of `value` among repeated axes, which are 1."""
        return tuple(1 if repeated else size for size, repeated in zip(self.fine, self.repeated, strict=True))

    @property
    def has_long_rows(self) -> bool:
        """Whether vectors along the last axis are filled: it is long, or repeated, or has a few columns,
        which are unrolled."""
        kept = kept_of(self.fine, self.repeated)
        if not kept or self.repeated[-1] or kept[-1] >= MIN_COLUMNS:
            return True
        return kept[-1] <= MAX_COLUMNS and len(kept) > 1 and kept[-2] >= MIN_COLUMNS


def grouped(fine: Shape, coarse: Shape) -> list[tuple[int, ...]] | None:
    """Group the axes of `fine`, none of which is 1, by the axis of `coarse` that they are merged to. None
    where `coarse` is no such merge."""
    groups, axis = [], 0
    for size in coarse:
        first, product = axis, 1
        while product < size and axis < len(fine):
            product *= fine[axis]
            axis += 1
        if product != size:
            return None
        groups.append(tuple(range(first, axis)))
    return groups if axis == len(fine) else None


def groups_of(fine: Shape, coarse: Shape) -> list[tuple[int, ...]]:
    """`grouped`, where axes are such groups."""
    groups = grouped(fine, coarse)
    assert groups is not None
    return groups


def wide(shape: Iterable[int]) -> Shape:
    """`shape` without axes of 1."""
    return tuple(size for size in shape if size != 1)


def kept_of(sizes: Shape, repeated: tuple[bool, ...]) -> Shape:
    """The sizes along the axes that are not repeated."""
    return tuple(size for size, own in zip(sizes, repeated, strict=True) if not own)


def common(parts: Sequence[Factors]) -> tuple[bool, ...]:
    """Whether all of `parts` repeat each axis."""
    return tuple(all(own) for own in zip(*(part.repeated for part in parts), strict=True))


def refined(shapes: Iterable[Shape]) -> Shape | None:
    """The fewest axes that can be merged to any of `shapes`, all of one size; None where there are none, or
    no elements."""
    places: set[int] = set()
    for shape in shapes:
        if 0 in shape:
            return None
        stride = 1
        for size in reversed(shape):
            places.add(stride)
            stride *= size
        places.add(stride)
    ordered = sorted(places)
    if any(later % earlier for earlier, later in itertools.pairwise(ordered)):
        return None
    return tuple(later // earlier for earlier, later in itertools.pairwise(ordered))[::-1]


#: The most places of an element that are written where it is computed; to more it is copied.
MAX_PLACES: Final = 8
