"""Small matrix products: a register-blocked nest that reads its operands where they lie.

Operands may be strided views (a transposed matrix costs nothing). The nest keeps a block of the result,
four rows by two vectors, in registers along the whole inner dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir.types import TensorType
from ..emitter import Reg, constant
from ..loops import FunctionWriter
from ..target import Target
from .batches import Strided, over_batch
from .kernel import Kernel, signature

_ROWS = 4
_VECTORS = 2


def direct_kernel(
    name: str,
    types: tuple[TensorType, TensorType, TensorType],
    operands: tuple[Strided, Strided],
    dtype: str,
    target: Target,
    declarations: dict[str, str],
) -> Kernel:
    """The kernel of ``result = x @ y`` for `types` of x, y and the result."""
    x, _, result = types
    m, k, n = x.shape[-2], x.shape[-1], result.shape[-1]
    batch = math.prod(result.shape[:-2])
    writer = _Block(name, types, operands, dtype, target, declarations)
    cycles = m * n * k * batch / target.lanes(dtype) / 2 + 10 * batch
    tasks = batch if batch > 1 else math.ceil(m / _ROWS)
    head = f"contraction {name}: {batch} x ({m}x{k} @ {k}x{n}) {dtype}, {writer.lanes} lanes"
    return Kernel(name, writer.text(), head, tasks if result.size else 0, cycles)


class _Block:
    """Our own nest: a block of rows by vectors in registers."""

    def __init__(
        self,
        name: str,
        types: tuple[TensorType, TensorType, TensorType],
        operands: tuple[Strided, Strided],
        dtype: str,
        target: Target,
        declarations: dict[str, str],
    ) -> None:
        self.name, self.types, self.operands, self.dtype = name, types, operands, dtype
        self.w = FunctionWriter(declarations)
        self.m, self.n = types[2].shape[-2:]
        self.k = types[0].shape[-1]
        self.lanes = target.lanes(dtype) if self.n > 1 else 1

    def text(self) -> str:
        w = self.w
        x, y = self.operands
        starts = [w.offset("%b0", self.dtype, x.offset), w.offset("%b1", self.dtype, y.offset), "%b2"]
        batched = math.prod(self.types[2].shape[:-2]) > 1
        begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
        if batched and self.types[2].shape[0] == math.prod(self.types[2].shape[:-2]):
            over_batch(w, self.types, self.operands, starts, self.dtype, self._matrix, first=(begin, end))
        elif batched:
            over_batch(w, self.types, self.operands, starts, self.dtype, self._matrix)
        else:
            over_batch(
                w, self.types, self.operands, starts, self.dtype, lambda at: self._rows(at, begin, end)
            )
        w.line("ret void")
        return w.function(signature(self.name, 3), "nounwind")

    def _matrix(self, at: list[str]) -> None:
        self._rows(at, constant(0, "i64"), constant(math.ceil(self.m / _ROWS), "i64"))

    def _rows(self, at: list[str], begin: Reg, end: Reg) -> None:
        """Blocks of rows `begin` to `end`; the last may be short."""
        w = self.w
        whole = self.m // _ROWS

        def block(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._columns(self._move(at, w.mul(index, _ROWS)), _ROWS)
            return ()

        if whole:
            w.loop(begin, w.min(end, constant(whole, "i64")), 1, block)
        if self.m % _ROWS:
            last = self._move
            w.when(
                w.gt(end, whole),
                lambda: self._columns(last(at, constant(whole * _ROWS, "i64")), self.m % _ROWS),
            )

    def _move(self, at: list[str], row: Reg) -> list[str]:
        w = self.w
        by = self.operands[0].strides[-2]
        return [
            w.offset(at[0], self.dtype, w.mul(row, by)),
            at[1],
            w.offset(at[2], self.dtype, w.mul(row, self.n)),
        ]

    def _columns(self, at: list[str], rows: int) -> None:
        w, width = self.w, self.lanes * _VECTORS
        whole = self.n // width * width
        single = self.n // self.lanes * self.lanes

        def part(vectors: int, mask: Reg | None) -> object:
            def body(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                y = w.offset(at[1], self.dtype, w.mul(index, self.operands[1].strides[-1]))
                self._tile([at[0], y, w.offset(at[2], self.dtype, index)], rows, vectors, mask)
                return ()

            return body

        w.loop(0, whole, width, part(_VECTORS, None))  # type: ignore[arg-type]
        w.loop(whole, single, self.lanes, part(1, None))  # type: ignore[arg-type]
        if single < self.n:
            mask = w.tail_mask(self.n - single, self.lanes)
            part(1, mask)(constant(single, "i64"), [])  # type: ignore[operator]

    def _tile(self, at: list[str], rows: int, vectors: int, mask: Reg | None) -> None:
        """``result[rows, vectors]`` accumulated over the inner dimension."""
        w, dtype, lanes = self.w, self.dtype, self.lanes
        x_strides, y_strides = self.operands[0].strides[-2:], self.operands[1].strides[-2:]

        def step(index: Reg, sums: list[Reg]) -> Sequence[Reg]:
            y_row = w.offset(at[1], dtype, w.mul(index, y_strides[0]))
            ys = [
                w.gather(w.offset(y_row, dtype, v * lanes * y_strides[1]), dtype, y_strides[1], lanes, mask)
                for v in range(vectors)
            ]
            x_column = w.offset(at[0], dtype, w.mul(index, x_strides[1]))
            out = []
            for row in range(rows):
                x = w.splat(w.load(w.offset(x_column, dtype, row * x_strides[0]), dtype), lanes)
                for v in range(vectors):
                    out.append(self._accumulate(sums[row * vectors + v], x, ys[v]))
            return out

        zero = constant(0, dtype, lanes)
        totals = w.loop(0, self.k, 1, step, [zero] * (rows * vectors))
        for row in range(rows):
            for v in range(vectors):
                place = w.offset(at[2], dtype, row * self.n + v * lanes)
                w.store(totals[row * vectors + v], place, mask)

    def _accumulate(self, total: Reg, x: Reg, y: Reg) -> Reg:
        w = self.w
        if self.dtype == "bool":
            return w.or_(total, w.and_(x, y))
        if self.dtype[0] == "f":
            return w.fma(x, y, total)
        return w.add(total, w.mul(x, y))
