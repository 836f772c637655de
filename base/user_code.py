"""Test for the user's own code, by its file, and the place of warnings in it."""

from __future__ import annotations

import functools
import os
import sys
from typing import Final

import numpy as np

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
#: The folders of the library's sources; in a checkout some are beside the package rather than in it.
_ROOTS: Final = (
    _PACKAGE,
    *{os.path.realpath(_PACKAGE + part) + os.sep for part in ("base", "ir", "codegen", "runtime")},
)
_NUMPY: Final = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
#: The demo is a user's program that happens to be installed with the package.
_DEMO: Final = os.path.join(_PACKAGE, "tools", "demo", "")
#: Folder of the command line: frames above it are no program of the user's, only what started the command.
COMMANDS: Final = os.path.join(_PACKAGE, "tools", "cli", "")


@functools.lru_cache(maxsize=4096)
def is_user_file(file: str) -> bool:
    """Whether code in `file` is the user's: neither this package's nor numpy's nor the interpreter's."""
    return not (is_own_file(file) or file.startswith((_NUMPY, "<frozen")))


def is_own_file(file: str) -> bool:
    """Whether `file` is a part of this package."""
    return file.startswith(_ROOTS) and not file.startswith(_DEMO)


def user_stacklevel() -> int:
    """The ``stacklevel`` with which a warning of the caller's is about the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and not is_user_file(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level
