"""Cholesky factors of large matrices: blocks of columns, whose work the pool's threads share.

Each block is what is there less the product of all columns before it, by the product function of the dtype;
its square is factored by LAPACK, and the rows below are solved by BLAS, some rows a task. One thread gains,
too: the product function is faster than the library's. (Golub and Van Loan, Matrix Computations, 4.2.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....ir.dtypes import FLOAT32, FLOAT64, SHORT_NAME
from ....ir.graph import Instruction
from ....ir.lapack.library import LapackLibrary
from ....ir.ops.linalg.cholesky import CHOLESKY
from ...interface import PARALLEL_FOR, product_symbol
from ...llvm.emitter import BITS, Number, Reg, constant, pointer
from ...llvm.function import Code, Table
from ...llvm.loops import FunctionWriter
from ..gemm.library import FIELDS, declaration, descriptor
from ..gemm.tiles import Blocking, blocking, tile_for
from ..kernel import Kernel, signature
from ..lowering import LoweringContext
from ..parallel_for import context_of, run_tasks, task_function
from .calls import Caller, one_thread
from .problem import aligned

#: Rows from which blocks pay, and the columns of a block. Measured on Zen 5.
LEAST_ROWS: Final = 256
BLOCK: Final = 64
#: Rows that a task solves.
_TASK_ROWS: Final = 64
#: What tasks are told, before the block's product in the workspace: the first column, the result's address.
_STATE_BYTES: Final = 64
#: Floating operations in a cycle.
_FLOPS: Final = 16.0


def takes_blocks(instruction: Instruction) -> bool:
    """Whether `instruction` factors matrices that are large enough."""
    a = instruction.operands[0]
    return instruction.op is CHOLESKY and a.shape[-1] >= LEAST_ROWS and a.dtype in (FLOAT32, FLOAT64)


def blocked_cholesky_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes for what tasks are told, the product of a block, and the product function's panels."""
    return _Writer("", instruction, context, None).workspace


def blocked_cholesky_kernel(
    name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary, message: str
) -> Kernel:
    """The kernel of a `cholesky` that `takes_blocks`; `message` is what it raises, empty for NaN."""
    return _Writer(name, instruction, context, library).kernel(message)


