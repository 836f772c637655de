"""Blocks of tuples of indices, which are checked by vectors before the slices of the block are moved.

A block that holds an index out of range is left alone, and the axis is noted: where threads share blocks, in
the kernel's workspace.

Blocks of short slices are long, and their indices are wrapped one by one as they are used: between blocks, or
where numbers are made by vectors first, no misses are under way. A million additions to a million places took
1.5 ms in blocks of 2048, and 1.8 in blocks of 256 (Zen 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...lowering.parallel_for import part_of
from .slices import Slices

#: Indices of a block of short slices, and of long ones, which are so many bytes.
BLOCK: Final = 2048
BLOCK_OF_LONG: Final = 256
LONG: Final = 64
#: Slices moved in one turn.
TURN: Final = 4
#: Bytes of the note: a cache line.
STATUS_BYTES: Final = 64


class IndexBlocks:
    """The blocks of `count` tuples of indices to `slices`; buffers from `first` on hold them. Slices are
    `nbytes` long."""

    def __init__(self, slices: Slices, first: int, count: int, nbytes: int, target: Target) -> None:
        self.slices, self.first, self.count = slices, first, count
        self.size = BLOCK_OF_LONG if nbytes >= LONG else BLOCK
        #: The number of blocks.
        self.number = -(-count // self.size)
        self.lanes = target.lanes("i64")

    def over(self, w: FunctionWriter, first: Reg, stop: Reg, move: Callable[[Reg, Reg], None]) -> Reg:
        """Call ``move(start, stop)`` with the numbers of the tuples of each block whose indices are in range;
        the axes that have a bad index, as bits."""

        def block(number: Reg, state: list[Reg]) -> Sequence[Reg]:
            start, end = part_of(w, number, self.size, self.count)
            bad = self._check(w, start, end)
            w.when(w.eq(bad, 0), lambda: move(start, end))
            return [w.or_(state[0], bad)]

        (bad,) = w.loop(first, stop, 1, block, [constant(0, "i32")])
        return bad

    def each(self, w: FunctionWriter, start: Reg, stop: Reg, body: Callable[[Reg, Reg], None]) -> None:
        """Call ``body(number of the tuple, place of the slice)``, several times in one turn."""

        def turn(copies: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def run(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                numbers = [w.add(at, copy) for copy in range(copies)]
                for number, place in zip(numbers, [self.place(w, number) for number in numbers], strict=True):
                    body(number, place)
                return ()

            return run

        whole = w.add(start, w.and_(w.sub(stop, start), -TURN))
        w.loop(start, whole, TURN, turn(TURN))
        w.loop(whole, stop, 1, turn(1))

    def place(self, w: FunctionWriter, number: Reg) -> Reg:
        """The place of the slice that tuple `number` leads to, whose indices are in range: unless another
        thread of Python changes them meanwhile. So they are limited, as they are read here once more."""
        place = constant(0, "u64")
        for position, (size, step) in enumerate(zip(self.slices.sizes, self.slices.steps, strict=True)):
            index = w.min(self._wrapped(w, position, number, 1), max(size - 1, 0))
            place = w.add(place, w.mul(index, step))
        return w.bitcast(place, "i64")

    def _wrapped(self, w: FunctionWriter, position: int, number: Reg, lanes: int) -> Reg:
        """Indices counted from the beginning. As unsigned numbers, the smaller of an index and what it is if
        it counts from the end is below the size where it is in range."""
        signed = w.load(w.offset(f"%b{self.first + position}", "i64", number), "i64", lanes)
        index = w.bitcast(signed, "u64")
        return w.min(index, w.add(index, self.slices.sizes[position]))

    def _check(self, w: FunctionWriter, start: Reg, stop: Reg) -> Reg:
        """The axes that have a bad index, as bits."""

        def some(lanes: int, at: Reg, state: list[Reg]) -> Sequence[Reg]:
            return [
                w.and_(good, w.lt(self._wrapped(w, position, at, lanes), self.slices.sizes[position]))
                for position, good in enumerate(state)
            ]

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
