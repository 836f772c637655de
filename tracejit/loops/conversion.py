"""Lets the loops of functions be traced as loops while a function is traced."""

from __future__ import annotations

import contextlib
import dis
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

from ..base.loading import LazyModule, load_module
from ..base.process.collector import collector_paused
from ..frontend.libraries.library import may_change_containers

if TYPE_CHECKING:
    from . import reports
    from .reports import Growth, LoopReport
    from .source.functions import Extent
else:
    reports = LazyModule(".reports", __package__)

#: The values of ``jit(loops=...)``.
MODES: Final = ("auto", "compiled", "unrolled")
#: The mode "auto", except that short loops are traced as loops, too.
ROLLED: Final = "rolled"

_LOOP_OPCODES: Final = frozenset(
    code for name, code in dis.opmap.items() if name == "FOR_ITER" or "JUMP_BACKWARD" in name
)
#: Names of the code of comprehensions, where they have code of their own.
_COMPREHENSIONS: Final = frozenset(("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"))


def has_loops(code: CodeType) -> bool:
    """Whether `code`, or code inside it, has a loop."""
    return any(map(_loops, _with_inner(code)))


def _loops(code: CodeType) -> bool:
    return not _LOOP_OPCODES.isdisjoint(code.co_code[::2])


def _loops_itself(code: CodeType) -> bool:
    return _loops(code) and code.co_name not in _COMPREHENSIONS


def to_rewrite(functions: Iterable[FunctionType], asking: Container[int]) -> dict[FunctionType, Extent]:
    """The `functions` to rewrite for a trace, and the extent of each. They have loops, or code whose identity
    is among `asking`; where there are loops, also those that may change containers, of which loops make
    several, and those that may get lists which loops made. If comprehensions are the only loops, rewriting
    only counts their operations."""
    extents: dict[FunctionType, Extent] = {}
    functions = list(functions)
    is_any_loop = any(
        _loops_itself(part) for function in functions for part in _with_inner(function.__code__)
    )
    getting = _getting_lists(functions) if is_any_loop else ()
    for function in functions:
        parts = list(_with_inner(function.__code__))
        if function in getting or any(
            id(part) in asking or _loops_itself(part) or (is_any_loop and may_change_containers(part))
            for part in parts
        ):
            extents[function] = "function"
        elif any(map(_loops, parts)):
            extents[function] = "comprehensions"
    return extents


def _getting_lists(functions: Sequence[FunctionType]) -> set[FunctionType]:
    """The `functions` that make lists by loops, or name a function that does or that gets such lists."""
    getting = {
        function
        for function in functions
        if any(_loops_itself(part) and "append" in part.co_names for part in _with_inner(function.__code__))
    }
    is_growing = bool(getting)
    while is_growing:
        names = {function.__name__ for function in getting}
        more = {
            function
            for function in functions
            if function not in getting and any(_names(part, names) for part in _with_inner(function.__code__))
        }
        getting |= more
        is_growing = bool(more)
    return getting


def _names(code: CodeType, names: set[str]) -> bool:
    return not names.isdisjoint((*code.co_names, *code.co_freevars))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """`code` and that of the functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


@contextlib.contextmanager
def loops_traced(
    mode: str,
    label: str,
    rewritten: Mapping[FunctionType, Extent],
    checkpoint_every: int | None = None,
    growth: Growth | None = None,
) -> Iterator[Callable[[int], tuple[LoopReport, ...]]]:
    """Give the functions `rewritten`, for the ``with`` block, code in which loops can be traced as loops, by
    `mode`; NumPy's and ``math``'s functions take traced values there. Yields a function that maps the number
    of traced operations to the outcomes of the loops. Messages call the traced function `label`. Gradients
    keep the first carries of every `checkpoint_every` steps. `growth` says whether lists may grow under
    conditions, and is told whether they do; without it they may not."""
    if not rewritten:
        yield lambda operations: ()
        return
    session = reports.Session(mode, label, checkpoint_every, growth)
    with collector_paused():  # what is loaded stays
        rewriting: Any = load_module(".source.functions", __package__)  # for those who write loops
        if "function" in rewritten.values():
            load_module(".statements", __package__)
    with rewriting.Converted(rewritten) as converted, reports.tracing_loops(session):
        unread = {
            f"{code.co_filename.replace(chr(92), '/').rsplit('/', 1)[-1]}:{code.co_firstlineno}": reason
            for code, reason in converted.problems.items()
            if has_loops(code)
        }
        for where, reason in unread.items():
            session.note(where, "unrolled", reason)

        def finish(operations: int) -> tuple[LoopReport, ...]:
            if operations > reports.MANY_OPERATIONS:
                for where, reason in unread.items():
                    session.warn(where, operations, reason)
            return session.reports

        yield finish
