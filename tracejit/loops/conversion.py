"""Lets the loops of functions be traced as loops while a function is traced."""

from __future__ import annotations

import contextlib
import dis
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, Final

from .reports import MANY_OPERATIONS, LoopReport, Session, tracing_loops

_LOOP_OPCODES: Final = frozenset(
    code for name, code in dis.opmap.items() if name == "FOR_ITER" or "JUMP_BACKWARD" in name
)


def has_loops(code: CodeType) -> bool:
    """Whether `code`, or code inside it, has a loop."""
    return not _LOOP_OPCODES.isdisjoint(code.co_code[::2]) or any(
        isinstance(constant, CodeType) and has_loops(constant) for constant in code.co_consts
    )


@contextlib.contextmanager
def loops_traced(
    mode: str, label: str, functions: Iterable[FunctionType], checkpoint_every: int | None = None
) -> Iterator[Callable[[int], tuple[LoopReport, ...]]]:
    """Within, `functions` have code in which loops can be traced as loops, by `mode`. Gives a function that
    tells what became of them, of the number of operations that were traced; `label` is what messages call the
    function that is traced, and `checkpoint_every` of how many steps gradients keep the first carries."""
    looping = [function for function in functions if has_loops(function.__code__)]
    if not looping:
        yield lambda operations: ()
        return
    session = Session(mode, label, checkpoint_every)
    rewriting: Any = import_module(".functions", __package__)  # for those who write loops
    import_module(".statements", __package__)
    with rewriting.Converted(looping) as converted, tracing_loops(session):
        unread = {
            f"{code.co_filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{code.co_firstlineno}": reason
            for code, reason in converted.problems.items()
        }
        for where, reason in unread.items():
            session.note(where, "unrolled", reason)

        def finish(operations: int) -> tuple[LoopReport, ...]:
            if operations > MANY_OPERATIONS:
                for where, reason in unread.items():
                    session.warn(where, operations, reason)
            return session.reports

        yield finish
