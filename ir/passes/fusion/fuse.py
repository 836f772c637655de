"""Fusion: group ops so that each group becomes one loop nest.

A group has a *domain* (a shape) and, once a reduction has joined, the domain's *reduced axes*. Its members
are elementwise ops at the full level (the domain's shape) or the row level (the domain without the reduced
axes), and reductions of full-level values over those axes. So softmax is one group: a maximum per row,
exponentials, a sum per row, a quotient. Reductions *across* the rows (`legality.py`) are members that nothing
in the group reads: the gradients of a layernorm's scale and shift come out of the same pass.

Affine views, uniform constants, iotas and windows (`inlining.py`) are never members: they are index maps or
cheap, and are repeated inside every group that reads through them. A group becomes a ``fusion`` instruction
whose region computes it, with the domain, the axes and the members' levels as attributes; a view that must
exist in memory becomes a ``fusion`` of its own.

The algorithm is greedy and linear in program order: an op joins the groups of its producers where levels
and index maps fit and no path leaves a group and comes back (`Units` keeps transitive dependencies).
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Final, TypeAlias

from ...dataflow import has_effect
from ...graph import Function, Instruction
from ...grouping.groups import ACROSS, Unit, Units
from ...grouping.inlining import Reads
from ...grouping.outlining import outline
from ...grouping.reasons import CYCLE, OTHER_SHAPE, Misfit, is_fusable
from ...registry import Kind
from .horizontal_fusion import siblings
from .legality import Legality, Placement
from .rematerialization_after import repeat_cheap

#: Told why an instruction did not join a group of producers: (instruction, what it reads of the group, why).
Note: TypeAlias = Callable[[Instruction, Instruction, str], None]

_NUMBER: Final = attrgetter("number")


def fuse(function: Function, note: Note | None = None) -> Function:
    """*Requires*: no composites. *Ensures*: elementwise ops, reductions and views are in fusions, save
    reshapes of contiguous values and ops without scalar code; the same results. `note` is told what did not
    fit."""
    return _Fusion(function, note).run()


class _Fusion:
    def __init__(self, function: Function, note: Note | None) -> None:
        self.function, self.note = function, note
        self.reads = Reads(function)
        self.units = Units()
        self.legality = Legality(self.reads, self.units)
        self.last_effect: Instruction | None = None

    def run(self) -> Function:
        inline, extended = self.reads.inline, self.legality.extended
        for instruction in self.function.body:
            if instruction.results and instruction.results[0] in inline:
                continue
            extension = extended(instruction)
            if extension is None or (self.note and extension[1]):  # why it does not join those is told
                self._place(instruction)
            elif extension[1]:
                self.units.add(instruction, *extension)
            else:
                self.units.add_to(extension[0], instruction)
        joined = 1
        while joined:  # what was joined may read what others read, too
            joined = sum(self._join_sibling(*pair) for pair in siblings(self.units.all, self.reads))
        units = [unit for unit in self.units.all if unit.members]
        return outline(*repeat_cheap(self.function, self.reads, units))

    def _place(self, instruction: Instruction) -> None:
        producers = self._producers(instruction)
        if is_fusable(instruction):
            unit = self._join(instruction, producers)
        else:
            is_joined = instruction.op.kind is Kind.CONCAT
            unit = self._join_columns(instruction, producers) if is_joined else None
        self.units.add(instruction, unit, producers)
        if (instruction.op.effect or instruction.regions) and has_effect(instruction):
            self.last_effect = instruction

    def _producers(self, instruction: Instruction) -> list[Unit]:
        """The units that compute what `instruction` reads, and the last one with an effect if it has one
        too; latest first."""
        producers: dict[Unit, None] = {}
        inline, unit_of = self.reads.inline, self.units.get
        if self.last_effect is not None and has_effect(instruction):
            producers[self.units[self.last_effect.results[0]]] = None
        for operand in instruction.operands:
            unit = unit_of(self.reads.source(operand)[0] if operand in inline else operand)
            if unit is not None:
                producers[unit] = None
        return sorted(producers, key=_NUMBER, reverse=True) if len(producers) > 1 else list(producers)

    def _join(self, instruction: Instruction, producers: list[Unit]) -> Unit | None:
        """The group of `producers` that `instruction` joins, with others of them where they may be one."""
        legality = self.legality
        if not producers:
            return None
        rows = [producer for producer in producers if producer.axes is not None]
        if rows and len(producers) > 1:
            maps = [producer for producer in producers if producer.axes is None and producer.domain]
            if sum([self._join_rows(unit, other) for unit in rows for other in maps]):
                producers = self._producers(instruction)
        groups = producers if self.note else [each for each in producers if each.domain is not None]
        for unit in groups:
            others = [producer for producer in producers if producer is not unit]
            placement = legality.join(instruction, unit, others)
            if isinstance(placement, Misfit):
                if self.note:
                    self._tell(instruction, unit, placement)
                continue
            for other in others if len(groups) > 1 else ():
                # what stays outside must not depend on what comes in: the group would read what it feeds
                feeds = any(unit.depends_on(other) for unit in others if unit.members)
                misfit = CYCLE if feeds else legality.merge(unit, other)
                if misfit is not None:
                    self._tell(instruction, other, misfit)
                elif isinstance(both := legality.place(instruction, [unit, other]), Placement):
                    self.units.merge(unit, other)
                    placement = both
            unit.put(instruction, placement.own, placement.result)
            if instruction.op.kind is Kind.REDUCTION and placement.result is not ACROSS:
                unit.axes = instruction.attrs["axes"]
            return unit
        return None

    def _join_rows(self, rows: Unit, unit: Unit) -> bool:
        """Take `unit` into `rows` if it is a map over the rows of that group."""
        own = self.legality.rows(unit, rows) if unit.members else OTHER_SHAPE
        if isinstance(own, Misfit):
            return False
        before = unit.domain, unit.own, unit.coordinates
        unit.domain, unit.own = rows.domain, dict.fromkeys(unit.members, own)
        unit.coordinates = dict.fromkeys([member.results[0] for member in unit.members], own)
        if self.legality.merge(rows, unit) is None:
            self.units.merge(rows, unit)
            return True
        unit.domain, unit.own, unit.coordinates = before
        return False

    def _join_columns(self, instruction: Instruction, producers: list[Unit]) -> Unit | None:
        """Merge the groups that compute the parts that `instruction` concatenates, so that they write its
        result; None where they cannot be one group."""
        computing = self.legality.columns(instruction)
        if isinstance(computing, Misfit):
            return None
        unit, *others = computing
        for other in others:
            if self.legality.merge(unit, other) is not None:
                return None
            self.units.merge(unit, other)
        if any(producer.survivor().depends_on(unit) for producer in producers):
            return None
        unit.coordinates[instruction.result] = ACROSS  # nothing reads it here
        unit.own[instruction] = (None,) * instruction.result.type.ndim
        return unit

    def _join_sibling(self, unit: Unit, other: Unit) -> bool:
        """Make groups that read the same memory one, where neither waits for the other: the one that reduces
        rows takes in the one that folds across them."""
        for rows, folded in ((unit, other), (other, unit)):
            across = self.legality.siblings(rows, folded)
            if not isinstance(across, Misfit):
                folded.coordinates.update(dict.fromkeys(across, ACROSS))
                self.units.merge(rows, folded)
                return True
        return False

    def _tell(self, instruction: Instruction, unit: Unit, misfit: Misfit) -> None:
        """Note why `instruction` is not in `unit`, with the first member that it reads there."""
        for operand in instruction.operands:
            source, _ = self.reads.source(operand)
            if self.note and self.units.get(source) is unit:
                return self.note(instruction, self.reads.defs[source], misfit.text)
