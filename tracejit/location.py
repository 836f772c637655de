"""Finds the user's source line: the innermost frame outside this package."""

from __future__ import annotations

import os
import sys

from .ir.graph import Location

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ROOTS = tuple({_PACKAGE, *(os.path.realpath(_PACKAGE + part) + os.sep for part in ("ir", "codegen", "runtime"))})


def user_location() -> Location | None:
    """The line of the user's program that is running, None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_ROOTS) and not file.startswith("<frozen"):
            return Location(file, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return None
