"""Matrix products: small ones as a register-blocked nest of our own, large ones by the BLAS numpy loaded.

Operands may be strided views (a transposed matrix costs nothing). The nest keeps a block of the result,
four rows by two vectors, in registers along the whole inner dimension.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir.dtypes import SHORT_NAME
from ...ir.records import record
from ...ir.types import TensorType
from ..emitter import Reg, constant
from ..loops import FunctionWriter
from ..target import Target
from .kernel import Kernel, signature

#: Products of at most this many multiplications are done by our own nest.
SMALL: int = 48**3
_ROWS = 4
_VECTORS = 2


@record
class Blas:
    """A BLAS in this process: its cblas gemm entry points by dtype, and the width of its integers."""

    name: str
    gemm: dict[str, int]
    integer: str


@record
class Strided:
    """An operand: element strides per dimension and an offset into its buffer."""

    strides: tuple[int, ...]
    offset: int


def matmul_kernel(
    name: str,
    types: tuple[TensorType, TensorType, TensorType],
    operands: tuple[Strided, Strided],
    target: Target,
    declarations: dict[str, str],
    blas: Blas | None,
) -> Kernel:
    """The kernel of ``result = x @ y`` for `types` of x, y and the result."""
    x, _, result = types
    dtype = SHORT_NAME[result.dtype]
    m, k, n = x.shape[-2], x.shape[-1], result.shape[-1]
    flops = m * n * k
    batch = math.prod(result.shape[:-2])
    head = f"contraction {name}: {batch} x ({m}x{k} @ {k}x{n}) {dtype}"
    if blas is not None and dtype in blas.gemm and flops > SMALL:
        text, imports = _by_blas(name, types, operands, dtype, blas, declarations)
        # the BLAS has threads of its own, so this is one task
        return Kernel(name, text, f"{head}, by {blas.name}", 1, 2 * flops * batch / 32, (), imports)
    writer = _Block(name, types, operands, dtype, target, declarations)
    rows = math.ceil(m / _ROWS)
    cycles = flops * batch / target.lanes(dtype) / 2 + 10 * batch
    tasks = batch if batch > 1 else rows
    return Kernel(name, writer.text(), f"{head}, {writer.lanes} lanes", tasks, cycles)


def _by_blas(
    name: str,
    types: tuple[TensorType, TensorType, TensorType],
    operands: tuple[Strided, Strided],
    dtype: str,
    blas: Blas,
    declarations: dict[str, str],
) -> tuple[str, dict[str, int]]:
    w = FunctionWriter(declarations)
    symbol = f"cblas_gemm_{dtype}"
    real = "float" if dtype == "f32" else "double"
    i = blas.integer
    declarations.setdefault(
        symbol,
        f"declare void @{symbol}(i32, i32, i32, {i}, {i}, {i}, {real}, ptr, {i}, ptr, {i}, {real}, ptr, {i})",
    )
    x, _, result = types
    m, k, n = x.shape[-2], x.shape[-1], result.shape[-1]
    (x_code, x_lead), (y_code, y_lead) = (
        _layout(one.strides[-2:], shape) for one, shape in zip(operands, ((m, k), (k, n)), strict=True)
    )
    one, zero = constant(1.0, dtype).text, constant(0.0, dtype).text

    def multiply(pointers: Sequence[str]) -> None:
        a, b, c = pointers
        w.line(
            f"call void @{symbol}(i32 101, i32 {x_code}, i32 {y_code}, "
            f"{i} {m}, {i} {n}, {i} {k}, {real} {one}, "
            f"ptr {a}, {i} {x_lead}, ptr {b}, {i} {y_lead}, {real} {zero}, ptr {c}, {i} {n})"
        )

    starts = [w.offset(f"%b{i}", dtype, one.offset) for i, one in enumerate(operands)]
    _over_batch(w, types, operands, [*starts, "%b2"], dtype, multiply)
    w.line("ret void")
    return w.function(signature(name, 3), "nounwind"), {symbol: blas.gemm[dtype]}


def _layout(strides: tuple[int, ...], shape: tuple[int, int]) -> tuple[int, int]:
    """CBLAS's transposition code and leading dimension of a matrix with these strides."""
    (rows, columns), (by_row, by_column) = shape, strides
    if (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1):
        return 111, max(by_row, columns, 1)
    return 112, max(by_column, rows, 1)


def _over_batch(
    w: FunctionWriter,
    types: tuple[TensorType, TensorType, TensorType],
    operands: tuple[Strided, Strided],
    pointers: list[str],
    dtype: str,
    body: object,
    *,
    first: tuple[Reg, Reg] | None = None,
) -> None:
    """Call `body` with the operands' pointers at each place of the batch dimensions."""
    shape = types[2].shape[:-2]
    m, n = types[2].shape[-2:]
    result_strides = [math.prod(shape[axis + 1 :]) * m * n for axis in range(len(shape))]
    strides = [list(operands[0].strides[:-2]), list(operands[1].strides[:-2]), result_strides]

    def at(axis: int, here: list[str]) -> None:
        if axis == len(shape):
            assert callable(body)
            body(here)
            return

        def inside(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            moved = [
                w.offset(place, dtype, w.mul(index, by[axis])) if by[axis] else place
                for place, by in zip(here, strides, strict=True)
            ]
            at(axis + 1, moved)
            return ()

        if axis == 0 and first is not None:
            w.loop(first[0], first[1], 1, inside, nonempty=True)
        else:
            w.loop(0, shape[axis], 1, inside)

    at(0, pointers)


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
            _over_batch(w, self.types, self.operands, starts, self.dtype, self._matrix, first=(begin, end))
        elif batched:
            _over_batch(w, self.types, self.operands, starts, self.dtype, self._matrix)
        else:
            _over_batch(
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
