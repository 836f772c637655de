"""Groups while they grow: their members, and where in the group's domain these read and write."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...graph import Instruction, Value
from ...records import field, record
from ...registry import Access
from ...types import Shape
from .cross_row_reductions import Coordinates

#: Groups stop growing here: beyond it, compile time and register pressure cost more than a pass.
MAX_MEMBERS: Final = 200
#: Rows longer than this many bytes are not kept for a second pass over the row.
ROW_BYTES: Final = 1 << 17
#: Rows of at most so many bytes, and at least so many of them, are worked on several at a time: what there is
#: one of for each row is then computed in vectors, too.
SHORT_ROW_BYTES: Final = 1 << 11
MANY_ROWS: Final = 1 << 9
#: So many columns' partial results stay in the first cache.
COLUMNS: Final = 512


@record(eq=False, frozen=False)
class Unit:
    """A group of fused instructions, or (with no domain) one instruction that is not fused."""

    number: int
    domain: Shape | None
    axes: tuple[int, ...] | None = None
    members: list[Instruction] = field(default_factory=list)
    #: Where a member's operands are read, and where its result is.
    own: dict[Instruction, Coordinates] = field(default_factory=dict)
    coordinates: dict[Value, Coordinates] = field(default_factory=dict)
    dependencies: int = 0


def domain_of(units: list[Unit]) -> tuple[Shape, tuple[int, ...] | None]:
    """The domain that `units` share, and the reduced axes of those that reduce."""
    domain = units[0].domain
    assert domain is not None
    return domain, next((unit.axes for unit in units if unit.axes is not None), None)


def kept(domain: Shape, axes: tuple[int, ...]) -> Coordinates:
    """The coordinates of a reduction's result: the domain's dimensions that are left."""
    return tuple(axis for axis in range(len(domain)) if axis not in axes)


def reads_own_element(access: Access | None, own: Coordinates, theirs: Coordinates, shape: Shape) -> bool:
    """Whether an op at coordinates `own` reads, of a member of shape `shape` at coordinates `theirs`, just
    the element at its own place in the domain; not through a window, where there is no index map."""
    if access is None:
        return False
    for (axis, step, offset), coordinate, size in zip(access.dims, theirs, shape, strict=True):
        if size == 1:
            continue
        if axis is None or step != 1 or offset != 0 or own[axis] != coordinate:
            return False
    return True


def passes_are_long(domain: Shape, axes: tuple[int, ...] | None, dtype: np.dtype[Any]) -> bool:
    """Whether a row is too long to be passed over a second time. Few columns are not: they are walked side by
    side, whole rows of memory at a time, and reading them again costs less than a result between does."""
    outer = [axis for axis, size in enumerate(domain) if size != 1 and axis not in (axes or ())]
    columns = math.prod(domain[axis] for axis in outer)
    if outer and columns <= COLUMNS and outer[0] > max(axes or (0,)):
        return False
    return math.prod(domain[axis] for axis in axes or ()) * dtype.itemsize > ROW_BYTES


def is_map_of_rows(unit: Unit, rows: Unit) -> bool:
    """Whether `unit` is a map over as many elements as the group `rows` has rows, which are short and many:
    it may then be computed there, a row at a time."""
    if rows.axes is None or unit.axes is not None or not unit.domain or rows.domain is None:
        return False
    left = [axis for axis in range(len(rows.domain)) if axis not in rows.axes]
    length = math.prod(rows.domain[axis] for axis in rows.axes)
    everything = tuple(range(len(unit.domain)))
    return (
        unit.domain == tuple([rows.domain[axis] for axis in left])
        and max(rows.axes) == len(rows.domain) - 1
        and length * unit.members[0].result.dtype.itemsize <= SHORT_ROW_BYTES
        and math.prod(unit.domain) >= MANY_ROWS
        and all(own == everything for own in unit.own.values())
    )


def move_to_rows(unit: Unit, rows: Unit) -> None:
    """Make `unit`'s members ones of the row level of `rows`. *Requires*: `is_map_of_rows`."""
    assert rows.domain is not None
    assert rows.axes is not None
    own = kept(rows.domain, rows.axes)
    unit.domain = rows.domain
    unit.own = dict.fromkeys(unit.own, own)
    unit.coordinates = dict.fromkeys(unit.coordinates, own)
