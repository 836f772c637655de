"""Stack slots of functions, and the limit that they are counted against.

Threads of users may have small stacks: 128 KiB is what musl gives by default, and 256 KiB what programs with
many threads ask for. So the slots of a kernel take at most 64 KiB in those of its functions that call one
another. Slots for which a function has no room on the stack are in a scratch block, see `llvm.scratch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...base.errors import CompileError
from .control_operations import Return
from .function import Code, FunctionCode
from .operations import FunctionCall, Offset, Operation, Slot
from .registers import MEMORY_BYTES, constant, pointer

#: Bytes of stack that the slots of a kernel take at most, in functions of which each calls the next.
STACK_BYTES: Final = 1 << 16
#: Bytes of them in one function from which slots are in its scratch block.
FRAME_BYTES: Final = STACK_BYTES // 2
#: The alignment of scratch blocks, of which their sizes are multiples: C11 has `aligned_alloc` of no others.
BLOCK_ALIGNMENT: Final = 64
#: The pointer to a function's scratch block.
SCRATCH: Final = "%scratch"
#: The functions that take a block and give it back, and what the names of the arrays of blocks begin with.
TAKE: Final = "@scratch_take"
GIVE_BACK: Final = "@scratch_give_back"
KEPT_BLOCKS: Final = "@scratch_kept_"


class ScratchSlot(Offset):
    """A slot in the scratch block of its function: `count` elements from byte `start` on."""

    __slots__ = ("nbytes",)

    def __init__(self, text: str, start: int, nbytes: int) -> None:
        super().__init__(text, "i8", SCRATCH, constant(start, "i64"))
        self.nbytes = nbytes


class Slots(list[Operation]):
    """The top of a function's entry block: its slots, and what is stored in them first."""

    def __init__(self) -> None:
        super().__init__()
        #: Bytes that slots take on the stack, and in a scratch block.
        self.stack_bytes, self.scratch_bytes = 0, 0

    def take(self, slot: Slot) -> str:
        """Add a slot on the stack; returns its pointer. Raises CompileError where it is too large."""
        nbytes = self.stack_bytes + _whole_lines(slot)
        check_stack(nbytes, f"slot {slot.text}")
        self.stack_bytes = nbytes
        self.append(slot)
        return slot.text

    def take_any(self, slot: Slot) -> str:
        """Add a slot, in the scratch block where the stack has no room; returns its pointer."""
        if self.stack_bytes + _whole_lines(slot) <= FRAME_BYTES:
            return self.take(slot)
        assert slot.align == BLOCK_ALIGNMENT, "slots follow one another, and the allocator takes whole lines"
        nbytes = _whole_lines(slot)
        self.append(ScratchSlot(slot.text, self.scratch_bytes, nbytes))
        self.scratch_bytes += nbytes
        return slot.text


def with_scratch(operations: Sequence[Operation], nbytes: int) -> list[Operation]:
    """The `operations` of a function, which takes a scratch block first, and gives it back before it
    returns."""
    kept = pointer(kept_blocks(nbytes))
    taking: list[Operation] = [FunctionCall(TAKE, (kept, constant(nbytes, "i64")), SCRATCH, "ptr")]
    for operation in operations:
        if isinstance(operation, Return):
            taking.append(FunctionCall(GIVE_BACK, (kept, pointer(SCRATCH))))
        taking.append(operation)
    return taking


def scratch_on_stack(function: FunctionCode) -> FunctionCode:
    """`function` with its scratch block on the stack, for code that keeps no memory."""
    operations: list[Operation] = []
    for operation in function.operations:
        if isinstance(operation, FunctionCall) and operation.callee in (TAKE, GIVE_BACK):
            if operation.callee == TAKE:
                operations.append(Slot(SCRATCH, "i8", function.scratch_bytes, BLOCK_ALIGNMENT))
        else:
            operations.append(operation)
    return function.rewritten(operations)


def kept_blocks(nbytes: int) -> str:
    """The symbol of a module's array of pointers to blocks of `nbytes`, where null is no block."""
    return f"{KEPT_BLOCKS}{nbytes}"


def _whole_lines(slot: Slot) -> int:
    align = max(slot.align, 8)
    return -(-slot.count * MEMORY_BYTES[slot.element] // align) * align


def most_along_calls(code: Code, amount: Callable[[FunctionCode], int]) -> int:
    """The largest sum of the `amount` of functions in `code` of which each calls the next, or hands its
    address on."""
    functions = {f"@{part.name}": part for part in code if isinstance(part, FunctionCode)}
    sums: dict[str, int] = {}

    def most(name: str) -> int:
        if name not in sums:
            sums[name] = 0  # where a function calls itself
            calls = [
                operation for operation in functions[name].operations if isinstance(operation, FunctionCall)
            ]
            used = {text for call in calls for text in (call.callee, *[x.text for x in call.arguments])}
            inner = max(map(most, sorted(used & functions.keys())), default=0)
            sums[name] = amount(functions[name]) + inner
        return sums[name]

    return max(map(most, functions), default=0)


def check_stack(nbytes: int, where: str) -> None:
    """Raise CompileError where `nbytes` of stack are more than a kernel may take."""
    if nbytes > STACK_BYTES:
        raise CompileError(f"{where}: {nbytes} bytes of stack, of which a kernel may take {STACK_BYTES}")
