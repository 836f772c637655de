"""Reading through windows: a value among zeros, of which only what is inside lies in memory."""

from __future__ import annotations

from ..emitter import Reg, constant
from ..loops import FunctionWriter
from .element import Places, Writer
from .nest import Constant, Memory, Window


def read_window(
    writer: Writer, leaf: Window, places: Places, copy: int, mask: Reg | None, *, row_level: bool
) -> Reg:
    """Elements inside, zero outside; what is outside is not loaded."""
    w, inside = writer.w, mask
    for index, count in leaf.checks:
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
