"""Groups while they grow: their members, where in the group's domain these read and write, and which groups
depend on which."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Final, TypeAlias, TypeVar

from ...base.records import field, record
from ..graph import Instruction, Value
from ..ops.fusion import ACROSS_ROWS, COLUMNS, EACH, FOLD, ROW
from ..registry import Access, Kind
from ..types import Shape
from .reasons import is_fusable

#: The domain dimension along which each dimension of a value runs; None for size 1.
Coordinates: TypeAlias = tuple[int | None, ...]
#: The coordinates of what is folded across rows: nowhere, as long as rows are folded.
ACROSS: Final[Coordinates] = (-1,)

_Key = TypeVar("_Key", Instruction, Value)

#: Globals, as looking up the member of an enumeration costs more than the comparison.
_CONCAT, _REDUCTION = Kind.CONCAT, Kind.REDUCTION


@record(eq=False, frozen=False)
class Unit:
    """A group of fused instructions, or (with no domain) one instruction that is not fused."""

    number: int
    domain: Shape | None
    axes: tuple[int, ...] | None = None
    members: list[Instruction] = field(default_factory=list)
    #: Coordinates of a member's operands, and of its result, where those are not at the full level: `own_of`
    #: and `coordinates_of` serve all.
    own: dict[Instruction, Coordinates] = field(default_factory=dict)
    coordinates: dict[Value, Coordinates] = field(default_factory=dict)
    #: The units that this one depends on, as bits: those of their numbers, or of units merged into them.
    dependencies: int = 0
    #: The bits of its own number, and of the units merged into it.
    bits: int = 0
    #: The unit that this one was merged into, or None.
    merged: Unit | None = None

    @staticmethod
    def of(instruction: Instruction, number: int) -> Unit:
        """A unit of `instruction` alone."""
        unit = Unit(number, None, members=[instruction])
        if not is_fusable(instruction):
            return unit
        if instruction.op.kind is Kind.REDUCTION:
            domain, unit.axes = instruction.operands[0].type.shape, instruction.attrs["axes"]
            unit.domain, unit.coordinates[instruction.results[0]] = domain, kept(domain, unit.axes)
        else:
            unit.domain = instruction.results[0].type.shape
        return unit

    def own_of(self, member: Instruction) -> Coordinates:
        """The coordinates at which `member` reads its operands."""
        own = self.own.get(member)
        return whole(len(self.domain or ())) if own is None else own

    def coordinates_of(self, value: Value) -> Coordinates:
        """The coordinates of `value`, the result of a member."""
        coordinates = self.coordinates.get(value)
        return whole(len(self.domain or ())) if coordinates is None else coordinates

    def put(self, member: Instruction, own: Coordinates, result: Coordinates) -> None:
        """Let `member` read its operands at `own`, and have its result at `result`."""
        everything = whole(len(self.domain or ()))
        if own != everything:
            self.own[member] = own
        if result != everything:
            self.coordinates[member.results[0]] = result

    def level(self, member: Instruction) -> str:
        """The level of a member in the group's region, see `ops.fusion`."""
        kind = member.op.kind
        if kind is _CONCAT:
            return COLUMNS
        if kind is _REDUCTION:
            return ACROSS_ROWS if self.coordinates.get(member.results[0]) is ACROSS else FOLD
        return ROW if member in self.own else EACH

    def depends_on(self, other: Unit) -> bool:
        """Whether a path leads from `other` to this unit."""
        return self.dependencies & other.bits != 0

    def survivor(self) -> Unit:
        """The unit that this one has been merged into, through all merges; itself if it has not been
        merged."""
        unit = self
        while unit.merged is not None:
            unit = unit.merged
        return unit


@functools.lru_cache(maxsize=64)
def whole(rank: int) -> Coordinates:
    """The coordinates of an op at the full level of a domain of this rank."""
    return tuple(range(rank))


