"""The stack that functions take for their slots: a limit, and slots that are counted against it.

Threads of users may have small stacks: 128 KiB is what musl gives by default, and 256 KiB what programs with
many threads ask for. So a kernel takes 64 KiB in all, its tasks and what they call included; what needs more
is in the arena, or its work is cut into parts.
"""

from __future__ import annotations

from typing import Final

from ...ir.errors import CompileError
from .operations import Operation, Slot
from .registers import MEMORY_BYTES

#: Bytes of stack that the slots of a kernel take at most, in all of its functions together.
STACK_BYTES: Final = 1 << 16


class Slots(list[Operation]):
    """The top of a function's entry block: its slots, and what is stored in them first."""

    def __init__(self) -> None:
        super().__init__()
        #: Bytes that the slots take.
        self.nbytes = 0

    def take(self, slot: Slot) -> str:
        """Add a slot; returns its pointer. Raises CompileError where the function would take too much."""
        align = max(slot.align, 8)
        self.nbytes += -(-slot.count * MEMORY_BYTES[slot.element] // align) * align
        check_stack(self.nbytes, f"slot {slot.text}")
        self.append(slot)
        return slot.text


def check_stack(nbytes: int, where: str) -> None:
    """Raise CompileError where `nbytes` of stack are more than a kernel may take."""
    if nbytes > STACK_BYTES:
        raise CompileError(f"{where}: {nbytes} bytes of stack, of which a kernel may take {STACK_BYTES}")
