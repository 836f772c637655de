"""Code objects as lists of instructions, with jump targets as positions and exception handlers."""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Any, Final

from ..base.records import record

#: Instructions that do nothing to values.
_SKIPPED: Final = frozenset(
    ("RESUME", "NOP", "CACHE", "PRECALL", "EXTENDED_ARG", "COPY_FREE_VARS", "MAKE_CELL", "NOT_TAKEN")
)


@record(eq=False)
class Instruction:
    """One instruction. `argument` is what `dis` calls ``argval``, `number` the plain operand; `target` is the
    position that it may jump to, -1 where it does not jump."""

    position: int
    name: str
    offset: int
    number: int
    argument: Any
    target: int
    line: int


@record(eq=False)
class Handler:
    """An exception handler for the instructions between two positions: control goes to `target`, and `depth`
    values stay on the stack."""

    start: int
    end: int
    target: int
    depth: int
    pushes_offset: bool


@record(eq=False)
class Program:
    """A code object's instructions, the positions that something jumps to, and the handlers by position."""

    code: CodeType
    instructions: tuple[Instruction, ...]
    targets: frozenset[int]
    handlers: tuple[Handler, ...]


#: The key of an instruction of any function: the identity of its code, and its offset. Code itself is a bad
#: key, since Python hashes all of its constants each time.
Site = tuple[int, int]


@functools.lru_cache(maxsize=2048)
def decode(code: CodeType) -> Program:
    """The program of `code`."""
    rows = [row for row in dis.get_instructions(code) if row.opname not in _SKIPPED]
    offsets = [row.offset for row in rows]
    position_of = _Positions(offsets)
    instructions: list[Instruction] = []
    line = code.co_firstlineno
    for row in rows:
        line = getattr(row.positions, "lineno", None) or line
        target = position_of.at(row.argval) if row.opcode in dis.hasjrel or row.opcode in dis.hasjabs else -1
        instructions.append(
            Instruction(len(instructions), row.opname, row.offset, row.arg or 0, row.argval, target, line)
        )
    handlers = tuple(
        [
            Handler(position_of.at(entry.start), position_of.at(entry.end), position_of.at(entry.target),
                    entry.depth, entry.lasti)
            for entry in _exception_table(code)
        ]
    )  # fmt: skip
    targets = {instruction.target for instruction in instructions if instruction.target >= 0} | {
        handler.target for handler in handlers
    }
    return Program(code, tuple(instructions), frozenset(targets), handlers)


#: Instructions behind which control does not go on, and those of them that end a call.
_JUMPS: Final = frozenset(
    ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP", "JUMP_NO_INTERRUPT")
)
_RETURNS: Final = frozenset(("RETURN_VALUE", "RETURN_CONST"))
#: Beginnings of names of instructions that keep or drop a value.
_KEEPS: Final = ("STORE_", "POP_", "YIELD_")
_ENDS: Final = _JUMPS | _RETURNS | {"RAISE_VARARGS", "RERAISE"}


@functools.lru_cache(maxsize=2048)
def always_runs(code: CodeType, position: int) -> bool:
    """Whether each call of `code` that returns runs the instruction at `position`, where loops along
    something have steps."""
    instructions = decode(code).instructions
    pending, seen = [0], {position}
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        instruction = instructions[current]
        if instruction.name in _RETURNS:
            return False
        is_around = instruction.name == "FOR_ITER" and current < position < instruction.target
        if instruction.target >= 0 and not is_around:
            pending.append(instruction.target)
        if instruction.name not in _ENDS:
            pending.append(current + 1)
    return True


@functools.lru_cache(maxsize=2048)
def only_raises(code: CodeType, position: int) -> bool:
    """Whether what the instruction at `position` gives becomes a part of an error that is raised, and nothing
    else."""
    for instruction in decode(code).instructions[position + 1 :]:
        if instruction.name == "RAISE_VARARGS":
            return True
        if instruction.target >= 0 or instruction.name in _ENDS or instruction.name.startswith(_KEEPS):
            return False
    return False


class _Positions:
    """Map from byte offsets to positions in the list. Offsets of skipped instructions map to the next one."""

    def __init__(self, offsets: list[int]) -> None:
        self._by_offset = {offset: position for position, offset in enumerate(offsets)}
        self._offsets = offsets

    def at(self, offset: int) -> int:
        position = self._by_offset.get(offset)
        if position is None:
            position = next(
                (i for i, other in enumerate(self._offsets) if other >= offset), len(self._offsets)
            )
            self._by_offset[offset] = position
        return position


def _exception_table(code: CodeType) -> list[Any]:
    parse: Any = getattr(dis, "_parse_exception_table")  # noqa: B009 - not in the stubs
    return list(parse(code))
