"""Matrix-vector products of matrices whose rows are contiguous: the lanes run along the inner dimension.

Some rows at a time share each vector of the right operand; the lanes of their sums are added up at the
end, by halves, and those of several rows together; long sums, block by block (`totals.py`). The last rows
overlap the ones before, which computes some twice to the same bits.
"""

from __future__ import annotations

import math
from typing import Final

from ....base.machine import machine
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import Bound, FunctionWriter
from ...llvm.target import Target
from ...lowering.kernel import PRODUCT_SLOWDOWN, Kernel, signature
from ...maths.support import muladd
from ...nest.reductions.totals import LONG, add_block, add_blocks, finished
from .batches import Product, over_batch, over_rows

#: Rows of at most so many bytes are read one by one, of a matrix of at least so many: going back and forth
#: between lines that lie close together keeps the machine from fetching ahead.
SHORT_ROW: Final = 1024


def far_bytes() -> int:
    """Bytes of a matrix that is far: what goes back and forth in it is not fetched ahead."""
    return machine().l2_bytes // 4


def dots_kernel(name: str, product: Product, target: Target, declarations: Declarations) -> Kernel:
    """The kernel of ``result = x @ y`` for floats, where y has one column."""
    nest, batch = _Dots(name, product, target, declarations), product.batch
    head = (
        f"contraction {name}: {batch} x ({nest.m}x{nest.k} @ {nest.k}x1) {nest.dtype}, "
        f"{nest.rows} rows of {nest.lanes} lanes"
    )
    cycles = batch * nest.m * (nest.k / nest.lanes * 2 + 4.0)
    tasks = batch if batch > 1 else nest.down
    return Kernel(
        name,
        nest.write(),
        head,
        tasks,
        cycles,
        grain=machine().product_task_cycles,
        slowdown=PRODUCT_SLOWDOWN,
    )


class _Dots:
    def __init__(self, name: str, product: Product, target: Target, declarations: Declarations) -> None:
        self.name, self.product = name, product
        self.operands, self.dtype = product.operands, product.dtype
        self.w = FunctionWriter(declarations)
        self.m, _, self.k = product.sizes
        self.lanes = target.lanes(self.dtype)
        x = product.types[0]
        one_by_one = self.k * x.dtype.itemsize <= SHORT_ROW and x.nbytes >= far_bytes()
        sums = machine().multiply_adds_in_flight  # that are kept in registers at a time
        self.rows = 1 if one_by_one else min(self.m, sums)
        #: Vectors side by side, each with sums of its own: fewer rows have more.
        self.unroll = 1
        while self.rows * self.unroll * 2 <= sums and self.k >= self.lanes * self.unroll * 2:
            self.unroll *= 2

    @property
    def down(self) -> int:
        """Groups of rows."""
        return math.ceil(self.m / self.rows)

    def write(self) -> Code:
        w = self.w
        begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
        if self.product.batch > 1:
            over_batch(w, self.product, lambda at: self._groups(at, 0, self.down), tasks=(begin, end))
        else:
            self._groups(self.product.starts(w), begin, end)
        w.ret()
        return [w.function(signature(self.name, 3), "nounwind")]

    def _groups(self, at: list[str], first: Reg | int, last: Reg | int) -> None:
        w = self.w

        def group(here: list[str]) -> None:
            sums = self._sums(here[0], at[1])
            for row in range(0, self.rows, self.lanes):
                w.store(self._folded(sums[row : row + self.lanes]), w.offset(here[1], self.dtype, row))

        moved = [(at[0], self.operands[0].strides[-2]), (at[2], 1)]
        over_rows(w, self.m, self.rows, (first, last), self.dtype, moved, group)

    def _sums(self, x: str, y: str) -> list[Reg]:
        """The sums of one group of rows, a vector for each."""
        w, lanes, rows = self.w, self.lanes, self.rows

        def step(index: Reg, sums: list[Reg], copies: int, mask: Reg | None) -> list[Reg]:
            out: list[Reg] = []
            for copy in range(copies):
                right = self._vector(y, index, copy, self.operands[1].strides[-2], mask)
                for row in range(rows):
                    start = w.offset(x, self.dtype, row * self.operands[0].strides[-2])
                    left = self._vector(start, index, copy, self.operands[0].strides[-1], mask)
                    out.append(muladd(w, left, right, sums[copy * rows + row]))
            return out + sums[copies * rows :]

        wide, single = lanes * self.unroll, self.k // lanes * lanes
        whole = self.k // wide * wide
        zeros = [constant(0, self.dtype, lanes)] * (rows * self.unroll)

        def groups(first: Bound, stop: Bound, sums: list[Reg]) -> list[Reg]:
            return w.loop(
                first, stop, wide, lambda i, now: step(i, now, self.unroll, None), sums, nonempty=True
            )

        def rest(sums: list[Reg]) -> list[Reg]:
            sums = w.loop(whole, single, lanes, lambda i, now: step(i, now, 1, None), sums)
            if single < self.k:
                sums = step(constant(single, "i64"), sums, 1, w.tail_mask(self.k - single, lanes))
            return self._by_halves(sums)

        if whole <= LONG * wide:
            return rest(groups(0, whole, zeros))
        totals = add_blocks(
            w, zeros[:rows], (0, whole), LONG * wide,
            lambda first, stop: self._by_halves(groups(first, stop, zeros)),
        )  # fmt: skip
        return finished(w, add_block(w, totals, rest(zeros)) if whole < self.k else totals)

    def _by_halves(self, sums: list[Reg]) -> list[Reg]:
        """Sums that stand side by side added up to one vector for each row."""
        w, rows = self.w, self.rows
        parts = [sums[at : at + rows] for at in range(0, len(sums), rows)]
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:], strict=True)
            parts = [[w.add(a, b) for a, b in zip(items, other, strict=True)] for items, other in pairs]
        return parts[0]

    def _folded(self, sums: list[Reg]) -> Reg:
        """The lanes of each vector added up by halves: a lane of the result for each, of which there are no
        more than a vector has.

        Two vectors become one, whose halves are theirs folded once, and so on, until there is one with a
        segment for each row, which is folded by halves, too.
        """
        w, rows, width = self.w, len(sums), self.lanes
        if rows == 1:
            return w.fold_lanes(sums[0], w.add)
        sums = sums + [sums[-1]] * ((1 << (rows - 1).bit_length()) - rows)
        while len(sums) > 1:
            pairs = zip(sums[::2], sums[1::2], strict=True)
            sums, width = [self._halved([a, b], width) for a, b in pairs], width // 2
        (total,) = sums
        while width > 1:
            total, width = self._halved([total], width), width // 2
        return total if total.lanes == rows else w.shuffle(total, None, range(rows))

    def _halved(self, sums: list[Reg], width: int) -> Reg:
        """Each segment of `width` lanes folded once; those of a second vector behind the first one's."""
        lanes, half = sums[0].lanes, width // 2
        first = [
            vector * lanes + segment + lane
            for vector in range(len(sums))
            for segment in range(0, lanes, width)
            for lane in range(half)
        ]
        x, y = sums[0], sums[1] if len(sums) > 1 else None
        parts = [self.w.shuffle(x, y, [lane + by for lane in first]) for by in (0, half)]
        return self.w.add(*parts)

    def _vector(self, start: str, index: Reg, copy: int, stride: int, mask: Reg | None) -> Reg:
        w = self.w
        place = w.offset(start, self.dtype, w.mul(w.add(index, copy * self.lanes), stride))
        return w.gather(place, self.dtype, stride, self.lanes, mask)
