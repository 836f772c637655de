"""Reading through windows: a value among zeros, of which only what is inside lies in memory.

Most places of a stencil's loops are inside all windows: there nothing is checked (`Interior`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ..emitter import Reg, constant
from ..loops import Bound, FunctionWriter
from .element import Places, Writer
from .nest import Constant, Memory, Nest, Window

#: Nests with more members than this are not written twice.
MOST_MEMBERS: Final = 60


class Interior:
    """Where the checks of a nest's windows hold: for each loop dimension, those along it alone, and the first
    index and the one behind the last where they all do."""

    def __init__(self, nest: Nest) -> None:
        self.checks: dict[int, set[tuple[Memory, int]]] = {}
        self.ranges: dict[int, tuple[int, int]] = {}
        sources = [one for member in nest.members for one in member.operands]
        sources += [write.source for write in nest.writes]
        for one in sources if len(nest.members) <= MOST_MEMBERS else ():
            for check in one.checks if isinstance(one, Window) else ():
                self._add(nest, *check)

    def _add(self, nest: Nest, index: Memory, count: int) -> None:
        along = [dim for dim, stride in enumerate(index.strides) if stride]
        if len(along) != 1:
            return
        (dim,) = along
        first, last = self.ranges.get(dim, (0, nest.sizes[dim]))
        stride, offset = index.strides[dim], index.offset
        bounds = (-offset, count - 1 - offset) if stride > 0 else (offset - count + 1, offset)
        # 0 <= offset + stride i < count
        low, high = -(-bounds[0] // abs(stride)), bounds[1] // abs(stride)
        self.ranges[dim] = max(first, low), min(last, high + 1)
        self.checks.setdefault(dim, set()).add((index, count))


class LineWriter(Writer, Protocol):
    """What is needed of the nest's writer for a line: the loop that carries the lanes."""

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
        outside = frozenset[tuple[Memory, int]]().union(*[interior.checks[one] for one in outer])
        writer.holds = outside
        vectors(0, first, 1)
        writer.holds = outside | interior.checks.get(dim, set())
        vectors(first, stop, nest.unroll)
        writer.holds = outside
        rest(stop)
        writer.holds = frozenset()

    outer = [one for one in interior.ranges if one in writer.at]
    if not interior.ranges:
        plain()
    elif not outer:
        inner()
    else:
        inside = constant(True, "bool")
        for one in outer:
            first, stop = interior.ranges[one]
            inside = w.and_(inside, w.and_(w.ge(writer.at[one], first), w.lt(writer.at[one], stop)))
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
    writer.holds = frozenset(interior.checks[dim])
    vectors(w.max(start, constant(first, "i64")), w.min(stop, constant(last, "i64")), nest.unroll)
    writer.holds = frozenset()
    vectors(w.max(start, constant(last, "i64")), stop, nest.unroll)


def read_window(
    writer: Writer, leaf: Window, places: Places, copy: int, mask: Reg | None, *, row_level: bool
) -> Reg:
    """Elements inside, zero outside; what is outside is not loaded."""
    w, inside = writer.w, mask
    checks = [check for check in leaf.checks if check not in writer.holds]
    if not checks:
        return writer.read(leaf.inside, places, copy, mask, row_level=row_level)
    for index, count in checks:
        at = writer.read(index, places, copy, mask, row_level=row_level)
        within = w.lt(w.bitcast(at, "u64"), count)  # what is negative is large
        inside = within if inside is None else w.and_(inside, within)
    assert inside is not None, "a window has checks"
    if isinstance(leaf.inside, Constant):
        return w.select(inside, constant(leaf.inside.value, leaf.dtype, inside.lanes), 0)
    place, dim = places[leaf.inside], writer.nest.vector_dim
    assert isinstance(place, str)
    stride = 0 if dim is None or inside.lanes == 1 else leaf.inside.strides[dim]
    if stride == 0:  # one element for all lanes
        element = w.load(_where_any(w, inside, place, leaf.inside), leaf.dtype)
        return w.select(inside, w.splat(element, inside.lanes), 0)
    start = w.offset(place, leaf.dtype, copy * inside.lanes * stride)
    return w.gather(start, leaf.dtype, stride, inside.lanes, inside)


def _where_any(w: FunctionWriter, inside: Reg, place: str, memory: Memory) -> str:
    """`place` where any lane is inside, else the buffer's first element, which is there and not used."""
    some = inside
    if inside.lanes > 1:
        bits = w.assign(f"bitcast {inside} to i{inside.lanes}", "bool")
        some = w.assign(f"icmp ne i{inside.lanes} {bits.text}, 0", "bool")
    chosen = w.fresh("p")
    w.line(f"{chosen} = select i1 {some.text}, ptr {place}, ptr %b{memory.buffer}")
    return chosen
