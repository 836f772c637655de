"""Products of a few rows with a matrix that is too large to stay near: y streams by once, row after row.

Tiles that stay in registers would walk down narrow strips of y, each line of which lies on another page.
Here the sums are what is read and written again, in the first cache, and some rows of y are added to them at
a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ....base.machine import machine
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...lowering.kernel import Kernel, signature
from ...lowering.parallel_for import part_of
from .batches import Product, accumulate, over_batch
from .tiles import SUM_PART

#: Rows of x up to which this pays.
MAX_ROWS: Final = 4
#: Rows of y that are added at a time.
_TOGETHER: Final = 8
#: Vectors of a strip: at least so many; and bytes of its rows, which are read faster in long runs. Measured
#: for one row of 4096 with 4096x4096 f32 on two threads: 1.1 ms with 8 KB, 1.4 with 4, 2.0 with 2.
_MIN_VECTORS: Final = 16
_RUN: Final = 8 << 10
#: Longer sums are added up in parts of this length: errors grow with it.
_INNER: Final = 2 * SUM_PART


def large_bytes() -> int:
    """Bytes of y from which on streaming pays."""
    return machine().l2_bytes


def streams(product: Product, target: Target) -> bool:
    """Whether `product` is one of those."""
    (m, n, k), dtype = product.sizes, product.dtype
    return (
        dtype[0] == "f"
        and 0 < m <= MAX_ROWS
        and product.operands[1].strides[-1] == 1
        and n >= _MIN_VECTORS * target.lanes(dtype)
        and k * n * BITS[dtype] // 8 >= large_bytes()
    )


def streams_kernel(name: str, product: Product, target: Target, declarations: Declarations) -> Kernel:
    """The kernel of ``result = x @ y``; its tasks are strips of columns."""
    batch, dtype = product.batch, product.dtype
    writer = _Writer(product, target.lanes(dtype), declarations)
    head = (
        f"contraction {name}: {batch} x ({writer.m}x{writer.k} @ {writer.k}x{writer.n}) {dtype}, "
        f"{_TOGETHER} rows at a time in strips of {writer.width} columns"
    )
    cycles = batch * writer.k * writer.n * max((writer.m + 1.0) / writer.lanes, BITS[dtype] / 64)
    return Kernel(name, writer.write(name), head, writer.tasks if batch else 0, cycles)


class _Writer:
    def __init__(self, product: Product, lanes: int, declarations: Declarations) -> None:
        self.product, self.operands, self.lanes = product, product.operands, lanes
        self.dtype = dtype = product.dtype
        self.m, self.n, self.k = product.sizes
        columns = min(_RUN * 8 // BITS[dtype], math.ceil(self.n / 2))
        self.width = max(_MIN_VECTORS, math.ceil(columns / lanes)) * lanes
        self.tasks = math.ceil(self.n / self.width)
        self.w = FunctionWriter(declarations)
        #: Sums of the part being added up, row after row; those of a short sum are the result itself.
        self.parts = self.w.slot(dtype, self.m * self.width) if self.k > _INNER else ""

    def write(self, name: str) -> Code:
        w = self.w

        def strip(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            first, stop = part_of(w, index, self.width, self.n)

            def columns(at: list[str]) -> None:
                x, y, result = at
                self._strip(
                    x, w.offset(y, self.dtype, first), w.offset(result, self.dtype, first), stop, first
                )

            over_batch(w, self.product, columns)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, strip)
        w.ret()
        return [w.function(signature(name, 3), "nounwind")]

    def _strip(self, x: str, y: str, result: str, stop: Reg, first: Reg) -> None:
        """Columns from `first` on, where `y` and `result` point to, up to `stop`."""
        w, dtype = self.w, self.dtype
        self.count = w.sub(stop, first)
        rows = [w.offset(result, dtype, row * self.n) for row in range(self.m)]
        self._clear(rows)
        if not self.parts:
            self._part(x, y, rows, 0, self.k)
            return
        sums = [w.offset(self.parts, dtype, row * self.width) for row in range(self.m)]

        def add_up(at: Reg, mask: Reg | None) -> None:
            for row, part in zip(rows, sums, strict=True):
                place, here = w.offset(row, dtype, at), w.offset(part, dtype, at)
                total = w.add(w.load(place, dtype, self.lanes, mask), w.load(here, dtype, self.lanes, mask))
                w.store(total, place, mask)

        def part(start: Reg, size: int) -> None:
            self._clear(sums)
            self._part(x, y, sums, start, size)
            self._columns(add_up)

        whole = self.k // _INNER * _INNER

        def parts(start: Reg, _: list[Reg]) -> Sequence[Reg]:
            part(start, _INNER)
            return ()

        w.loop(0, whole, _INNER, parts)
        if whole < self.k:
            part(constant(whole, "i64"), self.k - whole)

    def _clear(self, sums: list[str]) -> None:
        w, zero = self.w, constant(0, self.dtype, self.lanes)

        def vector(at: Reg, mask: Reg | None) -> None:
            for sum_ in sums:
                w.store(zero, w.offset(sum_, self.dtype, at), mask)

        self._columns(vector)

    def _part(self, x: str, y: str, sums: list[str], start: Reg | int, size: int) -> None:
        """Add `size` rows of y from `start` on, times their factors, to `sums`."""
        w = self.w
        whole = size // _TOGETHER * _TOGETHER

        def rows(count: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def some(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                self._rows(x, y, sums, w.add(index, start), count)
                return ()

            return some

        w.loop(0, whole, _TOGETHER, rows(_TOGETHER))
        w.loop(whole, size, 1, rows(1))

    def _rows(self, x: str, y: str, sums: list[str], first: Reg, count: int) -> None:
        """Add `count` rows of y from `first` on."""
        w, dtype = self.w, self.dtype
        (across, along), down = self.operands[0].strides[-2:], self.operands[1].strides[-2]
        places = [w.add(first, i) for i in range(count)]
        lines = [w.offset(y, dtype, w.mul(place, down)) for place in places]
        factors = [
            [
                w.splat(
                    w.load(w.offset(x, dtype, w.add(w.mul(place, along), row * across)), dtype), self.lanes
                )
                for place in places
            ]
            for row in range(self.m)
        ]

        def vector(at: Reg, mask: Reg | None) -> None:
            here = [w.load(w.offset(line, dtype, at), dtype, self.lanes, mask) for line in lines]
            for place, mine in zip(sums, factors, strict=True):
                spot = w.offset(place, dtype, at)
                total = w.load(spot, dtype, self.lanes, mask)
                for factor, element in zip(mine, here, strict=True):
                    total = accumulate(w, total, factor, element)
                w.store(total, spot, mask)

        self._columns(vector)

    def _columns(self, body: Callable[[Reg, Reg | None], None]) -> None:
        """Call `body` for each vector of the strip, the last one of the result with a mask."""
        w, lanes = self.w, self.lanes
        whole = w.and_(self.count, -lanes)

        def vector(at: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(at, None)
            return ()

        w.loop(0, whole, lanes, vector)
        rest = self.n % lanes
        if rest:
            w.when(w.lt(whole, self.count), lambda: body(whole, w.tail_mask(rest, lanes)))
