"""Walks along one axis, shared by cumulative sums and index reductions: lines of elements that are the axis's
stride apart.

Where the axis is the last, a line is contiguous and lanes run along it; otherwise lanes run across
neighbouring lines (*columns*), and a task is a block of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ...ir.types import Shape
from ..emitter import Reg
from ..loops import FunctionWriter

#: Columns in one task: their row is some cache lines long, so that the next ones are fetched ahead.
BLOCK_COLUMNS: Final = 512


class Lines:
    """The lines of an array of `shape` along `axis`."""

    def __init__(self, shape: Shape, axis: int) -> None:
        self.outer = math.prod(shape[:axis])
        self.extent = shape[axis]
        self.inner = math.prod(shape[axis + 1 :])
        #: Whether lines are contiguous.
        self.contiguous = self.inner == 1
        self.blocks = max(1, -(-self.inner // BLOCK_COLUMNS))

    @property
    def tasks(self) -> int:
        """Lines, or blocks of columns."""
        return 0 if self.inner * self.extent == 0 else self.outer * self.blocks

    def columns(self, w: FunctionWriter, body: Callable[[Reg, Reg, Reg], None]) -> None:
        """Call ``body(outer, first, stop)`` for each task: columns `first` to `stop` of one outer index."""

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            outer = w.assign(f"udiv {index}, {self.blocks}", "i64")
            first = w.mul(w.sub(index, w.mul(outer, self.blocks)), BLOCK_COLUMNS)
            body(outer, first, w.min(w.add(first, BLOCK_COLUMNS), self.inner))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)

    def rows(self, w: FunctionWriter, body: Callable[[Reg], None]) -> None:
        """Call ``body(line)`` for each contiguous line of the tasks."""

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(index)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)


def shuffle(w: FunctionWriter, x: Reg, y: Reg, lanes: Sequence[int]) -> Reg:
    """Lanes of `x` (from 0) and `y` (behind those of `x`)."""
    picks = ", ".join(f"i32 {lane}" for lane in lanes)
    return w.assign(f"shufflevector {x}, {y}, <{len(lanes)} x i32> <{picks}>", x.dtype, len(lanes))
