"""Shows uncaught errors as users read them: their frames, without those of this package.

Nothing but what is printed changes: tracebacks keep all frames for debuggers, loggers and tests.
``TRACEJIT_TRACEBACK=full`` prints all. See docs/decisions/0024-tracebacks.md.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from .base.errors import TracejitError
from .base.user_code import is_own_file


def fold_uncaught() -> None:
    """Let Python and IPython print uncaught errors without the frames of this package. A hook that is not
    Python's own stays."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print
    TracejitError._render_traceback_ = _rendered  # type: ignore[attr-defined]  # IPython asks errors for it


def _print(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    with _folded(error) as count:
        if count:  # before the error, whose message many a tool takes from the last line
            print(_note(count), file=sys.stderr)
        sys.__excepthook__(kind, error, error.__traceback__)


def _rendered(self: TracejitError) -> list[str]:
    """The lines that IPython shows of an error."""
    shell: Any = sys.modules["IPython"].get_ipython()
    with _folded(self) as count:
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, self.__traceback__)
    return [_note(count), *lines] if count else lines


def _note(count: int) -> str:
    frames = "1 frame" if count == 1 else f"{count} frames"
    return f"({frames} of tracejit's own left out; TRACEJIT_TRACEBACK=full shows all)"


@contextlib.contextmanager
def _folded(error: BaseException) -> Iterator[int]:
    """Leave frames of this package out of the tracebacks of `error` and its causes for the ``with`` block.
    Yields the number of frames left out."""
    whole: dict[BaseException, TracebackType | None] = {}
    left_out = 0
    if os.environ.get("TRACEJIT_TRACEBACK") != "full":
        for part in _chain(error):
            shorter, count = _without_own_frames(part)
            if count:
                whole[part], part.__traceback__ = part.__traceback__, shorter
                left_out += count
    try:
        yield left_out
    finally:
        for part, trace in whole.items():
            part.__traceback__ = trace


def _chain(error: BaseException) -> list[BaseException]:
    """`error` and the errors that are printed with it."""
    chain: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        part = pending.pop()
        if part is not None and not any(part is known for known in chain):
            chain.append(part)
            pending += [part.__cause__, None if part.__suppress_context__ else part.__context__]
            pending += getattr(part, "exceptions", ())
    return chain


def _without_own_frames(error: BaseException) -> tuple[TracebackType | None, int]:
    """A copy of the traceback of `error` without the frames of this package, and how many those are. All stay
    where no other would be left, or where the error is not one that the package raises on purpose and comes
    from inside it: that may be a bug of its own."""
    frames: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    others = [frame for frame in frames if not is_own_file(frame.tb_frame.f_code.co_filename)]
    if not others or (not isinstance(error, TracejitError) and others[-1] is not frames[-1]):
        return error.__traceback__, 0
    shorter: TracebackType | None = None
    for frame in reversed(others):
        # no line where Python has none: of code without a table of lines, and where a signal came between two
        line = frame.tb_frame.f_code.co_firstlineno if frame.tb_lineno is None else frame.tb_lineno
        shorter = TracebackType(shorter, frame.tb_frame, frame.tb_lasti, line)
    return shorter, len(frames) - len(others)
