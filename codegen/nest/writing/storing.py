"""Stores of what a nest computes: vectors along the lanes, single elements, past the cache, into scratch, or
folded into what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...loops.lines import ask_for
from ...lowering.loop_nest import Memory, Write
from .element import NestContext, Places


class FoldingContext(NestContext, Protocol):
    """Interface of the nest's writer for folding into what is there."""

    def fold_into(
        self, write: Write, value: Reg, load: Callable[[Memory], Reg], store: Callable[[Reg, Memory], None]
    ) -> None: ...


def folded(w: FunctionWriter, reduction: Instruction, there: Reg, value: Reg) -> Reg:
    """Value in memory with one element more folded in by `reduction`."""
    record = reduction.op.reduction
    assert record is not None
    result: Reg = record.combine(w, there, w.splat(value, there.lanes))
    return result


def write_out(
    writer: FoldingContext, write: Write, value: Reg, places: Places, copy: int, mask: Reg | None
) -> None:
    """Store the value of a write, or fold it into memory: by all lanes, where there is one element for
    them."""
    w, nest, dim = writer.w, writer.nest, writer.nest.vector_dim

    def load(memory: Memory) -> Reg:
        return writer.read(memory, places, copy, mask, row_level=write.row_level)

    def store(value: Reg, memory: Memory) -> None:
        writer.put(value, memory, places, copy, mask, row_level=write.row_level)

    if write.fold is None:
        store(value, write.memory)
    elif nest.row_lanes or dim is None or write.memory.strides[dim]:
        writer.fold_into(write, value, load, store)
    else:
        fold = write.fold
        writer.fold_into(
            write,
            w.fold_lanes(_where(w, fold, value, nest.lanes, mask), lambda a, b: folded(w, fold, a, b)),
            lambda memory: w.load(str(places[memory]), memory.dtype),
            lambda total, memory: w.store(total, str(places[memory])),
        )


def _where(w: FunctionWriter, reduction: Instruction, value: Reg, lanes: int, mask: Reg | None) -> Reg:
    """`value` in the lanes of `mask`, and the identity of the reduction in the others."""
    value, record = w.splat(value, lanes), reduction.op.reduction
    assert record is not None
    return (
        value
        if mask is None
        else w.select(mask, value, constant(record.identity(value.dtype), value.dtype, lanes))
    )


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
            for memory in some:
                pays = w.and_(pays, w.not_(w.same_place(str(places[memory]), str(place))))
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
    if nest.kept and memory.buffer is not None and memory.buffer < 0:
        stride = stride if nest.row_lanes else 1
        mask = None if nest.pads_scratch else mask
    value = w.splat(value, lanes)
    if past_cache and mask is None and stride == 1:
        w.store_past_cache(value, w.offset(place, memory.dtype, copy * lanes))
        return
    if stride == 1 and mask is None and memory in nest.asked:
        ask_for(w, memory.dtype, place, copy * lanes, write=True)
    w.scatter(value, w.offset(place, memory.dtype, copy * lanes * stride), stride, mask)
