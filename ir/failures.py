"""Failures of the compiler on valid programs: the exceptions that count as one, and the warning that names
it."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from types import CodeType
from typing import Any, Final

from ..base.errors import CompilerWarning, KernelError
from .graph import Location

#: Exceptions that are no failures of ours: of a user's kernel, of memory, and warnings that are errors.
_FOREIGN: Final = (KernelError, MemoryError, Warning)


def not_ours(*more: type[BaseException]) -> tuple[type[BaseException], ...]:
    """Exceptions that are no failures of the compiler, for ``except not_ours():``. Those that the handler of
    a signal raises are among them, and so are `more`."""
    error = sys.exc_info()[1]
    if error is not None and _by_handler(error):
        more += (type(error),)
    return (*_FOREIGN, *more)


def _by_handler(error: BaseException) -> bool:
    """Whether `error` was raised in a signal's handler."""
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code in handlers:
            return True
        frame = frame.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    function = getattr(handler, "__func__", handler)
    code = getattr(function, "__code__", None) or getattr(
        vars(type(handler)).get("__call__"), "__code__", None
    )
    return code if isinstance(code, CodeType) else None


def warn_of_failure(what: str, instead: str, error: BaseException, location: Location | None = None) -> str:
    """Warn that the compiler failed on `what` with `error`, and say what is done `instead`; returns the
    text."""
    where = f" ({location})" if location is not None else ""
    text = failure_text(f"{what}{where}", error, f" {instead}; results are the same.")
    file, line = (location.file, location.line) if location is not None else (__file__, 1)
    warnings.warn_explicit(text, CompilerWarning, file, line)
    return text


def failure_text(what: str, error: BaseException, instead: str = "") -> str:
    """Word the message for a failure of the compiler on `what`."""
    return (
        f"tracejit failed to compile {what}: {_reason(error)}.{instead} This is a bug in tracejit: please "
        "report it"
    )


def _reason(error: BaseException) -> str:
    """The error in a line, with the line of this package that raised it."""
    message = " ".join(str(error).split())
    if len(message) > 160:
        message = f"{message[:160]} ..."
    where, frame = "", error.__traceback__
    while frame is not None:
        where = f" in {os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
        frame = frame.tb_next
    return f"{type(error).__name__}: {message}{where}"
