"""Windows: reads of padded values, of which only the inside lies in memory.

Most places of a stencil's loops are inside all windows, or outside for certain: there nothing is checked
(`Interior`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from ..llvm.emitter import Reg, constant
from ..llvm.loops import Bound
from ..loops.guards import guarded_load, within
from ..lowering.loop_nest import Memory, Nest, NestConstant, Window
from .writing.element import NestContext, Places

#: Nests with more members than this are not written twice.
MOST_MEMBERS: Final = 60


#: A check of a window: an index, and how many values it may have.
Check: TypeAlias = tuple[Memory, int]


class Interior:
    """Index-set splitting of a nest's windows: for each loop dimension, the checks along it alone with their
    known outcome, and the first index and the one behind the last where that holds.

    A check that holds along a small part at one end is known to fail inside: the seam of a roll is there.
    """

    def __init__(self, nest: Nest) -> None:
        self.checks: dict[int, dict[Check, bool]] = {}
        self.ranges: dict[int, tuple[int, int]] = {}
        sources = [operand for member in nest.members for operand in member.operands]
        sources += [write.source for write in nest.writes]
        for window in sources if len(nest.members) <= MOST_MEMBERS else ():
            for check in window.checks if isinstance(window, Window) else ():
                self._add(nest, *check)

    def _add(self, nest: Nest, index: Memory, count: int) -> None:
        along = [dim for dim, stride in enumerate(index.strides) if stride]
        if len(along) != 1:
            return
        (dim,) = along
        size = nest.sizes[dim]
        first, last = self.ranges.get(dim, (0, size))
        stride, offset = index.strides[dim], index.offset
        bounds = (-offset, count - 1 - offset) if stride > 0 else (offset - count + 1, offset)
        # 0 <= offset + stride i < count
        low, high = max(-(-bounds[0] // abs(stride)), 0), min(bounds[1] // abs(stride) + 1, size)
        holds = 2 * (high - low) > size or (low > 0 and high < size)
        if holds:
            first, last = max(first, low), min(last, high)
        elif low == 0:
            first = max(first, high)
        else:
            last = min(last, low)
        self.ranges[dim] = first, last
        self.checks.setdefault(dim, {})[index, count] = holds


class LineWriter(NestContext, Protocol):
    """Interface of the nest's writer for a line, which is the loop that carries the lanes."""

    interior: Interior
    at: dict[int, Reg]


def write_line(
    writer: LineWriter, dim: int, vectors: Callable[[int, int, int], None], rest: Callable[[int], None]
) -> None:
    """Write loop dimension `dim`, along which lanes run: ``vectors(first, stop, copies)`` does groups of
    whole vectors, ``rest(first)`` what fills no group. Lines that are inside the windows have no checks but
    at their ends."""
    w, nest, interior = writer.w, writer.nest, writer.interior
    group = nest.lanes * nest.unroll

    def plain() -> None:
        whole = nest.sizes[dim] // group * group
        vectors(0, whole, nest.unroll)
        rest(whole)

    def inner() -> None:
        first, stop = interior.ranges.get(dim, (0, nest.sizes[dim]))
        first = -(-first // nest.lanes) * nest.lanes
        stop = first + max(stop - first, 0) // group * group
        if first == stop:
            first = stop = 0
        outside = {check: holds for outer_dim in outer for check, holds in interior.checks[outer_dim].items()}
        writer.known = outside
        vectors(0, first, 1)
        writer.known = {**outside, **interior.checks.get(dim, {})}
        vectors(first, stop, nest.unroll)
        writer.known = outside
        rest(stop)
        writer.known = {}

    outer = [range_ for range_ in interior.ranges if range_ in writer.at]
    if not interior.ranges:
        plain()
    elif not outer:
        inner()
    else:
        inside = constant(True, "bool")
        for number in outer:
            first, stop = interior.ranges[number]
            inside = w.and_(inside, w.and_(w.ge(writer.at[number], first), w.lt(writer.at[number], stop)))
        w.when(inside, inner)
        w.when(w.not_(inside), plain)


def write_range(
    writer: LineWriter, dim: int, vectors: Callable[[Bound, Bound, int], None], bounds: tuple[Reg, Reg]
) -> None:
    """Write the whole groups from ``bounds[0]`` up to ``bounds[1]``, which are found as it runs, of the only
    loop dimension `dim`: those inside the windows without checks."""
    w, nest, interior = writer.w, writer.nest, writer.interior
    group, (start, stop) = nest.lanes * nest.unroll, bounds
    if dim not in interior.ranges:
        vectors(start, stop, nest.unroll)
        return
    first, last = interior.ranges[dim]
    first = -(-first // group) * group
    last = max(last // group * group, first)
    vectors(start, w.min(stop, constant(first, "i64")), nest.unroll)
    writer.known = interior.checks[dim]
    vectors(w.max(start, constant(first, "i64")), w.min(stop, constant(last, "i64")), nest.unroll)
    writer.known = {}
    vectors(w.max(start, constant(last, "i64")), stop, nest.unroll)


def read_window(
    writer: NestContext, leaf: Window, places: Places, copy: int, mask: Reg | None, *, row_level: bool
) -> Reg:
    """Elements inside, zero outside; what is outside is not loaded."""
    w, inside = writer.w, mask
    if not all(writer.known.get(check, True) for check in leaf.checks):
        return writer.read(NestConstant(0, leaf.dtype), places, copy, mask, row_level=row_level)
    checks = [check for check in leaf.checks if check not in writer.known]
    if not checks:
        return writer.read(leaf.inside, places, copy, mask, row_level=row_level)
    for index, count in checks:
        at = writer.read(index, places, copy, mask, row_level=row_level)
        inside = within(w, at, count, inside)
    assert inside is not None, "a window has checks"
    if isinstance(leaf.inside, NestConstant):
        return w.select(inside, constant(leaf.inside.value, leaf.dtype, inside.lanes), 0)
    place, dim = places[leaf.inside], writer.nest.vector_dim
    assert isinstance(place, str)
    stride = 0 if dim is None or inside.lanes == 1 else leaf.inside.strides[dim]
    start = w.offset(place, leaf.dtype, copy * inside.lanes * stride)
    by_line = any(dim is not None and index.strides[dim] == 0 for index, _ in checks)
    buffer = f"%b{leaf.inside.buffer}"
    return guarded_load(w, inside, start, leaf.dtype, stride, buffer, by_line=by_line)
