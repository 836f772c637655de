"""Groups while they grow: their members, where in the group's domain these read and write, and which groups
depend on which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from ...graph import Instruction, Value
from ...ops.fusion import ACROSS_ROWS, COLUMNS, EACH, FOLD, READ, ROW
from ...records import field, record
from ...registry import Access, Kind
from ...types import Shape
from .reasons import is_fusable

#: For each dimension of a value, the domain dimension it runs along; None for size 1.
Coordinates: TypeAlias = tuple[int | None, ...]
#: The coordinates of what is folded across rows: nowhere, as long as rows are folded.
ACROSS: Final[Coordinates] = (-1,)


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

    @staticmethod
    def of(instruction: Instruction, number: int) -> Unit:
        """A unit of `instruction` alone."""
        unit = Unit(number, None, members=[instruction])
        if not is_fusable(instruction):
            return unit
        result = instruction.result
        if instruction.op.kind is Kind.REDUCTION:
            domain, unit.axes = instruction.operands[0].shape, instruction.attrs["axes"]
            unit.coordinates[result] = kept(domain, instruction.attrs["axes"])
        else:
            domain = result.shape
            unit.coordinates[result] = tuple(range(len(domain)))
        unit.domain, unit.own[instruction] = domain, tuple(range(len(domain)))
        return unit

    def level(self, instruction: Instruction) -> str:
        """The level of an instruction in the group's region, see `ops.fusion`."""
        own = self.own.get(instruction)
        if own is None or self.domain is None:
            return READ
        if instruction.op.kind is Kind.CONCAT:
            return COLUMNS
        if instruction.op.kind is Kind.REDUCTION:
            return ACROSS_ROWS if self.coordinates[instruction.result] is ACROSS else FOLD
        return EACH if own == tuple(range(len(self.domain))) else ROW


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


class Units:
    """All units of a function, with the unit of each value and transitive dependencies among units."""

    def __init__(self) -> None:
        self.all: list[Unit] = []
        self.of: dict[Value, Unit] = {}
        #: The units that some unit depends on, as bits.
        self.needed = 0

    def add(self, instruction: Instruction, unit: Unit | None, producers: Iterable[Unit]) -> None:
        """Make `instruction`, which reads the units `producers`, a member of `unit`, or a new unit."""
        if unit is None:
            unit = Unit.of(instruction, len(self.all))
            self.all.append(unit)
        else:
            unit.members.append(instruction)
        for result in instruction.results:
            self.of[result] = unit
        before = unit.dependencies
        for producer in producers:
            if producer is not unit:
                unit.dependencies |= producer.dependencies | 1 << producer.number
        if unit.dependencies != before:
            self.needed |= unit.dependencies
            self._spread(unit)

    def merge(self, unit: Unit, other: Unit) -> None:
        """Move `other`'s members into `unit`. *Requires*: `Legality.merge` does not refuse."""
        unit.axes = unit.axes if unit.axes is not None else other.axes
        unit.members += other.members
        unit.own.update(other.own)
        unit.coordinates.update(other.coordinates)
        for member in other.members:
            for result in member.results:
                self.of[result] = unit
        moved, stays = 1 << other.number, 1 << unit.number
        for dependent in self.all:
            if dependent.dependencies & moved:
                dependent.dependencies = dependent.dependencies & ~moved | stays
        unit.dependencies = (unit.dependencies | other.dependencies) & ~(moved | stays)
        if self.needed & moved:
            self.needed |= stays
        other.members, other.domain = [], None
        self._spread(unit)

    def path_through_others(self, unit: Unit, other: Unit) -> bool:
        """Whether a third unit depends on one of the two, and the other one on it."""
        a, b = 1 << unit.number, 1 << other.number
        between = (unit.dependencies | other.dependencies) & ~(a | b)
        while between:
            lowest = between & -between
            if self.all[lowest.bit_length() - 1].dependencies & (a | b):
                return True
            between ^= lowest
        return False

    def _spread(self, unit: Unit) -> None:
        """Give `unit`'s dependencies to everything that depends on it."""
        own = 1 << unit.number
        if not self.needed & own:
            return  # mostly: what has grown is what comes last
        for dependent in self.all:
            if dependent.dependencies & own:
                dependent.dependencies |= unit.dependencies
