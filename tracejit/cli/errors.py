"""What can go wrong on the command line, and the exit code of each."""

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
    """The target is there, and cannot be imported or traced."""
