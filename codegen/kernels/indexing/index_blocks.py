"""Blocks of tuples of indices: vectors check them and find the places of their slices, which are moved then.

A block that holds an index out of range is left alone, and the axis is noted: where threads share blocks, in
the kernel's workspace. Places are kept on the stack, so that what another thread of Python writes to the
indices meanwhile leads nowhere.

Blocks are so short that the processor finds places of the next one while loads of the last one are under way:
a million elements of 100,000 f64 take 0.77 ms in blocks of 128 to 512, 0.90 in blocks of 2,048, and 1.0 where
indices are wrapped once more as they are used (Intel, AVX-512, one thread); additions 1.34, 1.53 and 1.45 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...lowering.parallel_for import part_of
from .slices import Slices

#: Indices of a block.
BLOCK: Final = 256
#: Slices moved in one turn.
TURN: Final = 4
#: Bytes of the note: a cache line.
STATUS_BYTES: Final = 64


class IndexBlocks:
    """The blocks of `count` tuples of indices to `slices`; buffers from `first` on hold them."""

    #: The pointer to the places of a block's slices.
    places: str

    def __init__(self, slices: Slices, first: int, count: int, target: Target) -> None:
        self.slices, self.first, self.count = slices, first, count
        #: The number of blocks.
        self.number = -(-count // BLOCK)
        self.lanes = target.lanes("i64")

    def over(self, w: FunctionWriter, first: Reg, stop: Reg, move: Callable[[Reg, Reg], None]) -> Reg:
        """Call ``move(start, stop)`` with the numbers of the tuples of each block whose indices are in range;
        the axes that have a bad index, as bits."""
        self.places = w.slot("i64", BLOCK)

        def block(number: Reg, state: list[Reg]) -> Sequence[Reg]:
            start, end = part_of(w, number, BLOCK, self.count)
            bad = self._find(w, start, end)
            w.when(w.eq(bad, 0), lambda: move(start, end))
            return [w.or_(state[0], bad)]

        (bad,) = w.loop(first, stop, 1, block, [constant(0, "i32")])
        return bad

    def each(self, w: FunctionWriter, start: Reg, stop: Reg, body: Callable[[Reg, Reg], None]) -> None:
        """Call ``body(number of the tuple, place of the slice)``, several times in one turn."""

        def turn(copies: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def run(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                numbers = [w.add(at, copy) for copy in range(copies)]
                places = [self.place(w, start, number) for number in numbers]
                for number, place in zip(numbers, places, strict=True):
                    body(number, place)
                return ()

            return run

        whole = w.add(start, w.and_(w.sub(stop, start), -TURN))
        w.loop(start, whole, TURN, turn(TURN))
        w.loop(whole, stop, 1, turn(1))

    def place(self, w: FunctionWriter, start: Reg, number: Reg) -> Reg:
        """The place of the slice that tuple `number` leads to, in the block that begins at tuple `start`."""
        return w.load(w.offset(self.places, "i64", w.sub(number, start)), "i64")

    def _find(self, w: FunctionWriter, start: Reg, stop: Reg) -> Reg:
        """Write the places of a block's slices; the axes that have a bad index, as bits.

        As unsigned numbers, the smaller of an index and what it is if it counts from the end is below the
        size where it is in range.
        """

        def some(lanes: int, at: Reg, state: list[Reg]) -> Sequence[Reg]:
            place, fine = constant(0, "u64", lanes), []
            for position, (good, size, step) in enumerate(
                zip(state, self.slices.sizes, self.slices.steps, strict=True)
            ):
                indices = w.load(w.offset(f"%b{self.first + position}", "i64", at), "i64", lanes)
                index = w.bitcast(indices, "u64")
                index = w.min(index, w.add(index, size))
                fine.append(w.and_(good, w.lt(index, size)))
                place = w.add(place, w.mul(index, step))
            w.store(place, w.offset(self.places, "i64", w.sub(at, start)))
            return fine

        lanes = self.lanes
        whole = w.add(start, w.and_(w.sub(stop, start), -lanes))
        good = [constant(True, "bool", lanes)] * len(self.slices.sizes)
        good = w.loop(start, whole, lanes, lambda at, state: some(lanes, at, state), good)
        every = [w.eq(w.mask_bits(reg), (1 << lanes) - 1) for reg in good]
        every = w.loop(whole, stop, 1, lambda at, state: some(1, at, state), every)
        bad = constant(0, "i32")
        for position, fine in enumerate(every):
            bad = w.or_(bad, w.select(fine, constant(0, "i32"), 1 << position))
        return bad


def status_of(w: FunctionWriter, bad: Reg) -> Reg:
    """Status that a kernel returns: 0, or 1 plus the first axis that has a bad index."""
    return w.select(w.eq(bad, 0), 0, w.add(w.trailing_zeros(bad), 1))


def note(w: FunctionWriter, bad: Reg, status: str) -> None:
    """Add `bad` to the note at `status`, which tasks share."""

    def add() -> None:
        w.update("or", status, bad)

    w.when(w.ne(bad, 0), add)
