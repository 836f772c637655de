"""Rotation of ``while`` loops: the test of a step runs at the end of the step before, as part of the body.

So tests may write arrays in place, and draw random numbers: each runs once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from .branches import conditional
from .carries import LoopStatement
from .scalars import opposite
from .source.descriptions import Statement
from .variables import is_traced

#: The variable that says whether another step follows.
_GOES_ON: Final = "_tj_goes_on"


@contextmanager
def rotated(loop: LoopStatement, first: Any) -> Iterator[LoopStatement]:
    """``while first: body; first = test()``, of a ``while`` whose first test has given `first`."""
    statement, variables, test = loop.statement, loop.variables, loop.test
    assert test is not None

    def tested() -> None:
        variables.set(_GOES_ON, test())

    def step() -> None:
        loop.body()
        left = variables.get(statement.flag) if statement.flag else False
        if is_traced(left):
            conditional(opposite(left), tested, lambda: None, end, variables)
        elif not left:
            tested()

    written = tuple(name for name in statement.written if name not in statement.assigned)
    end = Statement(
        statement.file, statement.line, (_GOES_ON,), results=(_GOES_ON,), written=written,
        written_anywhere=statement.written_anywhere,
    )  # fmt: skip
    own = Statement(
        statement.file, statement.line, (*statement.assigned, _GOES_ON), (*statement.carried, _GOES_ON),
        statement.results, statement.written, statement.written_anywhere, statement.appended, statement.flag,
        statement.size, statement.refused, statement.grows,
    )  # fmt: skip
    with variables.holding(_GOES_ON, first):
        yield LoopStatement(own, variables, step, None, lambda: variables.get(_GOES_ON), first is True)
