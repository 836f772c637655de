"""Chunks of rows as loops: each chunk is a task, and folds what its rows give into memory of its own.

    for t..s in 0:4 tasks {
      for g in t:s {
        for e in 0:8 step 8 { ... store b2[e + 8*g], 0.0 }
        for i in 100*g:min(100*g + 100, 370) { ... load b2[j + 8*g]  fold  store b2[j + 8*g] }
      }
    }

Sums of floats over many rows have a total and an error (`totals`), of which the sum is made when the chunk is
done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ....ir.graph import Value
from ...loops.affine import Affine, affine, variable
from ...loops.nodes import (
    LANES,
    SERIAL,
    TASKS,
    Accumulate,
    Constant,
    Fold,
    For,
    If,
    InRange,
    Load,
    Node,
    Poll,
    Store,
    Total,
)
from ...loops.passes.parallelize import FIRST, STOP
from ...loops.passes.vectorize import LANE
from ...lowering.exits import LONG_CYCLES
from ...lowering.loop_nest import Accumulator, Member, Memory, Write

if TYPE_CHECKING:
    from .rows import FoldBuilder

#: The indices of a chunk, and of an element of the memory that it folds into.
CHUNK: Final = "g"
ELEMENT: Final = "e"


class ChunkWriter:
    """Writes the loops of the chunks of a `builder`'s nest, and its folds into their memory."""

    def __init__(self, builder: FoldBuilder) -> None:
        self.builder, self.nest = builder, builder.nest
        #: The statements of rows that the last chunk has behind its own.
        self.rest: tuple[Node, ...] = ()
        #: Indices in the memory of the chunk at which folds go on, by their values.
        self.into: dict[Value, Affine] = {}

    def tasks(self, row: tuple[Node, ...]) -> For:
        """The loops of chunks around `row`."""
        chunks, places = self.nest.chunks, list(self.nest.accumulators.items())
        assert chunks is not None
        first, dim = variable(CHUNK, chunks.size), self.builder.dims[0]
        ends = first.plus(chunks.size), affine(self.nest.sizes[0])
        polls = (Poll(),) if self.nest.cycles / chunks.count > LONG_CYCLES else ()
        body = [
            *[node for write, place in places for node in self._begin(write, place)],
            For(dim, (first,), ends, 1, SERIAL, (*row, *polls)),
        ]
        if self.rest:
            body.append(If((InRange(variable(CHUNK).plus(1 - chunks.count)),), self.rest))
        body += [node for _, place in places for node in self._end(place)]
        loop = For(CHUNK, (variable(FIRST),), (variable(STOP),), 1, SERIAL, tuple(body))
        return For(FIRST, (affine(0),), (affine(chunks.count),), 1, TASKS, (loop,), end=STOP)

    def beginning(self, fold: Member) -> str | None:
        """The value that `fold` begins with where it goes on with what the chunk has; None where it does
        not."""
        for write, place in self.nest.accumulators.items():
            if write.source is fold.value and place.error is None and write.fold is fold.instruction:
                name, self.into[fold.value] = self._load(place.memory)
                return name
        return None

    def fold(self, write: Write) -> None:
        """Fold what `write` has into the memory of the chunk."""
        builder, place = self.builder, self.nest.accumulators[write]
        value, dtype = builder.operand(write.source), place.memory.dtype
        if isinstance(write.source, Value) and write.source in self.into:
            buffer, origins = builder.buffer(place.memory), write.fold.origins if write.fold else ()
            builder.nodes.append(Store(buffer, self.into[write.source], (value,), origins=origins))
            return
        assert write.fold is not None
        op, origins = write.fold.op, write.fold.origins
        total, into = self._load(place.memory)
        if place.error is None:
            folded = builder.name("f")
            builder.nodes.append(Fold(folded, dtype, op, total, value, origins))
            builder.nodes.append(Store(builder.buffer(place.memory), into, (folded,), origins=origins))
            return
        error, behind = self._load(place.error)
        names = builder.name("f"), builder.name("f")
        builder.nodes.append(Accumulate(names, dtype, total, error, value, origins))
        for memory, at, name in ((place.memory, into, names[0]), (place.error, behind, names[1])):
            builder.nodes.append(Store(builder.buffer(memory), at, (name,), origins=origins))

    def _load(self, memory: Memory) -> tuple[str, Affine]:
        index = self.builder.index(memory)
        name = self.builder.name("x")
        self.builder.nodes.append(Load((name,), memory.dtype, self.builder.buffer(memory), index))
        return name, index

    def _begin(self, write: Write, place: Accumulator) -> list[Node]:
        """Set what a chunk folds into to the identity."""
        dtype = place.memory.dtype
        assert write.fold is not None
        record = write.fold.op.reduction
        assert record is not None
        units = [(place.memory, record.identity(dtype))]
        units += [(place.error, 0.0)] if place.error is not None else []

        def element(at: Affine) -> tuple[Node, ...]:
            return tuple([
                Store(self.builder.buffer(memory), at.plus(memory.offset), (Constant(unit, dtype),))
                for memory, unit in units
            ])  # fmt: skip

        return self._each(place, element)

    def _end(self, place: Accumulator) -> list[Node]:
        """Make the sum of a total and its error."""
        total, error, dtype = place.memory, place.error, place.memory.dtype
        if error is None:
            return []
        buffers = [self.builder.buffer(memory) for memory in (total, error)]
        names = [self.builder.name("x") for _ in range(3)]

        def element(at: Affine) -> tuple[Node, ...]:
            places = [at.plus(memory.offset) for memory in (total, error)]
            loads = [
                Load((name,), dtype, buffer, place)
                for name, buffer, place in zip(names[:2], buffers, places, strict=True)
            ]
            result = Total(names[2], dtype, *names[:2])
            return (*loads, result, Store(buffers[0], places[0], (names[2],)))

        return self._each(place, element)

    def _each(self, place: Accumulator, element: Callable[[Affine], tuple[Node, ...]]) -> list[Node]:
        """``element(index)`` for each of a chunk's elements: vectors, then single ones."""
        lanes, pitch = self.nest.lanes, self.nest.pitches[place.memory]
        first = variable(CHUNK, pitch).plus(variable(ELEMENT))
        whole, nodes = place.count // lanes * lanes, list[Node]()
        if whole:
            ends = (affine(0),), (affine(lanes),)
            vector = For(LANE, *ends, 1, LANES, element(first.plus(variable(LANE))), width=lanes)
            nodes.append(For(ELEMENT, (affine(0),), (affine(whole),), lanes, SERIAL, (vector,)))
        if whole < place.count:
            nodes.append(For(ELEMENT, (affine(whole),), (affine(place.count),), 1, SERIAL, element(first)))
        return nodes