def domain_of(units: list[Unit]) -> tuple[Shape, tuple[int, ...] | None]:
    """The domain that `units` share, and the reduced axes of those that reduce."""
    first = units[0]
    assert first.domain is not None
    if first.axes is not None or len(units) == 1:
        return first.domain, first.axes
    return first.domain, next((unit.axes for unit in units if unit.axes is not None), None)


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


class Units:
    """All units of a function, with the unit of each value and transitive dependencies among units."""

    def __init__(self) -> None:
        self.all: list[Unit] = []
        #: The unit that computes each value, or one that was merged into it: `get` gives that which is left.
        self.by_value: dict[Value, Unit] = {}
        #: The units that some unit depends on, as bits.
        self._needed = 0

    def get(self, value: Value) -> Unit | None:
        """The unit that computes `value`; None where nothing does, or it is repeated in its readers."""
        unit = self.by_value.get(value)
        if unit is not None and unit.merged is not None:
            unit = self.by_value[value] = unit.survivor()
        return unit

    def __getitem__(self, value: Value) -> Unit:
        unit = self.get(value)
        assert unit is not None
        return unit

    def add(self, instruction: Instruction, unit: Unit | None, producers: Iterable[Unit]) -> None:
        """Make `instruction`, which reads the units `producers`, a member of `unit`, or a new unit."""
        if unit is None:
            unit = Unit.of(instruction, len(self.all))
            unit.bits = 1 << unit.number
            self.all.append(unit)
        else:
            unit.members.append(instruction)
        for result in instruction.results:
            self.by_value[result] = unit
        before = unit.dependencies
        for producer in producers:
            survivor = producer if producer.merged is None else producer.survivor()
            if survivor is not unit:
                unit.dependencies |= survivor.dependencies | survivor.bits
        if unit.dependencies != before:
            self._needed |= unit.dependencies
            self._spread(unit)

    def add_to(self, unit: Unit, instruction: Instruction) -> None:
        """Make `instruction`, which reads no other unit, a member of `unit` with one result."""
        unit.members.append(instruction)
        self.by_value[instruction.results[0]] = unit

    def merge(self, unit: Unit, other: Unit) -> None:
        """Move `other`'s members into `unit`. *Requires*: `Legality.merge` does not refuse.

        What is larger stays where it is, so that many merges take time in proportion to the members.
        """
        unit.axes = unit.axes if unit.axes is not None else other.axes
        unit.members = _joined(unit.members, other.members)
        unit.own = _united(unit.own, other.own)
        unit.coordinates = _united(unit.coordinates, other.coordinates)
        unit.bits |= other.bits
        unit.dependencies = (unit.dependencies | other.dependencies) & ~unit.bits
        other.members, other.own, other.coordinates = [], {}, {}
        other.domain, other.merged, other.dependencies = None, unit, 0
        self._spread(unit)

    def path_through_others(self, unit: Unit, other: Unit) -> bool:
        """Whether a third unit depends on one of the two, and the other one on it."""
        if unit.depends_on(other):
            later, earlier = unit, other
        elif other.depends_on(unit):
            later, earlier = other, unit
        else:
            return False
        # what the earlier one depends on does not depend on it
        between = later.dependencies & ~(earlier.dependencies | earlier.bits)
        while between:
            highest = between.bit_length() - 1
            if self.all[highest].survivor().depends_on(earlier):
                return True
            between ^= 1 << highest
        return False

    def _spread(self, unit: Unit) -> None:
        """Give `unit`'s dependencies to everything that depends on it."""
        if not self._needed & unit.bits:
            return  # mostly: what has grown is what comes last
        for dependent in self.all:
            if dependent.dependencies & unit.bits:
                dependent.dependencies |= unit.dependencies


def _joined(first: list[Instruction], second: list[Instruction]) -> list[Instruction]:
    """Concatenate two lists in place, in the longer one."""
    if len(first) < len(second):
        second[:0] = first
        return second
    first += second
    return first


def _united(first: dict[_Key, Coordinates], second: dict[_Key, Coordinates]) -> dict[_Key, Coordinates]:
    """Merge two dictionaries without common keys in place, into the larger one."""
    if len(first) < len(second):
        first, second = second, first
    first.update(second)
    return first
