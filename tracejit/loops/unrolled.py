"""Operations of loops and comprehensions that run in Python during the trace: they are counted, and a warning
names the loops that add many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..state import STATE
from .reports import CURRENT, MANY_OPERATIONS, Session, where
from .source.descriptions import Statement

#: Loops of fewer steps times operations in the text of a step are unrolled. There both ways compile in 5 to
#: 7 ms, and a call is 10-30 % faster unrolled; at four times as many it compiles two to three times as long.
SHORT: Final = 64


class Comprehensions:
    """The runtime of code of which only the comprehensions are rewritten."""

    def comprehended(self, iterable: Iterable[Any], statement: Statement) -> Iterable[Any]:
        """The iterable of a comprehension, with its operations counted during a trace."""
        session = CURRENT.session
        if STATE.tracer is None or session is None or session.mode == "unrolled":
            return iterable
        return _comprehended(iterable, statement, session)


def _comprehended(iterable: Iterable[Any], statement: Statement, session: Session) -> Iterator[Any]:
    """The items of a comprehension, which is noted where it becomes more code than a short loop, and warns as
    `watched` does."""
    tracer, noted = STATE.tracer, False
    start = len(tracer.body)
    for item in watched(iterable, statement, session, statement.refused):
        yield item
        if not noted and len(tracer.body) - start > SHORT:
            noted = True
            session.note_comprehension(where(statement), statement.refused)


def watched(iterable: Iterable[Any], statement: Statement, session: Session, reason: str) -> Iterator[Any]:
    """The items of an unrolled loop, which warns where it becomes much code."""
    with Watch(statement, session, reason) as watch:
        for item in iterable:
            yield item
            watch.note_step()


class Watch:
    """The operations of the steps of an unrolled loop, which warns where it becomes much code."""

    def __init__(self, statement: Statement, session: Session, reason: str) -> None:
        self._statement, self._session, self._reason = statement, session, reason
        self._start, self._warned = len(STATE.tracer.body), False

    def __enter__(self) -> Watch:
        self._session.unrolled += bool(self._reason)
        return self

    def __exit__(self, *exc: object) -> None:
        self._session.unrolled -= bool(self._reason)

    def note_step(self) -> None:
        """Note that a step has run."""
        count = len(STATE.tracer.body) - self._start
        if not self._warned and count > MANY_OPERATIONS:
            self._warned = True
            self._session.warn(where(self._statement), count, self._reason)
