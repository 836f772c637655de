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

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ....ir.graph import Value
from ...loops.affine import Affine, affine, variable
from ...loops.nodes import (
    LANES,
    SERIAL,
    TASKS,
    Accumulate,
    Carry,
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
    unit_of,
)
from ...loops.passes.parallelize import FIRST, STOP
from ...loops.passes.vectorize import LANE
from ...lowering.exits import LONG_CYCLES
from ...lowering.loop_nest import Accumulator, Member, Memory, Write

if TYPE_CHECKING:
    from .rows import FoldBuilder

#: The indices of a chunk, of an element of the memory that it folds into, and of a lane's own number there.
CHUNK: Final = "g"
ELEMENT: Final = "e"
OWN: Final = "x"


class ChunkWriter:
    """Writes the loops of the chunks of a `builder`'s nest, and its folds into their memory."""

    def __init__(self, builder: FoldBuilder) -> None:
        self.builder, self.nest = builder, builder.nest
        #: The statements of rows that the last chunk has behind its own.
        self.rest: tuple[Node, ...] = ()
        #: Indices in the memory of the chunk at which folds go on, by their values.
        self.into: dict[Value, Affine] = {}
        #: Memory in which each lane has numbers of its own.
        self.private = {
            memory
            for place in self.nest.accumulators.values() if place.width > 1
            for memory in (place.memory, place.error) if memory is not None
        }  # fmt: skip

    def tasks(self, rows: Callable[[Affine, tuple[Affine, ...]], Sequence[Node]]) -> For:
        """The loops of chunks: of each what it folds into begins, then come ``rows(first, ends)``, and then
        what is left to do with what it has."""
        chunks, places = self.nest.chunks, list(self.nest.accumulators.items())
        assert chunks is not None
        first = variable(CHUNK, chunks.size)
        body = [node for write, place in places for node in self._begin(write, place)]
        body += rows(first, (first.plus(chunks.size),))
        body += self.in_last_chunk(self.rest)
        body += [node for write, place in places for node in self._end(write, place)]
        loop = For(CHUNK, (variable(FIRST),), (variable(STOP),), 1, SERIAL, tuple(body))
        return For(FIRST, (affine(0),), (affine(chunks.count),), 1, TASKS, (loop,), end=STOP)

    def polls(self) -> tuple[Node, ...]:
        """Statements that let signals in behind a row, where a chunk takes long."""
        chunks = self.nest.chunks
        assert chunks is not None
        return (Poll(),) if self.nest.cycles / chunks.count > LONG_CYCLES else ()

    def in_last_chunk(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """`nodes` where the chunk is the last one."""
        chunks = self.nest.chunks
        assert chunks is not None
        return (If((InRange(variable(CHUNK).plus(1 - chunks.count)),), nodes),) if nodes else ()

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
        units = [(place.memory, _identity(write, place))]
        units += [(place.error, Constant(0.0, place.memory.dtype))] if place.error is not None else []

        def element(at: Affine) -> tuple[Node, ...]:
            return tuple([Store(*self._at(memory, at), (unit,)) for memory, unit in units])

        return self._each(place.count * place.width, element)

    def _end(self, write: Write, place: Accumulator) -> list[Node]:
        """Make the sum of a total and its error, fold the lanes, and put what the chunk has where it is
        read."""
        target = place.memory if place.target is None else place.target
        if target is place.memory and place.error is None:
            return []
        assert write.fold is not None
        result, dtype, op = self.builder.name("r"), place.memory.dtype, write.fold.op

        def number(at: Affine, name: str) -> tuple[Node, ...]:
            if place.error is None:
                return (Load((name,), dtype, *self._at(place.memory, at)),)
            total, error = self.builder.name("x"), self.builder.name("x")
            loads = [
                Load((read,), dtype, *self._at(memory, at))
                for read, memory in ((total, place.memory), (error, place.error))
            ]
            return (*loads, Total(name, dtype, total, error))

        def element(at: Affine) -> tuple[Node, ...]:
            return (*number(at, result), Store(*self._at(target, at), (result,)))

        if place.width == 1:
            return self._each(place.count, element)
        before, each, after = (self.builder.name(prefix) for prefix in "txf")
        at, ends = variable(ELEMENT), ((affine(0),), (affine(place.width),))
        lane = number(at.scaled(place.width).plus(variable(LANE)), each)
        carry = Carry(before, dtype, _identity(write, place), after, result)
        lanes = For(
            LANE, *ends, 1, LANES, (*lane, Fold(after, dtype, op, before, each)), (carry,), width=place.width
        )
        body = lanes, Store(*self._at(target, at), (result,))
        return [For(ELEMENT, (affine(0),), (affine(place.count),), 1, SERIAL, body)]

    def _at(self, memory: Memory, index: Affine) -> tuple[str, Affine]:
        """The buffer of `memory`, and where its element `index` is for the chunk."""
        pitch = self.nest.pitches.get(memory, 0)
        return self.builder.buffer(memory), index.plus(memory.offset).plus(variable(CHUNK, pitch))

    def _each(self, count: int, element: Callable[[Affine], tuple[Node, ...]]) -> list[Node]:
        """``element(index)`` for each of a chunk's elements: vectors, then single ones."""
        lanes, first, nodes = self.nest.lanes, variable(ELEMENT), list[Node]()
        whole = count // lanes * lanes
        if whole:
            ends = (affine(0),), (affine(lanes),)
            vector = For(LANE, *ends, 1, LANES, element(first.plus(variable(LANE))), width=lanes)
            nodes.append(For(ELEMENT, (affine(0),), (affine(whole),), lanes, SERIAL, (vector,)))
        if whole < count:
            nodes.append(For(ELEMENT, (affine(whole),), (affine(count),), 1, SERIAL, element(first)))
        return nodes


def _identity(write: Write, place: Accumulator) -> Constant:
    """The identity of what `write` folds by."""
    assert write.fold is not None
    return unit_of(write.fold.op, place.memory.dtype)
