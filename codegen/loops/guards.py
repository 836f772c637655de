"""Loads under a condition: what is outside of it is zero, and not read."""

from __future__ import annotations

from ..llvm.emitter import Reg
from ..llvm.loops import FunctionWriter
from ..maths.support import any_lane


def guarded_load(
    w: FunctionWriter, inside: Reg, place: str, dtype: str, stride: int, buffer: str, *, by_line: bool
) -> Reg:
    """Elements `stride` apart from `place` on, 0 where `inside` does not hold. Where it may hold for no lane
    at all (`by_line`), the first element of the `buffer`, which exists, takes their place: masked loads of
    what is not mapped take some hundred cycles each."""
    if stride == 0 or inside.lanes == 1:  # one element for all lanes
        element = w.load(_where_any(w, inside, place, buffer), dtype)
        return w.select(inside, w.splat(element, inside.lanes), 0)
    if by_line:
        place = _where_any(w, inside, place, buffer)
    return w.gather(place, dtype, stride, inside.lanes, inside)


def within(w: FunctionWriter, index: Reg, count: int, mask: Reg | None) -> Reg:
    """Whether ``0 <= index < count``, and `mask` holds."""
    holds = w.lt(w.bitcast(index, "u64"), count)  # what is negative is large
    return holds if mask is None else w.and_(mask, holds)


def _where_any(w: FunctionWriter, inside: Reg, place: str, buffer: str) -> str:
    """`place` where any lane is inside, else `buffer`."""
    some = any_lane(w, inside) if inside.lanes > 1 else inside
    return w.choose(some, place, buffer)
