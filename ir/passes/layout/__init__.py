"""Passes that decide where values lie: borders, joined parts, writes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...registry import Kind

if TYPE_CHECKING:
    from ...graph import Instruction

#: Elements from which on a value is large: smaller ones are cheap to have in memory.
LARGE: Final = 1 << 17
#: Bytes of a fill from which on `fills` looks at it: smaller ones cost nothing that could be felt.
MIN_FILL: Final = 1 << 12


def is_large_broadcast(instruction: Instruction) -> bool:
    """Whether an instruction repeats something, and the whole is large."""
    if instruction.op.name != "broadcast":
        return False
    whole, (source,) = instruction.result.type, instruction.operands
    return whole.size >= LARGE and source.type.size < whole.size


def is_large_fill(instruction: Instruction) -> bool:
    """Whether an instruction makes an array that is worth not being filled."""
    return instruction.op.kind is Kind.CREATION and instruction.result.type.nbytes >= MIN_FILL
