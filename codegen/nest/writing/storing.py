"""Storing what a nest computes: vectors along the lanes, single elements, past the cache, into scratch; and
folding into what is there."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.graph import Instruction
from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ..loop_nest import Memory
from .element import NestContext, Places
from .prefetch import ask_for


def folded(w: FunctionWriter, reduction: Instruction, there: Reg, value: Reg) -> Reg:
    """What `reduction` makes of what is there and one element more."""
    record = reduction.op.reduction
    assert record is not None
    result: Reg = record.combine(w, there, w.splat(value, there.lanes))
    return result


def past_cache(
    w: FunctionWriter, places: Places, some: frozenset[Memory], body: Callable[[frozenset[Memory]], None]
) -> None:
    """Write `body` for stores of `some` past the cache and for ordinary ones, which serve where memory is not
    aligned, and where a result is written over an operand: its lines are in the cache."""
    if not some:
        body(some)
        return
    pays = w.aligned([str(places[memory]) for memory in some])
    strides = {memory.strides for memory in some}
    for other, place in places.items():
        if other.buffer is not None and other.buffer >= 0 and other not in some and other.strides in strides:
            address = w.address_of(str(place))
            for memory in some:
                pays = w.and_(pays, w.ne(w.address_of(str(places[memory])), address))
    w.when(pays, lambda: body(some))
    w.when(w.not_(pays), lambda: body(frozenset()))
    w.fence()


def put(
    writer: NestContext, value: Reg, memory: Memory, places: Places, copy: int, mask: Reg | None,
    *, row_level: bool, past_cache: bool,
) -> None:  # fmt: skip
    """Store `value` where `memory` is: of vectors side by side the one number `copy`."""
    w, nest = writer.w, writer.nest
    dim = nest.vector_dim
    place = places[memory]
    assert isinstance(place, str)
    if dim is None or (row_level and nest.row_lanes):
        w.store(value, place)
        return
    stride = memory.strides[dim]
    lanes = nest.lanes
    if nest.kept and memory.buffer is not None and memory.buffer < 0 and not nest.row_lanes:
        stride = 1
    value = w.splat(value, lanes)
    if past_cache and mask is None and stride == 1:
        w.store_past_cache(value, w.offset(place, memory.dtype, copy * lanes))
        return
    if stride == 1 and mask is None and memory in nest.asked:
        ask_for(w, memory.dtype, place, copy * lanes, write=True)
    w.scatter(value, w.offset(place, memory.dtype, copy * lanes * stride), stride, mask)