class _Writer:
    """Writes the kernel and its tasks. Their buffers are the matrices, the factors and the workspace."""

    def __init__(
        self, name: str, instruction: Instruction, context: LoweringContext, library: LapackLibrary | None
    ) -> None:
        self.name, self.context, self.library = name, context, library
        (a,) = instruction.operands
        self.size, self.batch = a.shape[-1], math.prod(a.shape[:-2])
        self.dtype = SHORT_NAME[a.dtype]
        self.bytes, self.lanes = BITS[self.dtype] // 8, context.target.lanes(self.dtype)
        self.what = f"{self.batch} x {a.type}"
        tile = tile_for(context.target, self.dtype)
        #: The products of the blocks after the first.
        self.cuts: list[Blocking] = [
            blocking(tile, self.size - first, min(BLOCK, self.size - first), first)
            for first in range(BLOCK, self.size, BLOCK)
        ]
        self.panels = _STATE_BYTES + aligned(self.size * BLOCK * self.bytes)
        self.workspace = self.panels + max(cut.workspace for cut in self.cuts)
        self.symbols: dict[str, None] = {}

    def kernel(self, message: str) -> Kernel:
        """The kernel, which returns an error where there is a `message`, and writes NaN elsewhere."""
        assert self.library is not None
        numbers = [
            number
            for cut in self.cuts
            for number in descriptor(cut, (self.size, 1), (1, self.size), row=BLOCK)
        ]
        table = Table(f"@{self.name}_numbers", "i64", numbers)
        code: Code = [table, *self._tasks()]
        w = FunctionWriter(self.context.declarations)
        w.declarations[product_symbol(self.dtype)] = declaration(self.dtype)
        caller = Caller(w, self.library, self.dtype, 1)
        context_of(w, 3)
        constants = [caller.number(self.size), caller.text("U")]

        def matrix(index: Reg, seen: list[Reg]) -> Sequence[Reg]:
            failed = self._factor(w, caller, constants, index, table.name)
            if not message:
                w.when(failed, lambda: self._fill(w, index))
            return [w.or_(seen[0], failed)]

        with one_thread(w, self.library) as thread_symbols:
            (failed,) = w.loop(0, self.batch, 1, matrix, [constant(False, "bool")])
        self._note(caller, thread_symbols)
        if message:
            w.ret(w.cast(failed, "i32"))
        else:
            w.ret()
        code.append(w.function(signature(self.name, 3, result="i32" if message else "void"), "nounwind"))
        return Kernel(
            self.name, code, f"cholesky {self.name}: {self.what} by LAPACK, in blocks of {BLOCK} columns",
            cycles=self.batch * self.size**3 / (3 * _FLOPS), errors=(message,) if message else (),
            product=self.dtype, lapack=tuple(self.symbols), pooled=True, slowdown=0.0,
        )  # fmt: skip

    def _note(self, caller: Caller, more: Sequence[str] = ()) -> None:
        self.symbols.update(dict.fromkeys((*more, *caller.symbols)))

    # -- one matrix -------------------------------------------------------------------------------

    def _factor(
        self, w: FunctionWriter, caller: Caller, constants: Sequence[str], index: Reg, table: str
    ) -> Reg:
        """Factor matrix `index`; whether that failed."""
        size = self.size
        source, result = [w.offset(f"%b{i}", self.dtype, w.mul(index, size * size)) for i in range(2)]
        w.copy(result, source, size * size * self.bytes)
        w.store_pointer(result, w.offset("%b2", "i64", 1))
        rows, upper = constants
        width_place = w.slot(caller.integer, 1)

        def block(number: Reg, seen: list[Reg]) -> Sequence[Reg]:
            first = w.mul(number, BLOCK)
            w.store(first, "%b2")
            width = w.min(w.sub(constant(size, "i64"), first), BLOCK)
            last = w.add(first, width)
            left = w.offset(result, self.dtype, w.mul(first, size))

            def product() -> None:
                descriptor_ = w.offset(table, "i64", w.mul(w.sub(number, 1), len(FIELDS)))
                arguments = (descriptor_, left, left, self._product(w), w.offset("%b2", "u8", self.panels))
                w.run(product_symbol(self.dtype), *map(pointer, (*arguments, f"@{PARALLEL_FOR}")))
                self._subtract(w, result, first, width, first, last)

            w.when(w.gt(number, 0), product)
            w.store(w.cast(width, caller.integer), width_place)
            square = w.offset(left, self.dtype, first)
            caller.call("potrf", [upper, width_place, square, rows, caller.info], 1)
            failed = caller.failed()
            below = w.sub(constant(size + _TASK_ROWS - 1, "i64"), last)
            run_tasks(w, f"{self.name}_rows", w.lshr(below, _TASK_ROWS.bit_length() - 1))
            return [w.or_(seen[0], failed)]

        (failed,) = w.loop(0, len(self.cuts) + 1, 1, block, [constant(False, "bool")])

        def clear_above(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            after = w.offset(result, self.dtype, w.add(w.mul(row, size + 1), 1))
            w.clear(after, w.mul(w.sub(constant(size - 1, "i64"), row), self.bytes))
            return ()

        w.loop(0, size - 1, 1, clear_above)
        return failed

    def _product(self, w: FunctionWriter) -> str:
        """Where the product of the rows from the block's first one on is, `BLOCK` elements a row."""
        return w.offset("%b2", "u8", _STATE_BYTES)

    def _subtract(
        self, w: FunctionWriter, result: str, first: Reg, width: Number, begin: Number, end: Number
    ) -> None:
        """Take the product from `width` columns from `first` on, in the rows from `begin` to `end`."""

        def row(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            target = w.offset(result, self.dtype, w.add(w.mul(number, self.size), first))
            source = w.offset(self._product(w), self.dtype, w.mul(w.sub(number, first), BLOCK))

            def columns(start: Number, stop: Number, lanes: int) -> None:
                def some(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                    places = [w.offset(place, self.dtype, at) for place in (target, source)]
                    old, product = [w.load(place, self.dtype, lanes) for place in places]
                    w.store(w.sub(old, product), places[0])
                    return ()

                w.loop(start, stop, lanes, some)

            if isinstance(width, int):
                columns(0, width, self.lanes)
            else:
                whole = w.and_(width, -self.lanes)
                columns(0, whole, self.lanes)
                columns(whole, width, 1)
            return ()

        w.loop(begin, end, 1, row)

    def _fill(self, w: FunctionWriter, index: Reg) -> None:
        """Write NaN in place of the factor."""
        result = w.offset("%b1", self.dtype, w.mul(index, self.size**2))

        def element(place: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(math.nan, self.dtype), w.offset(result, self.dtype, place))
            return ()

        w.loop(0, self.size**2, 1, element)

    # -- tasks ------------------------------------------------------------------------------------

    def _tasks(self) -> Code:
        """Some rows below a block's square: the product is taken from them, and they are solved."""
        assert self.library is not None
        w = FunctionWriter(self.context.declarations)
        caller = Caller(w, self.library, self.dtype, 1)
        rows, width, unit = caller.number(self.size), caller.number(BLOCK), caller.element(1.0)
        letters = [caller.text(letter) for letter in "LUTN"]
        height_place = w.slot(caller.integer, 1)
        first = w.load("%b2", "i64")
        result = w.load_pointer(w.offset("%b2", "i64", 1))
        square = w.offset(result, self.dtype, w.mul(first, self.size + 1))

        def task(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.add(w.add(first, BLOCK), w.mul(number, _TASK_ROWS))
            end = w.min(w.add(begin, _TASK_ROWS), self.size)
            w.when(w.gt(first, 0), lambda: self._subtract(w, result, first, BLOCK, begin, end))
            w.store(w.cast(w.sub(end, begin), caller.integer), height_place)
            here = w.offset(result, self.dtype, w.add(w.mul(begin, self.size), first))
            caller.call("trsm", [*letters, width, height_place, unit, square, rows, here, rows], 4)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)
        w.ret()
        self._note(caller)
        part = f"{self.name}_rows"
        return [w.function(signature(part, 3), "nounwind"), task_function(part, 3)]
