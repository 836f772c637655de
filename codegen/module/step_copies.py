"""Copies that each step of a loop makes, and their reasons: read from the plan of buffers, for those who ask
what is slow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...base.records import record
from ...ir.graph import Function, Instruction, Location, Value
from ...ir.ops.fusion import FUSION, READ
from ...ir.registry import Kind
from ...ir.types import TensorType
from ..plan.buffers import IN_PLACE, BufferLayout, BufferPlan

#: Copies of fewer bytes at each step of a loop are not worth a word.
MIN_COPIED: Final = 1 << 15


@record
class StepCopy:
    """A copy that a line makes at each step: `why`, and how to save it. `steps` is 0 where their number is
    known when the loop runs."""

    type: TensorType
    steps: int
    why: str
    remedy: str
    location: Location | None

    @property
    def title(self) -> str:
        """Size of the copy, and how often it is made."""
        return f"Copies {bytes_text(self.type.nbytes)} at {self._often}"

    @property
    def text(self) -> str:
        """A sentence about it, and one about how to save it."""
        much = f"{self.type}, {bytes_text(self.type.nbytes)}, at {self._often}"
        return f"This line copies {much}, because {self.why}. To save that, {self.remedy}."

    @property
    def _often(self) -> str:
        return f"each of {self.steps:,} steps" if self.steps else "each step"


def bytes_text(count: int) -> str:
    """A number of bytes in its unit."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} bytes"


def copy_of(instruction: Instruction, steps: int, *, in_place: bool) -> StepCopy | None:
    """Copy that an instruction of a loop's body makes, where an update is made `in_place` or not; None where
    that is little, or it is more than a copy."""
    kind, result = instruction.op.kind, instruction.results[0]
    if result.type.nbytes < MIN_COPIED:
        return None
    if instruction.op is FUSION and all(level == READ for level in instruction.attrs["levels"]):
        if not instruction.operands:
            return None  # constants are written, not copied
        why = "what reads it needs it in another order than it has in memory"
        remedy = "put it into that order once, before the loop"
    elif kind is Kind.CONCAT:
        why = "joined arrays are one array in memory"
        remedy = "make the whole array before the loop, and write its parts with x.at[...].set(part)"
    elif kind is Kind.GATHER:
        why = "what an index array chooses is put side by side before anything reads it"
        remedy = "choose single elements, as in x[rows, columns], or choose once, before the loop"
    elif kind.traits.updates_operand and not in_place:
        why = "the array that it writes to is read afterwards as it was before, or is kept"
        remedy = "read what you need of the array first, and carry the written one alone"
    else:
        return None
    return StepCopy(result.type, steps, why, remedy, instruction.location)


def step_copies(function: Function, plan: BufferPlan) -> Iterator[StepCopy]:
    """The copies at each step of the loops in the fused `function`, whose buffers `plan` has."""
    return _of_loops(function, plan, 1)


def _of_loops(function: Function, plan: BufferPlan, runs: int) -> Iterator[StepCopy]:
    for instruction in function.body:
        if instruction in plan.layouts:
            layout, _ = plan.layouts[instruction]
            steps = runs * (instruction.attrs.get("length") or 0) if instruction.op.kind is Kind.SCAN else 0
            looping = instruction.op.kind is not Kind.SWITCH
            for region, inner in zip(instruction.regions, layout.plans, strict=True):
                if looping:
                    yield from _of_step(instruction, region, inner, layout, steps)
                yield from _of_loops(region, inner, steps if looping else runs)


def _of_step(
    loop: Instruction, region: Function, plan: BufferPlan, layout: BufferLayout, steps: int
) -> Iterator[StepCopy]:
    for instruction in region.body:
        if instruction.results and instruction not in plan.layouts:
            copy = copy_of(instruction, steps, in_place=_is_in_place(instruction, plan, layout))
            if copy is not None:
                yield copy
    for _, source in plan.copies:
        if source.type.nbytes >= MIN_COPIED and source in region.params:
            why = "the next step finds in another place of the loop's state what this one was handed"
            remedy = "let each array keep its place, and take two steps in one where arrays trade places"
            yield StepCopy(source.type, steps, why, remedy, loop.location)


def _is_in_place(instruction: Instruction, plan: BufferPlan, layout: BufferLayout) -> bool:
    """Whether an update writes to the memory of what it updates."""
    if not instruction.op.kind.traits.updates_operand:
        return False
    before, after = (_place(value, plan) for value in (instruction.operands[0], instruction.result))
    if before == after:
        return True
    (kind, index), (new_kind, new_index) = before, after
    spares = layout.spares
    same = kind == "input" and new_kind == "output" and index == new_index
    return same and index < len(spares) and spares[index] == IN_PLACE


def _place(value: Value, plan: BufferPlan) -> tuple[str, int]:
    place = plan.places.get(value)
    return ("", 0) if place is None else (place.kind, place.index)
