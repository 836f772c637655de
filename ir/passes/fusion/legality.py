"""Legality of fusion: each function returns a decision, or a `Misfit` with the reason against the group.

A group has a domain and, once a reduction has joined, reduced axes. Members read of each other the element
at their own place. A reduction *across* the rows (the gradients of a layernorm's scale and shift, of a bias,
the sum of all rows' losses) is a member that nothing in the group reads: rows come one after the other, and
its result is known after the last one. It folds at least the outermost of the dimensions that rows lie along,
so that chunks of rows fold on their own; of a row's own dimensions all (the row first, then the rows) or none
(each element with those of other rows).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from ....base.machine import machine
from ....base.records import record
from ...access import identity, resolve
from ...graph import Instruction, Value
from ...grouping.groups import ACROSS, Coordinates, Unit, Units, domain_of, kept, reads_own_element, whole
from ...grouping.inlining import MAX_COLUMNS, Reads, is_computed, parts_of
from ...grouping.reasons import (
    CYCLE,
    FAR_COLUMNS,
    FOLDED_ACROSS,
    FULL,
    MAX_MEMBERS,
    OTHER_AXES,
    OTHER_ELEMENT,
    OTHER_SHAPE,
    Misfit,
    is_fusable,
    long_row,
    long_row_bytes,
    why_alone,
)
from ...registry import Kind
from ...types import Shape

#: A global, as looking up the member of an enumeration costs more than the comparison.
_ELEMENTWISE: Final = Kind.ELEMENTWISE

#: Many rows are worked on several at a time: what there is one of for each row is then computed in vectors.
MANY_ROWS: Final = 1 << 9
#: The maximum number of columns walked side by side, with partial results in the first cache.
FEW_COLUMNS: Final = 512


@record
class Placement:
    """Coordinates of an instruction in a group: those at which it reads, and those of its result."""

    own: Coordinates
    result: Coordinates


class Legality:
    """Decisions about the groups in `units` and the instructions that might join them."""

    def __init__(self, reads: Reads, units: Units) -> None:
        self.reads, self.units = reads, units

    # -- an instruction ---------------------------------------------------------------------------

    def extended(self, instruction: Instruction) -> tuple[Unit, list[Unit]] | None:
        """A fast path of `join` for an elementwise instruction that extends a group at each element's own
        place: the group, and the other groups that it reads, which stay apart. None where the general check
        is needed."""
        if instruction.op.kind is not _ELEMENTWISE or instruction.op.effect:
            return None
        inline, by_value = self.reads.inline, self.units.by_value
        unit: Unit | None = None
        #: The units that it reads, and whether each element of the domain reads only its own element of them.
        own_elements: dict[Unit, bool] = {}
        for operand in instruction.operands:
            source, access = self.reads.source(operand) if operand in inline else (operand, None)
            producer = by_value.get(source)
            if producer is None:
                continue
            if producer.merged is not None:
                producer = self.units[source]
            own = source not in producer.coordinates and (
                source is operand or access is identity(len(source.type.shape))
            )
            own_elements[producer] = own and own_elements.get(producer, True)
            if producer.domain is not None and (unit is None or producer.number > unit.number):
                unit = producer
        if (
            unit is None
            or unit.domain != instruction.results[0].type.shape
            or not own_elements.pop(unit)
            or len(unit.members) >= MAX_MEMBERS
            or not is_fusable(instruction)
        ):
            return None
        for other in own_elements:
            if other.depends_on(unit) or (other.domain is not None and self._may_be_one(unit, other)):
                return None
        return unit, list(own_elements)

    def _may_be_one(self, unit: Unit, other: Unit) -> bool:
        """Whether two groups of which an instruction reads both might be one."""
        assert unit.domain is not None
        assert other.domain is not None
        if unit.domain == other.domain:
            return self.merge(unit, other) is None
        rows, over = (unit, other) if other.axes is None else (other, unit)
        if rows.axes is None or over.axes is not None:
            return False
        assert rows.domain is not None
        assert over.domain is not None
        return len(over.domain) == len(rows.domain) - len(rows.axes)  # a map over the rows, see `rows`

    def join(self, instruction: Instruction, unit: Unit, others: list[Unit]) -> Placement | Misfit:
        """Place `instruction`, which also reads `others`, in `unit`."""
        if unit.domain is None:
            return why_alone(unit.members[-1]) or OTHER_SHAPE
        if len(unit.members) >= MAX_MEMBERS:
            return FULL
        if others and any(other.depends_on(unit) for other in others):
            return CYCLE  # a path would leave the group and come back
        return self.place(instruction, [unit])

    def place(self, instruction: Instruction, units: list[Unit]) -> Placement | Misfit:
        """Place `instruction` in the union of `units`, which have one domain."""
        domain, axes = domain_of(units)
        own: Coordinates | None = whole(len(domain))
        result = own
        if instruction.op.kind is Kind.REDUCTION:
            (operand,), own_axes = instruction.operands, instruction.attrs["axes"]
            if operand.shape == domain and axes in (None, own_axes):
                result, axes = kept(domain, own_axes), own_axes
            elif axes is None:
                return OTHER_AXES
            else:
                if operand.shape != domain:
                    own = self._row_coordinates(operand.shape, instruction.operands, units)
                if own is None:
                    return OTHER_AXES
                misfit = fold_across(instruction, own, domain, axes)
                if misfit is not None:
                    return misfit
                result = ACROSS
        elif instruction.result.shape != domain:
            own = result = self._row_coordinates(instruction.result.shape, instruction.operands, units)
        if own is None or result is None:
            return OTHER_SHAPE
        return self._read(instruction, own, units, axes) or Placement(own, result)

    def _read(
        self, instruction: Instruction, own: Coordinates, units: list[Unit], axes: tuple[int, ...] | None
    ) -> Misfit | None:
        """The reason why `instruction` cannot read the members of `units` at its `own` place; None where it
        can. It takes other elements, or it is a full-level op that reads a row-level value of a row that is
        too long to pass over twice."""
        domain, _ = domain_of(units)
        full = own == whole(len(domain))
        is_long = False
        inline, unit_of = self.reads.inline, self.units.get
        for operand in instruction.operands:
            is_view = operand in inline
            source, access = self.reads.source(operand) if is_view else (operand, None)
            unit = unit_of(source)
            if unit not in units or (full and not is_view and source not in unit.coordinates):
                continue  # it is from elsewhere, or at the full level, too
            theirs = unit.coordinates_of(source)
            if theirs is ACROSS:
                return FOLDED_ACROSS
            access = access if is_view else identity(len(source.type.shape))
            if not reads_own_element(access, own, theirs, source.shape):
                return OTHER_ELEMENT
            if full and theirs != own:
                is_long |= passes_are_long(domain, axes, instruction.operands[0].dtype)
        return long_row() if is_long else None

    def _row_coordinates(
        self, shape: Shape, operands: Iterable[Value], units: list[Unit]
    ) -> Coordinates | None:
        """Coordinates of a row-level op over `shape`, from its row-level operands in `units`."""
        domain, axes = domain_of(units)
        if axes is None:
            return None
        along: list[int | None] = [None] * len(shape)
        for operand in operands:
            source, access = resolve(operand, self.reads.defs)
            unit = self.units.get(source)
            if unit not in units or unit.coordinates_of(source) is ACROSS:
                continue
            for (axis, _, _), coordinate in zip(access.dims, unit.coordinates_of(source), strict=True):
                if axis is not None and coordinate is not None:
                    along[axis] = coordinate
        wide = [along[axis] for axis, size in enumerate(shape) if size != 1]
        if wide != [axis for axis, size in enumerate(domain) if axis not in axes and size != 1]:
            return None
        if any(size != 1 and domain[along[axis] or 0] != size for axis, size in enumerate(shape)):
            return None
        return tuple(along[axis] if size != 1 else None for axis, size in enumerate(shape))

    def columns(self, instruction: Instruction) -> list[Unit] | Misfit:
        """The units that compute the parts that `instruction` concatenates, if they may be one group, which
        writes each part to its place; else a Misfit."""
        parts = parts_of(instruction, self.reads.defs)
        sources = [self.reads.source(part)[0] for part in parts if is_computed(part, self.reads.defs)]
        units = list(dict.fromkeys(self.units[source] for source in sources))
        where = {self.units[source].coordinates_of(source) for source in sources}
        alone = any(unit.domain is None for unit in units)
        if len(where) != 1 or alone or ACROSS in where:  # what is folded across is never at hand
            return FAR_COLUMNS
        if len(sources) < len(parts):
            domain = units[0].domain
            full = domain is not None and where == {whole(len(domain))}
            if not full or any(unit.axes is not None for unit in units):
                return FAR_COLUMNS  # what lies in memory is copied by maps alone
        return units

    # -- two groups -------------------------------------------------------------------------------

    def merge(self, unit: Unit, other: Unit) -> Misfit | None:
        """The reason why the members of both cannot be one group; None where they can."""
        if other.domain is None:
            return why_alone(other.members[-1]) or OTHER_SHAPE
        if other.domain != unit.domain:
            return OTHER_SHAPE
        if None not in (unit.axes, other.axes) and unit.axes != other.axes:
            return OTHER_AXES
        if len(unit.members) + len(other.members) > MAX_MEMBERS:
            return FULL
        if self.units.path_through_others(unit, other):
            return CYCLE
        _, axes = domain_of([unit, other])
        for reader, source in ((unit, other), (other, unit)):
            if reader.axes == axes and not reader.depends_on(source):
                continue  # its members read nothing of the other's, and fit where they are
            for member in reader.members:
                misfit = self._read(member, reader.own_of(member), [unit, other], axes)
                if misfit is not None:
                    return misfit
        return None

    def rows(self, unit: Unit, rows: Unit) -> Coordinates | Misfit:
        """The coordinates of the members of `unit`, a map, as row-level members of `rows`: it has as many
        elements as that group has rows, which are short and many."""
        if rows.axes is None or unit.axes is not None or not unit.domain or rows.domain is None:
            return OTHER_SHAPE
        left = kept(rows.domain, rows.axes)
        length = math.prod(rows.domain[axis] for axis in rows.axes)
        everything = whole(len(unit.domain))
        if unit.domain != tuple([rows.domain[axis] for axis in left if axis is not None]):
            return OTHER_SHAPE
        if (
            max(rows.axes) != len(rows.domain) - 1
            or length * unit.members[0].result.dtype.itemsize > machine().l1_bytes // 16
            or math.prod(unit.domain) < MANY_ROWS
            or any(own != everything for own in unit.own.values())
        ):
            return OTHER_SHAPE
        return left

    def siblings(self, unit: Unit, other: Unit) -> list[Value] | Misfit:
        """Whether groups that read the same memory, of which neither waits for the other, may be one, where
        `unit` takes in `other`: the results of `other` that are then folded across `unit`'s rows."""
        if unit.depends_on(other) or other.depends_on(unit):
            return CYCLE
        if len(unit.members) + len(other.members) > MAX_MEMBERS:
            return FULL
        if unit.domain != other.domain:
            return OTHER_SHAPE
        return [] if unit.axes == other.axes else self._fold_all_across(other, unit.axes)

    def _fold_all_across(self, unit: Unit, axes: tuple[int, ...] | None) -> list[Value] | Misfit:
        """The results of `unit`'s reductions, where a group that reduces its rows over `axes` can fold all of
        them across the rows: nothing in `unit` reads them."""
        assert unit.domain is not None
        everything = whole(len(unit.domain))
        if axes is None or any(own != everything for own in unit.own.values()):
            return OTHER_AXES
        read = {self.reads.source(operand)[0] for member in unit.members for operand in member.operands}
        results = []
        for member in unit.members:
            if member.op.kind is Kind.REDUCTION:
                misfit = FOLDED_ACROSS if member.result in read else None
                misfit = misfit or fold_across(member, everything, unit.domain, axes)
                if misfit is not None:
                    return misfit
                results.append(member.result)
        return results or OTHER_AXES


