"""Reasons why an instruction is not in a group, in the user's words, as `explain` prints them.

The functions of `legality` return a `Misfit`, or what they decided.
"""

from __future__ import annotations

import functools
from typing import Final

from ...base.machine import machine
from ...base.records import record
from ..graph import Instruction
from ..registry import Kind

#: Groups stop growing here. Values beyond what the processor holds lie on the stack, which is in the first
#: cache; between groups they are arrays. So groups pay at any size that was measured: expressions of 300 to
#: 4,000 ops in groups of 200 took 1.0 to 9 times as long to run as in one, and 1.0 to 5 times as long to
#: compile.
MAX_MEMBERS: Final = 2_000


#: A global, as looking up the member of an enumeration costs more than the comparison.
_ELEMENTWISE: Final = Kind.ELEMENTWISE


@record
class Misfit:
    """The reason why something does not fit into a group."""

    text: str


FULL: Final = Misfit(f"the group has {MAX_MEMBERS} ops already, and grows no further")
CYCLE: Final = Misfit(
    "something outside the group lies between them, and it must run after one and before the other"
)
OTHER_AXES: Final = Misfit("it reduces over other axes, or another shape, than the group's reduction")
OTHER_SHAPE: Final = Misfit("its shape is not that of the group's loops")
OTHER_ELEMENT: Final = Misfit(
    "it reads other elements than its own (through a transposed, reversed or shifted view), which are not "
    "computed yet when the loop needs them"
)
FOLDED_ACROSS: Final = Misfit("it needs what is folded across all rows, which is known after the last one")
FAR_COLUMNS: Final = Misfit("the columns that it puts side by side are not computed at one place")


def long_row_bytes() -> int:
    """Rows longer than this are not kept for a second pass over the row."""
    return machine().l2_bytes // 8


def long_row() -> Misfit:
    """The reason against a second pass over a long row."""
    return Misfit(
        f"it needs a reduction's result again for every element, and rows over {long_row_bytes() >> 10} KiB "
        "are not passed over twice"
    )


def is_fusable(instruction: Instruction) -> bool:
    """Whether `instruction` may be a member of a group."""
    op = instruction.op
    if op.kind is not _ELEMENTWISE:
        return op.kind.traits.fusable
    if op.emit is None:
        return False
    served = op.emit_kinds
    return False not in [operand.type.dtype.kind in served for operand in instruction.operands]


def why_alone(instruction: Instruction) -> Misfit | None:
    """The reason why `instruction` is never a member of a group; None where it may be."""
    op = instruction.op
    if is_fusable(instruction):
        return None
    if op.kind is Kind.ELEMENTWISE:
        missing = ", ".join(sorted({str(operand.dtype) for operand in instruction.operands}))
        return Misfit(f"{op.name} has no machine code of its own for {missing}, and runs by its NumPy kernel")
    return _kernel_of_its_own(op.name)


@functools.lru_cache(maxsize=64)
def _kernel_of_its_own(name: str) -> Misfit:
    return Misfit(f"{name} is a kernel of its own")
