"""Fusion: group ops so that each group becomes one loop nest.

A group has a *domain* (a shape) and, once a reduction has joined, the domain's *reduced axes*. Its members
are elementwise ops at the full level (the domain's shape) or the row level (the domain without the reduced
axes), and reductions of full-level values over those axes. So softmax is one group: a maximum per row,
exponentials, a sum per row, a quotient. Reductions *across* the rows (`across.py`) are members that nothing
in the group reads: the gradients of a layernorm's scale and shift come out of the same pass.

Affine views, uniform constants, iotas and windows (`inlining.py`) are never members: they are index maps or
cheap, and are repeated inside every group that reads through them. A group becomes a ``fusion`` instruction
whose region computes it; a view that must exist in memory becomes a ``fusion`` of its own.

The algorithm is greedy and linear in program order: an op joins the groups of its producers where levels
and index maps fit and no path leaves a group and comes back (`Units` keeps transitive dependencies).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TypeAlias

from ...access import resolve
from ...effects import has_effect
from ...graph import Function, Instruction, Value
from ...registry import Kind
from ...types import Shape
from .cross_row_reductions import ACROSS, Coordinates, folds_across
from .groups import (
    MAX_MEMBERS,
    Unit,
    domain_of,
    is_map_of_rows,
    kept,
    move_to_rows,
    passes_are_long,
    reads_own_element,
)
from .horizontal_fusion import folded_by, siblings
from .inlining import columns_of, is_inline, sources
from .outlining import outline
from .reasons import ACROSS_ROWS, CYCLE, FULL, LONG_ROW, OTHER_AXES, OTHER_ELEMENT, OTHER_SHAPE
from .rematerialization_after import repeat_cheap

#: Told why an instruction did not join a group of producers: (instruction, what it reads of the group, why).
Note: TypeAlias = Callable[[Instruction, Instruction, str], None]


def fuse(function: Function, note: Note | None = None) -> Function:
    """*Requires*: no composites. *Ensures*: elementwise ops, reductions and views are in fusions, save
    reshapes of contiguous values and ops without scalar code; the same results. `note` is told what did not
    fit."""
    return _Fusion(function, note).run()


def why_alone(instruction: Instruction) -> str:
    """Why `instruction` is never a member of a group; empty where it may be."""
    op = instruction.op
    if _fusable(instruction):
        return ""
    if op.kind is Kind.ELEMENTWISE:
        missing = ", ".join(sorted({str(operand.dtype) for operand in instruction.operands}))
        return f"{op.name} has no machine code of its own for {missing}, and runs by its NumPy kernel"
    return f"{op.name} is a kernel of its own"


def _fusable(instruction: Instruction) -> bool:
    op = instruction.op
    if op.kind is Kind.ELEMENTWISE:
        return op.emit is not None and all(
            operand.dtype.kind in op.emit_kinds for operand in instruction.operands
        )
    return op.kind.traits.fusable


class _Fusion:
    def __init__(self, function: Function, note: Note | None) -> None:
        self.function, self.note = function, note
        self.defs: dict[Value, Instruction] = {
            result: instruction for instruction in function.body for result in instruction.results
        }
        self.units: list[Unit] = []
        self.unit_of: dict[Value, Unit] = {}
        #: The units that some unit depends on.
        self.needed = 0
        self.last_effect: Instruction | None = None
        defs = self.defs  # not through self, which would be a cycle
        self._sources = functools.cache(lambda value: list(sources(value, defs)))

    def run(self) -> Function:
        for instruction in self.function.body:
            if not is_inline(instruction, self.defs):
                self._place(instruction)
        joined = 1
        while joined:  # what was joined may read what others read, too
            joined = sum(self._join_sibling(*pair) for pair in siblings(self.units, self.defs))
        units = [(unit.members, unit.domain is not None) for unit in self.units if unit.members]
        return outline(*repeat_cheap(self.function, units))

    # -- grouping ---------------------------------------------------------------------------------

    def _place(self, instruction: Instruction) -> None:
        unit = self._join(instruction) if _fusable(instruction) else self._of_columns(instruction)
        if unit is None:
            unit = self._new_unit(instruction)
        unit.members.append(instruction)
        for result in instruction.results:
            self.unit_of[result] = unit
        self._depend(unit, self._producers(instruction))
        if has_effect(instruction):
            self.last_effect = instruction

    def _new_unit(self, instruction: Instruction) -> Unit:
        unit = Unit(len(self.units), None)
        self.units.append(unit)
        if not _fusable(instruction):
            return unit
        result = instruction.result
        if instruction.op.kind is Kind.REDUCTION:
            unit.domain, unit.axes = instruction.operands[0].shape, instruction.attrs["axes"]
            unit.coordinates[result] = kept(unit.domain, unit.axes)
        else:
            unit.domain = result.shape
            unit.coordinates[result] = tuple(range(len(result.shape)))
        unit.own[instruction] = tuple(range(len(unit.domain)))
        return unit

    def _producers(self, instruction: Instruction) -> list[Unit]:
        """The units that compute what `instruction` reads, and the last one with an effect if it has one
        too; latest first."""
        found = {}
        if self.last_effect is not None and has_effect(instruction):
            before = self.unit_of[self.last_effect.results[0]]
            found[before.number] = before
        for operand in instruction.operands:
            for source, _ in self._sources(operand):
                unit = self.unit_of.get(source)
                if unit is not None:
                    found[unit.number] = unit
        return sorted(found.values(), key=lambda unit: -unit.number)

    def _join(self, instruction: Instruction) -> Unit | None:
        producers = self._producers(instruction)
        if sum(self._join_rows(producer, other) for producer in producers for other in producers):
            producers = self._producers(instruction)
        for unit in producers:
            others = [producer for producer in producers if producer is not unit]
            misfit = self._misfit(instruction, unit, others)
            if misfit:
                self._tell(instruction, unit, misfit)
                continue
            for other in others:
                # what stays outside must not depend on what comes in: the group would read what it feeds
                feeds = any(unit.dependencies >> other.number & 1 for unit in others if unit.members)
                if feeds or not self._mergeable(unit, other):
                    self._tell(instruction, other, self._why_apart(unit, other, feeds))
                    continue
                if self._fit(instruction, [unit, other]) is not None:
                    self._merge(unit, other)
            fit = self._fit(instruction, [unit])
            assert fit is not None, "each merge was tried before"
            unit.own[instruction], unit.coordinates[instruction.result] = fit
            if instruction.op.kind is Kind.REDUCTION and fit[1] is not ACROSS:
                unit.axes = instruction.attrs["axes"]
            return unit
        return None

    def _join_rows(self, rows: Unit, unit: Unit) -> bool:
        """Take `unit` into `rows` if it is a map over the rows of that group."""
        if not unit.members or not is_map_of_rows(unit, rows):
            return False
        before = unit.domain, unit.own, unit.coordinates
        move_to_rows(unit, rows)
        if self._mergeable(rows, unit):
            self._merge(rows, unit)
            return True
        unit.domain, unit.own, unit.coordinates = before
        return False

    def _of_columns(self, instruction: Instruction) -> Unit | None:
        """The group that computes what `instruction` puts side by side: it writes that where it belongs."""
        columns = columns_of(instruction, self.defs)
        where = {self.unit_of[column].coordinates.get(column) for column in columns}
        if len(where) != 1 or None in where or ACROSS in where:  # what is folded across rows is never at hand
            return None
        unit = self.unit_of[columns[0]]
        for column in columns[1:]:
            other = self.unit_of[column]
            if other is not unit:
                if not self._mergeable(unit, other):
                    return None
                self._merge(unit, other)
        unit.coordinates[instruction.result] = ACROSS  # nothing reads it here
        unit.own[instruction] = (None,) * instruction.result.type.ndim
        return unit

    def _tell(self, instruction: Instruction, unit: Unit, why: str) -> None:
        """Note why `instruction` is not in `unit`, with the first member that it reads there."""
        for operand in instruction.operands if self.note else ():
            for source, _ in self._sources(operand):
                if self.note and self.unit_of.get(source) is unit:
                    return self.note(instruction, self.defs[source], why)

    def _misfit(self, instruction: Instruction, unit: Unit, others: list[Unit]) -> str:
        """Why `instruction` cannot join `unit`, where it also reads `others`; empty where it can."""
        if unit.domain is None:
            return why_alone(unit.members[-1])
        if len(unit.members) >= MAX_MEMBERS:
            return FULL
        if any(other.dependencies >> unit.number & 1 for other in others):
            return CYCLE  # a path would leave the group and come back
        if self._fit(instruction, [unit]) is not None:
            return ""
        return self._why_unfit(instruction, unit) if self.note else OTHER_SHAPE

    def _why_unfit(self, instruction: Instruction, unit: Unit) -> str:
        """Why `_fit` refuses."""
        domain, axes = domain_of([unit])
        own: Coordinates | None = tuple(range(len(domain)))
        if instruction.op.kind is Kind.REDUCTION:
            if instruction.operands[0].shape != domain or axes not in (None, instruction.attrs["axes"]):
                return OTHER_AXES
        elif instruction.result.shape != domain:
            own = self._row_coordinates(instruction.result.shape, instruction.operands, [unit])
        if own is None:
            return OTHER_SHAPE
        for operand in instruction.operands:
            for source, access in self._sources(operand):
                if self.unit_of.get(source) is not unit:
                    continue
                if unit.coordinates[source] is ACROSS:
                    return ACROSS_ROWS
                if not reads_own_element(access, own, unit.coordinates[source], source.shape):
                    return OTHER_ELEMENT
        return LONG_ROW

    def _fit(self, instruction: Instruction, units: list[Unit]) -> tuple[Coordinates, Coordinates] | None:
        """The coordinates at which `instruction` reads and those of its result in the union of `units`, which
        have one domain; None if it cannot be a member."""
        domain, axes = domain_of(units)
        own: Coordinates | None = tuple(range(len(domain)))
        result = own
        if instruction.op.kind is Kind.REDUCTION:
            (operand,), own_axes = instruction.operands, instruction.attrs["axes"]
            if operand.shape == domain and axes in (None, own_axes):
                result, axes = kept(domain, own_axes), own_axes
            elif axes is None:
                return None
            else:
                if operand.shape != domain:
                    own = self._row_coordinates(operand.shape, instruction.operands, units)
                if own is None or not folds_across(instruction, own, domain, axes):
                    return None
                result = ACROSS
        elif instruction.result.shape != domain:
            own = result = self._row_coordinates(instruction.result.shape, instruction.operands, units)
        if own is None or result is None:
            return None
        return (own, result) if self._reads_fit(instruction, own, units, axes) else None

    def _reads_fit(
        self, instruction: Instruction, own: Coordinates, units: list[Unit], axes: tuple[int, ...] | None
    ) -> bool:
        """Whether what `instruction` reads of the members of `units` is just its own element, and no
        full-level op reads back a row-level value of a row that is too long to pass over twice."""
        domain, _ = domain_of(units)
        full = own == tuple(range(len(domain)))
        for operand in instruction.operands:
            for source, access in self._sources(operand):
                unit = self.unit_of.get(source)
                if unit not in units:
                    continue
                theirs = unit.coordinates[source]
                if theirs is ACROSS or not reads_own_element(access, own, theirs, source.shape):
                    return False
                if full and theirs != own and passes_are_long(domain, axes, instruction.operands[0].dtype):
                    return False
        return True

    def _row_coordinates(
        self, shape: Shape, operands: Iterable[Value], units: list[Unit]
    ) -> Coordinates | None:
        """Coordinates of a row-level op over `shape`, from its row-level operands in `units`."""
        domain, axes = domain_of(units)
        if axes is None:
            return None
        found: list[int | None] = [None] * len(shape)
        for operand in operands:
            source, access = resolve(operand, self.defs)
            unit = self.unit_of.get(source)
            if unit not in units or unit.coordinates[source] is ACROSS:
                continue
            for (axis, _, _), coordinate in zip(access.dims, unit.coordinates[source], strict=True):
                if axis is not None and coordinate is not None:
                    found[axis] = coordinate
        wide = [found[axis] for axis, size in enumerate(shape) if size != 1]
        if wide != [axis for axis, size in enumerate(domain) if axis not in axes and size != 1]:
            return None
        if any(size != 1 and domain[found[axis] or 0] != size for axis, size in enumerate(shape)):
            return None
        return tuple(found[axis] if size != 1 else None for axis, size in enumerate(shape))

    def _mergeable(self, unit: Unit, other: Unit) -> bool:
        """Whether the members of both can be one group."""
        if other.domain is None or other.domain != unit.domain:
            return False
        if None not in (unit.axes, other.axes) and unit.axes != other.axes:
            return False
        if len(unit.members) + len(other.members) > MAX_MEMBERS or self._path_through_others(unit, other):
            return False
        _, axes = domain_of([unit, other])
        for one, two in ((unit, other), (other, unit)):
            if one.axes == axes and not one.dependencies >> two.number & 1:
                continue  # its members read nothing of the other's, and fit where they are
            for member in one.members:
                if not self._reads_fit(member, one.own[member], [unit, other], axes):
                    return False
        return True

    @staticmethod
    def _why_apart(unit: Unit, other: Unit, feeds: bool) -> str:
        """Why a group that was joined does not take in another producer's."""
        if other.domain is None:
            return why_alone(other.members[-1])
        if feeds:
            return CYCLE
        if other.domain != unit.domain:
            return OTHER_SHAPE
        if None not in (unit.axes, other.axes) and unit.axes != other.axes:
            return OTHER_AXES
        if len(unit.members) + len(other.members) > MAX_MEMBERS:
            return FULL
        return OTHER_ELEMENT

    def _join_sibling(self, unit: Unit, other: Unit) -> bool:
        """Make groups that read the same memory one, where neither waits for the other: the one that reduces
        rows takes in the one that folds across them."""
        apart = not (unit.dependencies >> other.number | other.dependencies >> unit.number) & 1
        if not apart or len(unit.members) + len(other.members) > MAX_MEMBERS or unit.domain != other.domain:
            return False
        if unit.axes == other.axes:
            self._merge(unit, other)
            return True
        for one, two in ((unit, other), (other, unit)):
            across = folded_by(two, one.axes, self.defs)
            if across:
                two.coordinates.update(dict.fromkeys(across, ACROSS))
                self._merge(one, two)
                return True
        return False

    def _merge(self, unit: Unit, other: Unit) -> None:
        """Move `other`'s members into `unit`. *Requires*: `_mergeable`."""
        unit.axes = unit.axes if unit.axes is not None else other.axes
        unit.members += other.members
        unit.own.update(other.own)
        unit.coordinates.update(other.coordinates)
        for member in other.members:
            for result in member.results:
                self.unit_of[result] = unit
        moved, kept = 1 << other.number, 1 << unit.number
        for one in self.units:
            if one.dependencies & moved:
                one.dependencies = one.dependencies & ~moved | kept
        unit.dependencies = (unit.dependencies | other.dependencies) & ~(moved | kept)
        if self.needed & moved:
            self.needed |= kept
        other.members, other.domain = [], None
        self._spread(unit)

    def _path_through_others(self, unit: Unit, other: Unit) -> bool:
        a, b = 1 << unit.number, 1 << other.number
        between = (unit.dependencies | other.dependencies) & ~(a | b)
        while between:
            lowest = between & -between
            if self.units[lowest.bit_length() - 1].dependencies & (a | b):
                return True
            between ^= lowest
        return False

    def _depend(self, unit: Unit, producers: Iterable[Unit]) -> None:
        before = unit.dependencies
        for producer in producers:
            if producer is not unit:
                unit.dependencies |= producer.dependencies | 1 << producer.number
        if unit.dependencies != before:
            self.needed |= unit.dependencies
            self._spread(unit)

    def _spread(self, unit: Unit) -> None:
        """Give `unit`'s dependencies to everything that depends on it."""
        own = 1 << unit.number
        if not self.needed & own:
            return  # mostly: what is grown is what comes last
        for one in self.units:
            if one.dependencies & own:
                one.dependencies |= unit.dependencies
