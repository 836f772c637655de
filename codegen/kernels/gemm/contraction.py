"""Matrix products: small ones read their operands where they lie, larger ones go over packed panels.

Both take operands as strided views, so transposed matrices and slices cost nothing.
"""

from __future__ import annotations

import math
from typing import Final

from ....base.machine import machine
from ....ir.access import element_strides, resolve
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ....ir.types import TensorType, contiguous_strides
from ...interface import PARALLEL_FOR, product_symbol
from ...llvm.emitter import Reg, pointer
from ...llvm.function import Code, Declarations, Table
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...lowering.kernel import Kernel, empty_kernel, signature
from ...lowering.lowering import Definitions, Lowering, LoweringContext, content_with_sources
from . import batches
from .batches import Product, Strided, over_batch
from .direct import choose_tiles, direct_kernel
from .dots import dots_kernel
from .library import declaration, descriptor
from .streams import streams, streams_kernel
from .tiles import SUM_PART, Blocking, blocking, parallel_work, tile_for

#: Products of at most this many multiplications are done without packing, however y lies.
SMALL: Final = 16**3
#: Columns of y that one vector holds are gathered for tiles of so many rows or more: packing x would cost
#: more than it saves.
GATHERED_ROWS: Final = 16
#: Panels of up to so many bytes are in a slot, so that each task of a batch has its own.
SLOT_PANELS: Final = 1 << 17

Types = tuple[TensorType, TensorType, TensorType]


def contraction_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The kernel of ``result = x @ y``."""
    defs, target, declarations = context.defs, context.target, context.declarations
    if instruction.result.type.size == 0:
        return empty_kernel(name, 3, f"contraction {name}: no elements")
    cut = _blocking(instruction, defs, target)
    if cut is not None:
        return _PackedKernel(name, instruction, defs, cut, declarations).kernel()
    product = _product(instruction, defs)
    (m, n, _), (x, y) = product.sizes, product.operands
    in_rows = x.strides[-1] == 1 or x.strides[-2] != 1
    if (n == 1 and m > 1 and not in_rows) or (m == 1 and n > 1 and y.strides[-1] != 1):
        product = _transposed(product)
    if as_dots(product, target):
        product = _row_by_row(product)
    if product.sizes[1] == 1 and product.dtype[0] == "f" and 0 not in product.types[0].shape:
        return dots_kernel(name, product, target, declarations)
    if streams(product, target):
        return streams_kernel(name, product, target, declarations)
    return direct_kernel(name, product, context)


def as_dots(product: Product, target: Target) -> bool:
    """Whether a product of floats that is not packed is done as dot products of rows of x with a few columns
    of y: both lie along the sum, which lanes then share. That rounds less than one sum for each element, and
    needs no columns to be gathered."""
    (m, n, k), (x, y), lanes = product.sizes, product.operands, target.lanes(product.dtype)
    return (
        product.types[2].dtype.kind == "f"
        and len(product.types[2].shape) == 2
        and m > 1
        and 1 < n <= lanes // 4
        and k >= 4 * lanes
        and x.strides[-1] == y.strides[-2] == 1
    )


def _row_by_row(product: Product) -> Product:
    """The product as a batch of y^T times each row of x, whose results are the rows of the result."""
    (m, n, k), (x, y), dtype = product.sizes, product.operands, product.types[2].dtype
    batch = (TensorType(dtype, (m, n, k)), TensorType(dtype, (m, k, 1)), TensorType(dtype, (m, n, 1)))
    left = Strided((0, y.strides[-1], 1), y.offset, y.buffer)
    return Product(batch, (left, Strided((x.strides[-2], 1, 1), x.offset, x.buffer)))


def _transposed(product: Product) -> Product:
    """The transposed product y^T x^T. Its result has the same memory, as one side of it is 1."""
    x, y, result = (
        TensorType(type_.dtype, (*type_.shape[:-2], *type_.shape[:-3:-1])) for type_ in product.types
    )
    left, right = (
        Strided((*operand.strides[:-2], *operand.strides[:-3:-1]), operand.offset, operand.buffer)
        for operand in product.operands
    )
    return Product((y, x, result), (right, left))


def contraction_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes for the panels, where they are in no slot."""
    cut = _blocking(instruction, context.defs, context.target)
    if cut is None or _batched(_product(instruction, context.defs).batch, cut):
        return 0
    return cut.workspace


def _strided(instruction: Instruction, position: int, defs: Definitions) -> Strided:
    operand = instruction.operands[position]
    source, access = resolve(operand, defs)
    strides, offset = element_strides(access, contiguous_strides(source.shape), len(operand.shape))
    return Strided(strides, offset, position)


def _product(instruction: Instruction, defs: Definitions) -> Product:
    """A product with as few batch dimensions as possible: matrices that are multiplied by the same y, and
    whose rows go on from one to the next, are one matrix."""
    x, y = instruction.operands
    types = (x.type, y.type, instruction.result.type)
    operands = _strided(instruction, 0, defs), _strided(instruction, 1, defs)
    while len(types[2].shape) > 2:
        (*_, batch, m, _), (*_, next_x, row, column) = types[2].shape, operands[0].strides
        next_y = operands[1].strides[-3]
        if batch > 1 and (next_y != 0 or (m > 1 and next_x != m * row)):
            break
        types = _without_batch_axis(types, batch)
        rows = (next_x if m == 1 and batch > 1 else row), column
        left = Strided((*operands[0].strides[:-3], *rows), operands[0].offset, operands[0].buffer)
        y_strides = (*operands[1].strides[:-3], *operands[1].strides[-2:])
        operands = left, Strided(y_strides, operands[1].offset, operands[1].buffer)
    return Product(types, operands)


