"""Blocked factorizations of large matrices by columns: the base of their writers.

Products are the product function's, and squares and panels are factored by LAPACK; the pool's threads share
products and what else is independent. How work is cut follows from sizes alone.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ....base.lapack.library import LapackLibrary
from ....ir.dtypes import FLOAT32, FLOAT64, SHORT_NAME
from ....ir.graph import Instruction
from ...interface import PARALLEL_FOR, product_symbol
from ...llvm.emitter import BITS, Reg, constant, pointer
from ...llvm.function import Code, Table
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import LoweringContext
from ...lowering.parallel_for import context_of, task_function
from ..gemm.library import FIELDS, declaration, descriptor
from ..gemm.tiles import Blocking, blocking, tile_for
from ..linalg.matrices import Index
from ..linalg.memory_matrix import SingleMatrix
from .calls import Caller, one_thread
from .movement import transpose
from .problem import aligned

#: Bytes for what tasks are told: the block's first column, and the address of the matrix.
STATE_BYTES: Final = 64
#: Floating operations in a cycle.
_FLOPS: Final = 16.0


def columns_for(size: int, blocks: Mapping[int, int]) -> int:
    """The columns of a block of a matrix of `size` rows, in `blocks` by the rows from which they pay."""
    return next(columns for least, columns in blocks.items() if size >= least)


class BlockedFactorization(abc.ABC):
    """Writes a kernel and its tasks. Their buffers are the matrices, the results and the workspace, which
    begins with the state that tasks are told."""

    #: Floating operations for each of rows times columns times the smaller of both.
    flops: float
    #: Bytes that the kernel works in, and columns of a block.
    workspace: int
    block: int
    #: The dtype whose product function is called, if one is.
    product = ""

    def __init__(
        self, name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary
    ) -> None:
        self.name, self.context, self.library = name, context, library
        a = instruction.operands[0]
        self.values = (*instruction.operands, *instruction.results)
        self.rows, self.columns = a.shape[-2:]
        self.batch = math.prod(a.shape[:-2])
        self.dtype, self.what = SHORT_NAME[a.dtype], f"{instruction.op.name} {name}: {self.batch} x {a.type}"
        self.bytes, self.lanes = BITS[self.dtype] // 8, context.target.lanes(self.dtype)
        #: Whether it raises where it fails.
        self.raises = instruction.attrs.get("on_error", "raise") == "raise"
        self.buffers = 1 + len(self.values)
        #: Whether tiles are narrower than at the full sizes.
        self.shortened = False

    @classmethod
    def fits(cls, instruction: Instruction, least: int) -> bool:
        """Whether blocks pay for `instruction`, as they do from `least` rows and columns on."""
        a = instruction.operands[0]
        return min(a.shape[-2:]) >= least and a.dtype in (FLOAT32, FLOAT64)

    @abc.abstractmethod
    def factor(self, w: FunctionWriter, caller: Caller, index: Reg) -> Reg:
        """Factor matrix `index`; whether that failed."""

    @abc.abstractmethod
    def task(self, w: FunctionWriter, first: Reg, matrix: str) -> None:
        """Write the tasks from ``%begin`` to ``%end`` of the block from column `first` on."""

    def tables(self, w: FunctionWriter) -> Code:
        """Constants of the kernel that `w` writes."""
        return []

    def kernel(self, message: str) -> Kernel:
        """The kernel, which returns an error if there is a `message` for it."""
        w = FunctionWriter(self.context.declarations)
        code: Code = [*self.tables(w), *self._tasks()]
        caller = Caller(w, self.library, self.dtype, 1)
        context_of(w, self.buffers)

        def matrix(index: Reg, seen: list[Reg]) -> Sequence[Reg]:
            return [w.or_(seen[0], self.factor(w, caller, index))]

        with one_thread(w, self.library) as thread_symbols:
            (failed,) = w.loop(0, self.batch, 1, matrix, [constant(False, "bool")])
        if message:
            w.ret(w.cast(failed, "i32"))
        else:
            w.ret()
        head = signature(self.name, self.buffers, result="i32" if message else "void")
        code.append(w.function(head, "nounwind"))
        by = " by LAPACK," if caller.symbols else ""
        return Kernel(
            self.name, code, f"{self.what}{by} in blocks of {self.block} columns",
            cycles=self.flops * self.values[0].type.size * min(self.rows, self.columns) / _FLOPS,
            errors=(message,) if message else (), product=self.product,
            lapack=(*thread_symbols, *caller.symbols), pooled=True, shortened=self.shortened, slowdown=0.0,
        )  # fmt: skip

    def _tasks(self) -> Code:
        w = FunctionWriter(self.context.declarations)
        state = self.place(w, 0)
        self.task(w, w.load(state, "i64"), w.load_pointer(w.offset(state, "i64", 1)))
        w.ret()
        part = f"{self.name}_part"
        return [w.function(signature(part, self.buffers), "nounwind"), task_function(part, self.buffers)]

    # -- parts ------------------------------------------------------------------------------------

    def place(self, w: FunctionWriter, offset: int) -> str:
        """The pointer to byte `offset` of the workspace."""
        return w.offset(f"%b{self.buffers - 1}", "u8", offset)

    def matrix(self, w: FunctionWriter, buffer: int, index: Reg) -> str:
        """The pointer to matrix `index` of a buffer."""
        return w.offset(f"%b{buffer}", self.dtype, w.mul(index, math.prod(self.values[buffer].shape[-2:])))

    def part(self, w: FunctionWriter, start: str, rows: Index, columns: Index, pitch: int) -> SingleMatrix:
        """The matrix of some rows and columns from the element at `start` on."""
        matrix = SingleMatrix(w, start, rows, columns, pitch, self.dtype, self.lanes)
        self.shortened |= matrix.limit_tiles(self.context.parameters.product_copies)
        return matrix

    def tell(self, w: FunctionWriter, first: Reg, matrix: str) -> None:
        """Tell tasks where they work."""
        state = self.place(w, 0)
        w.store(first, state)
        w.store_pointer(matrix, w.offset(state, "i64", 1))

    def store_integer(self, w: FunctionWriter, caller: Caller, value: Reg, place: str) -> str:
        """Store `value` as one of LAPACK's integers."""
        w.store(w.cast(value, caller.integer), place)
        return place

    def by_vectors(self, w: FunctionWriter, count: Reg | int, some: Callable[[Reg, int], None]) -> None:
        """``some(first element, lanes)`` over `count` elements: vectors, and then single elements."""

        def part(start: Reg | int, stop: Reg | int, lanes: int) -> None:
            def step(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                some(at, lanes)
                return ()

            w.loop(start, stop, lanes, step)

        if isinstance(count, int):
            whole: Reg | int = count - count % self.lanes
        else:
            whole = w.and_(count, -self.lanes)
        part(0, whole, self.lanes)
        part(whole, count, 1)

    def transpose(
        self,
        w: FunctionWriter,
        size: tuple[Reg | int, Reg | int],
        source: tuple[str, Reg | int],
        target: tuple[str, Reg | int],
    ) -> None:
        """`movement.transpose` of a matrix's elements."""
        transpose(w, self.dtype, size, source, target, self.lanes)


class ByProducts(BlockedFactorization):
    """Blocked factorization that subtracts products of finished blocks from the rest. `cuts` are the
    blockings of the products, by the number of finished blocks, less one. The product function's room is at
    `panels` in the workspace, and the rows of its results are `pitch` elements apart."""

    cuts: list[Blocking]
    panels: int
    pitch: int

    def __init__(
        self, name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary
    ) -> None:
        super().__init__(name, instruction, context, library)
        self.product = self.dtype

    @abc.abstractmethod
    def product_strides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Strides of the product's operands."""

    def tables(self, w: FunctionWriter) -> Code:
        x, y = self.product_strides()
        w.declarations[product_symbol(self.dtype)] = declaration(self.dtype)
        numbers = [number for cut in self.cuts for number in descriptor(cut, x, y, row=self.pitch, adds=True)]
        return [Table(f"@{self.name}_numbers", "i64", numbers)]

    def multiply(self, w: FunctionWriter, number: Reg, x: str, y: str, result: str) -> None:
        """Add ``x y`` to `result`, where `number` + 1 blocks are finished."""
        numbers = w.offset(f"@{self.name}_numbers", "i64", w.mul(number, len(FIELDS)))
        arguments = (numbers, x, y, result, self.place(w, self.panels), f"@{PARALLEL_FOR}")
        w.run(product_symbol(self.dtype), *map(pointer, arguments))


class FactorizationByProducts(ByProducts):
    """Blocked factorization of square matrices by products of finished blocks. The workspace has room for the
    elements of a block (`room`), for as many integers as it has columns (`integers`), and for the product
    function's panels."""

    def __init__(
        self, name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary
    ) -> None:
        super().__init__(name, instruction, context, library)
        self.size = self.pitch = self.columns
        self.block = self.columns_of_block()
        tile = tile_for(context.target, self.dtype)
        self.cuts = [
            blocking(tile, *self.product_sizes(last)) for last in range(self.block, self.size, self.block)
        ]
        self.room = STATE_BYTES
        self.integers = self.room + aligned(self.rows_of_room() * self.block * self.bytes)
        self.panels = self.integers + aligned(8 * self.block)
        self.workspace = self.panels + max(cut.workspace for cut in self.cuts)

    @classmethod
    def fits(cls, instruction: Instruction, least: int) -> bool:
        rows, columns = instruction.operands[0].shape[-2:]
        return rows == columns and super().fits(instruction, least)

    @abc.abstractmethod
    def columns_of_block(self) -> int:
        """Columns of a block, which may depend on the size."""

    def rows_of_room(self) -> int:
        """Rows of as many elements as a block has columns, in the room of a block."""
        return self.size

    @abc.abstractmethod
    def product_sizes(self, last: int) -> tuple[int, int, int]:
        """Rows, columns and inner size of the product where `last` columns are finished."""

    def element(self, w: FunctionWriter, matrix: str, row: Reg, column: Reg | int) -> str:
        """The pointer to an element of a `matrix`."""
        return w.offset(matrix, self.dtype, w.add(w.mul(row, self.size), column))

    def negated(
        self, w: FunctionWriter, source: str, target: str, rows: Reg | int, columns: Reg | int, stride: int
    ) -> None:
        """Write the negative of a part of the matrix to `target`, whose rows are `stride` apart."""

        def row(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            here = w.offset(source, self.dtype, w.mul(number, self.size))
            there = w.offset(target, self.dtype, w.mul(number, stride))

            def some(at: Reg, lanes: int) -> None:
                value = w.load(w.offset(here, self.dtype, at), self.dtype, lanes)
                w.store(w.neg(value), w.offset(there, self.dtype, at))

            self.by_vectors(w, columns, some)
            return ()

        w.loop(0, rows, 1, row)
