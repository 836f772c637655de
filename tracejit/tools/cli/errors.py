"""Errors of the command line and their exit codes."""

from __future__ import annotations

from typing import Final

#: Done, and where the question was one of yes or no, the answer is yes.
OK: Final = 0
#: The program, file or result that was asked about is wrong, or work on it failed.
FAILED: Final = 1
#: The command line is wrong: an unknown option, a malformed type, a file or a function that is not there.
USAGE: Final = 2
#: A bug in tracejit.
INTERNAL: Final = 3


class UsageError(Exception):
    """The command line asks for something that is not there."""


class TargetError(Exception):
    """The target is there, and is wrong: it cannot be imported, traced or read.

    Attributes:
        detail: what stands below the message, such as a line of text with a caret.
        place: file, line and column of what is wrong in a text, from 1.
        problem: what is wrong there.
    """

    def __init__(
        self, message: str, detail: str = "", place: tuple[str, int, int] | None = None, problem: str = ""
    ) -> None:
        super().__init__(message)
        self.detail, self.place, self.problem = detail, place, problem or message


def error_in_text(path: str, line: int, column: int, problem: str, detail: str) -> TargetError:
    """The error for a problem at a place of a file."""
    return TargetError(f"{path}:{line}:{column}: {problem}", detail, (path, line, column), problem)