def _without_batch_axis(types: Types, batch: int) -> Types:
    """The types with the last axis of the batch, of this size, in the rows of x and the result."""
    x, y, result = (
        TensorType(type_.dtype, (*type_.shape[:-3], rows * type_.shape[-2], type_.shape[-1]))
        for type_, rows in zip(types, (batch, 1, batch), strict=True)
    )
    return x, y, result


def _blocking(instruction: Instruction, defs: Definitions, target: Target) -> Blocking | None:
    """Blocking of a product that is packed; None for those that are done directly."""
    product = _product(instruction, defs)
    (m, n, k), dtype, result = product.sizes, product.dtype, product.types[2]
    if dtype not in ("f32", "f64") or min(m, n) <= 1 or m * n * k <= SMALL or result.size == 0:
        return None
    x_strides, y_strides = (operand.strides[-2:] for operand in product.operands)
    shape = choose_tiles(m, n, k, dtype, target, x_strides[0])
    itemsize = result.dtype.itemsize
    way = (
        machine().l2_bytes // 8
    )  # of the second cache, taken to have eight: lines at multiples of it share a set
    strips_stay = k <= way // math.gcd(y_strides[0] * itemsize, way) * 8
    near = not shape.columns_first or shape.down == 1
    # where y is too large to stay near, x is read again for each strip of it
    copied_once = shape.copies and k <= SUM_PART
    x_stays = m * k * itemsize <= (640 if copied_once else 300) * (machine().l2_bytes >> 10)
    if y_strides[1] == 1 and (near or (x_stays and (shape.copies or strips_stay))):
        return None
    if near and batches.transposing_pays(y_strides, k, n, dtype, shape.lanes):
        return None
    if n <= shape.lanes and shape.rows >= GATHERED_ROWS and near:
        return None
    return blocking(tile_for(target, dtype), m, n, k)


def as_packed(
    instruction: Instruction, defs: Definitions, target: Target
) -> tuple[Blocking, bool, Strided, Strided] | None:
    """Blocking with which a product of two matrices would be packed, whether its kernel does pack, and where
    x and y lie. None where the kernel adds in another order than packed products, whose bits differ."""
    x, y, result = (*instruction.operands, instruction.result)
    m, k, n = x.shape[-2], x.shape[-1], result.shape[-1]
    dtype = SHORT_NAME[result.dtype]
    if dtype not in ("f32", "f64") or min(m, n) <= 1 or k == 0:
        return None
    operands = _strided(instruction, 0, defs), _strided(instruction, 1, defs)
    cut = _blocking(instruction, defs, target)
    if cut is not None:
        return cut, True, *operands
    product = Product((x.type, y.type, result.type), operands)
    if as_dots(product, target) or streams(product, target):
        return None
    cut = blocking(tile_for(target, dtype), m, n, k)
    # both add the terms in the same parts, as long as the sum is in one block
    return (cut, False, *operands) if cut.inner == k else None


def _batched(batch: int, cut: Blocking) -> bool:
    """Whether the tasks are whole products of a batch, each over panels in a slot of its own."""
    return batch > 1 and cut.m * cut.n * cut.k < parallel_work() and cut.workspace <= SLOT_PANELS


class _PackedKernel:
    """A call of the product function for each matrix of the batch."""

    def __init__(
        self,
        name: str,
        instruction: Instruction,
        defs: Definitions,
        cut: Blocking,
        declarations: Declarations,
    ) -> None:
        self.name, self.cut = name, cut
        self.dtype = cut.tile.dtype
        self.product = _product(instruction, defs)
        self.batch = self.product.batch
        self.batched = _batched(self.batch, cut)
        self.pooled = not self.batched and cut.m * cut.n * cut.k >= parallel_work()
        declarations[product_symbol(self.dtype)] = declaration(self.dtype)
        self.w = FunctionWriter(declarations)

    def kernel(self) -> Kernel:
        cut, lanes = self.cut, self.cut.tile.lanes
        head = (
            f"contraction {self.name}: {self.batch} x ({cut.m}x{cut.k} @ {cut.k}x{cut.n}) {self.dtype}, "
            f"packed in blocks of {cut.rows}, {cut.columns} by {cut.inner}"
        )
        cycles = cut.m * cut.n * cut.k * self.batch / lanes
        tasks = self.batch if self.batched else 1
        return Kernel(
            self.name,
            self._code(),
            head,
            tasks,
            cycles,
            grain=machine().product_task_cycles,
            product=self.dtype,
            pooled=self.pooled,
            slowdown=0.0,  # the library's code is the same
        )

    def _code(self) -> Code:
        w, dtype, cut = self.w, self.dtype, self.cut
        x, y = self.product.operands
        numbers = descriptor(cut, x.strides[-2:], y.strides[-2:])
        table = Table(f"@{self.name}_numbers", "i64", numbers)
        work = w.slot(dtype, cut.workspace * 8 // int(dtype[1:])) if self.batched else "%b3"
        pool = f"@{PARALLEL_FOR}" if self.pooled else "null"

        def multiply(at: list[str]) -> None:
            a, b, c = at
            w.run(product_symbol(dtype), *map(pointer, (table.name, a, b, c, work, pool)))

        tasks = (Reg("%begin", "i64"), Reg("%end", "i64")) if self.batched else None
        over_batch(w, self.product, multiply, tasks=tasks)
        w.ret()
        buffers = 3 if self.batched else 4
        return [table, w.function(signature(self.name, buffers), "nounwind")]


CONTRACTION: Final = Lowering(
    (Kind.CONTRACTION,),
    contraction_kernel,
    workspace=contraction_workspace,
    content=content_with_sources,
    flops=lambda instruction: 2 * instruction.result.type.size * instruction.operands[0].shape[-1],
    unrolled=True,
    arithmetic="A matrix product",
)
