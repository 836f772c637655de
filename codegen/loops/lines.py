"""Prefetches of the lines of the cache that a loop along memory comes to. What they gain:
`nest.streaming`."""

from __future__ import annotations

from typing import Final

from ...base.machine import machine
from ..llvm.loops import FunctionWriter

#: Bytes from an access to the line that is asked for meanwhile. Half or twice as many do no worse.
WRITTEN_AHEAD: Final = 1 << 10
READ_AHEAD: Final = 1 << 11


def itemsize(dtype: str) -> int:
    """Bytes of an element in memory."""
    return 1 if dtype == "bool" else int(dtype[1:]) // 8


def begins_line(dtype: str, elements: int) -> bool:
    """Whether so many elements from a line's beginning another line begins."""
    return elements * itemsize(dtype) % machine().line_bytes == 0


def ask_for(
    w: FunctionWriter, dtype: str, place: str, elements: int, *, write: bool, before: int = 0
) -> None:
    """Ask for a line to read or to write to, ahead of the one that begins `elements` behind `place`, if one
    does. `place` itself is `before` elements behind where a line may begin."""
    if begins_line(dtype, before + elements):
        ahead = (WRITTEN_AHEAD if write else READ_AHEAD) // itemsize(dtype)
        w.prefetch(w.offset(place, dtype, elements + ahead), write=write)
