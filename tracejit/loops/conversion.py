"""Lets the loops of functions be traced as loops while a function is traced."""

from __future__ import annotations

import contextlib
import dis
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, Final

from ..ir.process.collector import collector_paused
from .reports import MANY_OPERATIONS, LoopReport, Session, tracing_loops

_LOOP_OPCODES: Final = frozenset(
    code for name, code in dis.opmap.items() if name == "FOR_ITER" or "JUMP_BACKWARD" in name
)


def has_loops(code: CodeType) -> bool:
    """Whether `code`, or code inside it, has a loop."""
    return any(not _LOOP_OPCODES.isdisjoint(part.co_code[::2]) for part in _with_inner(code))


def to_rewrite(functions: Iterable[FunctionType], asking: Container[CodeType]) -> list[FunctionType]:
    """Those of `functions` that are rewritten for a trace: they have loops, or code among `asking`."""
    return [
        function
        for function in functions
        if has_loops(function.__code__) or any(code in asking for code in _with_inner(function.__code__))
    ]


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """`code` and that of the functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


@contextlib.contextmanager
def loops_traced(
    mode: str, label: str, rewritten: Sequence[FunctionType], checkpoint_every: int | None = None
) -> Iterator[Callable[[int], tuple[LoopReport, ...]]]:
    """Within, the functions `rewritten` have code in which loops can be traced as loops, by `mode`, and what
    asks NumPy or ``math`` for arrays and numbers gets what is traced. Gives a function that tells what became
    of loops, of the number of operations that were traced; `label` is what messages call the function that is
    traced, and `checkpoint_every` of how many steps gradients keep the first carries."""
    if not rewritten:
        yield lambda operations: ()
        return
    session = Session(mode, label, checkpoint_every)
    with collector_paused():  # what is loaded stays
        rewriting: Any = import_module(".source.functions", __package__)  # for those who write loops
        import_module(".statements", __package__)
    with rewriting.Converted(rewritten) as converted, tracing_loops(session):
        unread = {
            f"{code.co_filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{code.co_firstlineno}": reason
            for code, reason in converted.problems.items()
            if has_loops(code)
        }
        for where, reason in unread.items():
            session.note(where, "unrolled", reason)

        def finish(operations: int) -> tuple[LoopReport, ...]:
            if operations > MANY_OPERATIONS:
                for where, reason in unread.items():
                    session.warn(where, operations, reason)
            return session.reports

        yield finish