def fold_across(
    reduction: Instruction, own: Coordinates, domain: Shape, axes: tuple[int, ...]
) -> Misfit | None:
    """The reason why `reduction`, which reads at `own`, cannot be folded across the rows of a group whose
    rows are reduced over `axes`, with vectors along the rows; None where it can."""
    wide = [axis for axis, size in enumerate(domain) if size != 1]
    outer = [axis for axis in wide if axis not in axes]
    if 0 in domain or not outer or wide[-1] not in axes:
        return OTHER_AXES
    folded = {own[axis] for axis in reduction.attrs["axes"]}
    row = {axis for axis in wide if axis in axes}
    if outer[0] not in folded or (row & folded and not row <= folded):
        return OTHER_AXES
    # it has to stay in the first cache, row after row
    return None if reduction.result.type.nbytes <= machine().l1_bytes else OTHER_AXES


def passes_are_long(domain: Shape, axes: tuple[int, ...] | None, dtype: np.dtype[Any]) -> bool:
    """Whether a row is too long to be passed over a second time. Few columns are not: they are walked side by
    side, whole rows of memory at a time, and reading them again costs less than a result between does. But
    so few that they fill no vector are: a map after the reduction has its vectors along the rows."""
    outer = [axis for axis, size in enumerate(domain) if size != 1 and axis not in (axes or ())]
    columns = math.prod(domain[axis] for axis in outer)
    nbytes = math.prod(domain[axis] for axis in axes or ()) * dtype.itemsize
    if outer and columns <= FEW_COLUMNS and outer[0] > max(axes or (0,)):
        return columns <= MAX_COLUMNS and nbytes > machine().l1_bytes // 8
    return nbytes > long_row_bytes()
