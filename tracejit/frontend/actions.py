"""The table of what instructions do, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bytecode import Instruction
    from .execution import Execution

#: What an instruction does to the values of an execution; it returns the next position where that is not the
#: one behind, -1 where control ends.
Action = Callable[["Execution", "Instruction"], "int | None"]
ACTIONS: dict[str, Action] = {}


def on(*names: str) -> Callable[[Action], Action]:
    """Register the decorated function as what the instructions `names` do."""

    def register(action: Action) -> Action:
        for name in names:
            ACTIONS[name] = action
        return action

    return register
