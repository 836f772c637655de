"""Follows the instructions of a code object with what is known of its values, along every branch.

Where branches meet, values are joined; a loop is followed until nothing new comes in. So what is found holds
for every way through the code. Instructions that are not listed here drop their operands, which count as
handed to somebody unknown, and their results are unknown.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

from .bytecode import Handler, Instruction, Program, Site, always_runs, decode, only_raises
from .values import (
    MAX_ALTERNATIVES,
    UNKNOWN,
    Cell,
    Iteration,
    join,
    options,
)

if TYPE_CHECKING:
    from .calls import Reader

#: The number of visits of one instruction with changed values after which values that still change become
#: unknown.
_MAX_VISITS: Final = 6
_GENERATOR: Final = 0x20 | 0x80 | 0x200
_ABSENT: Final = object()


State = tuple[list[Any], dict[str, Any]]
#: The effect of an instruction on the values of an execution. It returns the next position unless that is the
#: following one, and -1 where control ends.
Action = Callable[["Execution", "Instruction"], "int | None"]
ACTIONS: dict[str, Action] = {}


def on(*names: str) -> Callable[[Action], Action]:
    """Register the decorated function as what the instructions `names` do."""

    def register(action: Action) -> Action:
        for name in names:
            ACTIONS[name] = action
        return action

    return register


class Execution:
    """One run through a code object with given locals."""

    def __init__(
        self,
        reader: Reader,
        code: CodeType,
        module: dict[str, Any],
        arguments: dict[str, Any],
        cells: dict[str, Cell],
    ) -> None:
        self.reader, self.code, self.module = reader, code, module
        self.program: Program = decode(code)
        reader.uses.codes[id(code)] = code
        self.cells = dict(cells)
        self.locals: dict[str, Any] = {}
        for name, value in arguments.items():
            self.locals[name] = value
        for name in code.co_cellvars:
            self.cells[name] = Cell(arguments.get(name))
        self.stack: list[Any] = []
        self.results: list[Any] = []
        self.yields: list[Any] = []
        self.keywords: tuple[str, ...] = ()
        #: The instruction that is followed.
        self.position = 0
        self._states: dict[int, State] = {}
        self._visits: dict[int, int] = {}
        self._pending: list[int] = []

    def run(self) -> Any:
        """Follow the code to its end and return its result."""
        self._merge(0, [], self.locals)
        instructions, handlers = self.program.instructions, self.program.handlers
        while self._pending:
            position = self._pending.pop()
            stack, variables = self._states[position]
            self.stack, self.locals = list(stack), dict(variables)
            first = True
            while position >= 0:
                if not first and position in self.program.targets:
                    self._merge(position, self.stack, self.locals)
                    break
                first = False
                instruction = instructions[position]
                self.position = position
                self.reader.step()
                if handlers:
                    self._enter_handlers(position, instruction)
                position = self._execute(position, instruction)
        if self.code.co_flags & _GENERATOR:
            for value in self.results:
                self.reader.escapes.escape(value)
            return Iteration(join(*self.yields) if self.yields else UNKNOWN)
        return join(*self.results) if self.results else UNKNOWN

    def is_certain(self) -> bool:
        """Whether each call runs the instruction that is followed."""
        return not self.code.co_flags & _GENERATOR and always_runs(self.code, self.position)

    def words_an_error(self) -> bool:
        """Whether what the instruction that is followed gives is only raised, as the text of an error."""
        return only_raises(self.code, self.position)

    def site(self, instruction: Instruction) -> Site:
        """The key of an instruction among those of all functions."""
        return id(self.code), instruction.offset

    # -- control flow ------------------------------------------------------------------------------

    def _merge(self, position: int, stack: list[Any], variables: dict[str, Any]) -> None:
        """Merge these values into the state at `position`, which control reaches with them."""
        before = self._states.get(position)
        if before is None:
            self._states[position] = list(stack), dict(variables)
            self._pending.append(position)
            return
        visits = self._visits[position] = self._visits.get(position, 0) + 1
        old_stack, old_variables = before
        changed = False
        new_stack, new_variables = old_stack[: len(stack)], old_variables
        for place, (old, new) in enumerate(zip(old_stack, stack, strict=False)):
            if old is not new:
                new_stack[place] = merged = self._joined(old, new, visits)
                changed = changed or merged != old
        for name, value in variables.items():
            old = old_variables.get(name, _ABSENT)
            if old is value:
                continue
            merged = value if old is _ABSENT else self._joined(old, value, visits)
            if old is _ABSENT or merged != old:
                if new_variables is old_variables:
                    new_variables = dict(old_variables)
                new_variables[name] = merged
                changed = True
        if changed:
            self._states[position] = new_stack, new_variables
            if position not in self._pending:
                self._pending.append(position)

    def _joined(self, old: Any, new: Any, visits: int) -> Any:
        if old == new or old is UNKNOWN:
            if old is UNKNOWN and new is not UNKNOWN:
                self.reader.escapes.escape(new)
            return old
        merged = join(old, new)
        if visits > _MAX_VISITS or len(options(merged)) > MAX_ALTERNATIVES:
            self.reader.escapes.escape(merged)
            return UNKNOWN
        return merged

    def _enter_handlers(self, position: int, instruction: Instruction) -> None:
        """Exceptions may arise here: their handlers see the variables as they are."""
        for handler in self.program.handlers:
            if handler.start <= position < handler.end and (
                position == handler.start or instruction.name.startswith(("STORE", "CALL"))
            ):
                self._raise_to(handler)

    def _raise_to(self, handler: Handler) -> None:
        stack = self.stack[: handler.depth]
        stack += [UNKNOWN] * (handler.depth - len(stack)) + [UNKNOWN] * (1 + handler.pushes_offset)
        self._merge(handler.target, stack, self.locals)

    def _execute(self, position: int, instruction: Instruction) -> int:
        """Follow one instruction; the next position, -1 where control ends."""
        action = ACTIONS.get(instruction.name)
        if action is None:
            self._unlisted(instruction)
            following: int | None = None
        else:
            following = action(self, instruction)
        if following is not None:
            return following
        if instruction.target >= 0 and not instruction.name.startswith("JUMP"):
            self._merge(instruction.target, self.stack, self.locals)
        return position + 1

    def _unlisted(self, instruction: Instruction) -> None:
        number = instruction.number if _opcode(instruction.name) >= dis.HAVE_ARGUMENT else None
        effect = dis.stack_effect(_opcode(instruction.name), number, jump=False)
        for _ in range(max(0, -effect)):
            self.reader.escapes.escape(self.pop())
        if effect <= 0 and self.stack:  # what it leaves in place of its last operand
            self.reader.escapes.escape(self.stack[-1])
            self.stack[-1] = UNKNOWN
        self.stack += [UNKNOWN] * max(0, effect)

    # -- the stack ---------------------------------------------------------------------------------

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.stack.pop() if self.stack else UNKNOWN

    def pop_many(self, count: int) -> list[Any]:
        stack = self.stack
        present = max(len(stack) - count, 0)
        values = stack[present:]
        del stack[present:]
        return [UNKNOWN] * (count - len(values)) + values if len(values) < count else values


def _opcode(name: str) -> int:
    return dis.opmap[name]
