"""Memory for a new arena, from the C allocator."""

from __future__ import annotations

from typing import Final

from ...base.machine import machine
from ..llvm.emitter import Reg, constant
from ..llvm.loops import FunctionWriter

#: madvise's wish for huge pages.
_HUGE_PAGES: Final = 14


def allocated(w: FunctionWriter, size: int) -> Reg:
    """The pointer to `size` bytes; null where there is no memory."""
    page = machine().huge_page_bytes
    large = size >= 2 * page
    align = page if large else 64
    whole = -(-size // align) * align  # C11 has no others
    fresh = w.result_of("aligned_alloc", "ptr", 1, constant(align, "i64"), constant(whole, "i64"))
    if large:  # in huge pages where the system has them: panels of products are read from end to end
        # not one of which less than half is wanted: touched at one place, it is all there
        advised = (size + page // 2) // page * page
        w.declare("madvise", "i32 @madvise(ptr, i64, i32)")
        w.result_of("madvise", "i32", 1, fresh, constant(advised, "i64"), constant(_HUGE_PAGES, "i32"))
    return fresh
