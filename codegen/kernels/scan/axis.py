"""Walks along one axis, shared by cumulative sums and index reductions: lines of elements that are the axis's
stride apart.

Where the axis is the last, a line is contiguous and lanes run along it; otherwise lanes run across
neighbouring lines (*columns*), and a task is a block of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ....base.machine import machine
from ....ir.types import Shape
from ...llvm.emitter import Reg
from ...llvm.loops import Bound, FunctionWriter
from ...llvm.target import Target
from ...lowering.parallel_for import part_of

#: Columns in one task: their row is some cache lines long, so that the next ones are fetched ahead.
BLOCK_COLUMNS: Final = 512


def round_chunks() -> int:
    """Chunks in one round, and so tasks: what they read stays in the last-level cache."""
    return machine().chunks


def chunk_bytes() -> int:
    """Bytes of a chunk of a line: it stays in the second-level cache until it is read again."""
    return machine().l2_bytes // 8


class Lines:
    """The lines of an array of `shape` along `axis`, walked with vectors of `dtypes`."""

    def __init__(self, shape: Shape, axis: int, target: Target, *dtypes: str) -> None:
        self.outer = math.prod(shape[:axis])
        self.extent = shape[axis]
        self.inner = math.prod(shape[axis + 1 :])
        #: Whether lines are contiguous.
        self.contiguous = self.inner == 1
        self.blocks = max(1, -(-self.inner // BLOCK_COLUMNS))
        #: Elements of a vector: no more than there are along the lanes.
        self.lanes = min(target.lanes(dtype) for dtype in dtypes)
        while self.lanes > max(self.extent if self.contiguous else self.inner, 1):
            self.lanes //= 2

    @property
    def tasks(self) -> int:
        """Lines, or blocks of columns."""
        return 0 if self.inner * self.extent == 0 else self.outer * self.blocks

    def columns(self, w: FunctionWriter, body: Callable[[Reg, Reg, Reg], None]) -> None:
        """Call ``body(outer, first, stop)`` for each task: columns `first` to `stop` of one outer index."""

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            outer = w.integer("udiv", index, self.blocks)
            block = w.sub(index, w.mul(outer, self.blocks))
            body(outer, *part_of(w, block, BLOCK_COLUMNS, self.inner))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)

    def across(
        self, w: FunctionWriter, first: Bound, stop: Bound, copies: int, body: Callable[[Reg, int, int], None]
    ) -> None:
        """Call ``body(column, copies, lanes)`` over columns: vectors side by side, then single ones, then
        elements."""

        def group(copies: int, lanes: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def run(column: Reg, _: list[Reg]) -> Sequence[Reg]:
                body(column, copies, lanes)
                return ()

            return run

        for count, lanes in dict.fromkeys(((copies, self.lanes), (1, self.lanes), (1, 1))):
            size = count * lanes
            done = w.add(first, w.and_(w.sub(stop, first), -size)) if size > 1 else stop
            w.loop(first, done, size, group(count, lanes))
            first = done

    def rows(self, w: FunctionWriter, body: Callable[[Reg], None]) -> None:
        """Call ``body(line)`` for each contiguous line of the tasks."""

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(index)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)
