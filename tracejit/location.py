"""Finds the user's source line: the innermost frame outside this package."""

from __future__ import annotations

import bisect
import functools
import sys
from types import CodeType, FrameType

from .base.process.finalization import forgotten_with
from .base.user_code import COMMANDS, is_user_file
from .ir.graph import Location


class _Code:
    """Facts about a code object: whether it is the user's, and the lines of its instructions."""

    __slots__ = ("_table", "entry", "is_passed", "lines")

    def __init__(self, code: CodeType) -> None:
        #: Takes this out of the table before another code object has the same identity.
        self.entry = forgotten_with(code, _codes, id(code))
        file = code.co_filename
        #: Locations by offset of an instruction; None where the code is not the user's.
        self.lines: dict[int, Location] | None = {} if is_user_file(file) else None
        #: Whether the user's line may be above it: it is neither the user's nor that of a command.
        self.is_passed = self.lines is None and not file.startswith(COMMANDS)
        #: The start offsets of the line table's rows, and their lines; set on first use.
        self._table: tuple[list[int], list[int]] | None = None

    def line(self, code: CodeType, offset: int) -> int:
        """The line of the instruction of `code` at `offset`, as ``frame.f_lineno``, which walks the table
        from its start each time."""
        if self._table is None:  # set at once: other threads may ask
            rows = list(code.co_lines()) or [(0, 0, None)]  # nothing of code without a table of lines
            lines = [code.co_firstlineno if line is None else line for _, _, line in rows]
            self._table = [start for start, _, _ in rows], lines
        starts, lines = self._table
        return lines[bisect.bisect_right(starts, offset) - 1]


#: Facts by identity of the code object, since code objects hash all of their constants.
_codes: dict[int, _Code] = {}


#: Locations by file and line, so that all ops of a line share one object.
_location = functools.lru_cache(maxsize=4096)(Location)


def user_location(skipped: int = 0) -> Location | None:
    """The line of the user's program that is running, None if there is none. The innermost frames, of which
    the caller's is the first, are `skipped`: so many are known to be this package's."""
    frame = sys._getframe(1 + skipped)
    while frame is not None:
        known = _codes.get(id(frame.f_code))
        if known is None:
            known = _codes[id(frame.f_code)] = _Code(frame.f_code)
        if known.is_passed:
            frame = frame.f_back  # type: ignore[assignment]
            continue
        if known.lines is None:
            return None
        location = known.lines.get(frame.f_lasti)
        if location is None:
            code, offset = frame.f_code, frame.f_lasti
            location = known.lines[offset] = _location(code.co_filename, known.line(code, offset))
        return location
    return None


def line_of(frame: FrameType) -> Location:
    """The line that `frame` runs."""
    return _location(frame.f_code.co_filename, frame.f_lineno or frame.f_code.co_firstlineno)
