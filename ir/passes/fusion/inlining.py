"""What is repeated in its readers rather than computed once: views, uniform constants, counters, windows.

A *window* is an `update` of zeros, as the gradient of a slice is: its readers take elements of the value
inside, and zero elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from ...access import compose, identity, resolve, view_access
from ...graph import Instruction, Value
from ...registry import Access, Kind

#: How zero is written, and not minus zero.
_ZEROS: Final = ("0", "0.0", "False")

#: More columns are put side by side by copying them: single elements far apart are slow to write.
MOST_COLUMNS: Final = 4

Definitions: TypeAlias = Mapping[Value, Instruction]
#: What is read for a value: another value, and the index map to it; None where a window lies between.
Source: TypeAlias = tuple[Value, Access | None]


class Reads:
    """What is read for each value of a body of instructions, looked up once, and what is inline there."""

    def __init__(self, body: Sequence[Instruction]) -> None:
        self.defs: dict[Value, Instruction] = {
            result: instruction for instruction in body for result in instruction.results
        }
        #: The inline instructions by their results.
        self.inline: dict[Value, Instruction] = {}
        #: The results of affine views, with the index map to the operand.
        self._views: dict[Value, Source] = {}
        self._sources: dict[Value, Source] = {}
        for instruction in body:
            access = view_access(instruction)
            if access is not None:
                self._views[instruction.result] = instruction.operands[0], access
            if access is not None or is_inline(instruction, self.defs):
                self.inline[instruction.result] = instruction

    def source(self, value: Value) -> Source:
        """What is read for `value`."""
        source = self._sources.get(value)
        if source is None:
            source = self._sources[value] = self._source(value)
        return source

    def _source(self, value: Value) -> Source:
        source, access = self._through_views(value)
        definition = self.inline.get(source)
        if definition is not None and definition.op.kind is Kind.UPDATE:
            return self._through_views(definition.operands[1])[0], None
        return source, access

    def _through_views(self, value: Value) -> Source:
        access: Access | None = None
        while (view := self._views.get(value)) is not None:
            value, step = view
            assert step is not None
            access = step if access is None else compose(access, step)
        return value, identity(len(value.type.shape)) if access is None else access

    def is_inline(self, instruction: Instruction) -> bool:
        """Whether `instruction` is repeated in its readers rather than computed once."""
        return bool(instruction.results) and instruction.results[0] in self.inline


def is_inline(instruction: Instruction | None, defs: Definitions) -> bool:
    """Whether an instruction is repeated in its readers rather than computed once."""
    if instruction is None:
        return False
    if instruction.op.name in ("full", "iota") or view_access(instruction) is not None:
        return True
    return is_window(instruction, defs)


def is_window(instruction: Instruction, defs: Definitions) -> bool:
    """Whether an instruction puts a value, in steps of 1, among zeros; not one that is itself read through a
    window, or counts."""
    if instruction.op.kind is not Kind.UPDATE or any(step != 1 for step in instruction.attrs["step"]):
        return False
    if instruction.operands[1].type.size == 0:
        return False
    around, inside = (defs.get(resolve(operand, defs)[0]) for operand in instruction.operands)
    if around is None or around.op.name != "full" or str(around.attrs["value"]) not in _ZEROS:
        return False
    return inside is None or (inside.op.name != "iota" and not is_window(inside, defs))


def columns_of(instruction: Instruction, defs: Definitions) -> tuple[Value, ...]:
    """The computed values that a concatenation puts side by side as columns, where a nest that computes them
    can write each into its place; none for anything else."""
    if instruction.op.kind is not Kind.CONCAT or len(instruction.operands) > MOST_COLUMNS:
        return ()
    if instruction.attrs["axis"] != instruction.result.type.ndim - 1:
        return ()
    columns = []
    for operand in instruction.operands:
        source, access = resolve(operand, defs)
        definition = defs.get(source)
        own = tuple((axis, 1, 0) for axis in range(len(source.shape)))
        if definition is None or not definition.op.kind.traits.fusable:
            return ()
        if operand.shape != (*source.shape, 1) or any(
            size != 1 and dim != place
            for dim, place, size in zip(access.dims, own, source.shape, strict=True)
        ):
            return ()
        columns.append(source)
    return tuple(columns)
