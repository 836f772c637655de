"""What is repeated in its readers rather than computed once: views, uniform constants, counters, windows.

A *window* is an `update` of zeros, as the gradient of a slice is: its readers take elements of the value
inside, and zero elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ...access import resolve, view_access
from ...graph import Instruction, Value
from ...registry import Access, Kind

#: How zero is written, and not minus zero.
_ZEROS: Final = ("0", "0.0", "False")

#: More columns are put side by side by copying them: single elements far apart are slow to write.
MOST_COLUMNS: Final = 4

Definitions = Mapping[Value, Instruction]


def is_inline(instruction: Instruction | None, defs: Definitions) -> bool:
    """Whether an instruction is repeated in its readers rather than computed once."""
    if instruction is None:
        return False
    if instruction.op.name in ("full", "iota") or view_access(instruction) is not None:
        return True
    return is_window(instruction, defs)


def is_window(instruction: Instruction, defs: Definitions) -> bool:
    """Whether an instruction puts a value, in steps of 1, among zeros; not one that is a window or counts."""
    if instruction.op.kind is not Kind.UPDATE or any(step != 1 for step in instruction.attrs["step"]):
        return False
    if instruction.operands[1].type.size == 0:
        return False
    around, inside = (defs.get(resolve(operand, defs)[0]) for operand in instruction.operands)
    if around is None or around.op.name != "full" or str(around.attrs["value"]) not in _ZEROS:
        return False
    return inside is None or (inside.op.kind is not Kind.UPDATE and inside.op.name != "iota")


def sources(value: Value, defs: Definitions) -> Iterator[tuple[Value, Access | None]]:
    """What is read for `value`: a value and the index map to it, None where a window lies between."""
    source, access = resolve(value, defs)
    definition = defs.get(source)
    if definition is not None and definition.op.kind is Kind.UPDATE and is_window(definition, defs):
        yield resolve(definition.operands[1], defs)[0], None
    else:
        yield source, access


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
