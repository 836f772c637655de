"""Product function of a dtype: packs blocks of the operands, then computes tiles of the result.

Both are tasks for the pool. A product is described by numbers (`descriptor`), so that one piece of machine
code serves all shapes; it is compiled once per machine and process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...interface import PRODUCT_KERNELS, PRODUCT_TABLE, pack_symbol, product_symbol
from ...llvm.emitter import Reg, constant, pointer
from ...llvm.function import Declarations, FunctionCode
from ...llvm.loops import FunctionWriter
from ...llvm.operations import FunctionCall, Load, Store, typed
from ...llvm.target import Target
from ...tiers import ScheduleParameters
from .micro_kernel import MICRO_KERNEL, micro_kernel
from .panels import PACKING, packing_function
from .tiles import Blocking, Tile, tile_for

#: The functions in which products spend their time.
KERNELS: Final = PRODUCT_KERNELS
#: The numbers of a descriptor, in order: sizes; strides of x, y and the result's rows; blocks; whether the
#: product is added to what the result has.
FIELDS: Final = (
    "m", "n", "k", "x_row", "x_column", "y_row", "y_column", "row",
    "rows", "columns", "inner", "row_panels", "column_panels", "packing", "y_offset",
    "adds",
)  # fmt: skip
#: Fields of a task's context, which describe the block it works on, in order.
_CONTEXT: Final = ("descriptor", "x", "y", "result", "px", "py", "rows", "columns", "inner", "first")


def declaration(dtype: str) -> str:
    """The product function's LLVM declaration: descriptor, x, y, result, workspace, parallel_for or null."""
    return f"declare void @{product_symbol(dtype)}(ptr, ptr, ptr, ptr, ptr, ptr)"


def pack_declaration(dtype: str) -> str:
    """The packing function's LLVM declaration."""
    return f"declare void @{pack_symbol(dtype)}(ptr, i64, i64, ptr, i64, i64, i64)"


def descriptor(
    cut: Blocking, x: tuple[int, ...], y: tuple[int, ...], row: int | None = None, *, adds: bool = False
) -> tuple[int, ...]:
    """The numbers that describe a product to the function; `x` and `y` are strides in elements, `row` the
    distance of the result's rows, to which it `adds`."""
    packed = -(-cut.rows // cut.tile.rows) * cut.tile.rows * cut.inner
    offset = -(-(packed + cut.tile.columns) // 16) * 16
    return (
        cut.m, cut.n, cut.k, *x, *y, cut.n if row is None else row,
        cut.rows, cut.columns, cut.inner, cut.row_panels, cut.column_panels, cut.packing, offset,
        int(adds),
    )  # fmt: skip


def kernels_text(target: Target, dtype: str, parameters: ScheduleParameters) -> str:
    """LLVM text of the functions in which products of `dtype` spend their time: `KERNELS`."""
    tile = tile_for(target, dtype)
    declarations = Declarations()
    parts = [
        micro_kernel(tile, declarations, parameters.micro_kernels),
        packing_function(tile, target, declarations, register_transposes=parameters.register_transposes),
    ]
    return "\n".join(map(str, [*declarations.values(), *parts]))


def driver_text(target: Target, dtype: str) -> str:
    """LLVM text of the product function of `dtype`, and of the packing function for other kernels. They call
    `KERNELS` by the table `PRODUCT_TABLE`, and need not be fast."""
    tile = tile_for(target, dtype)
    table = f"@{PRODUCT_TABLE} = external global [{len(KERNELS)} x ptr]"
    declarations = Declarations()
    declarations[PRODUCT_TABLE] = table
    pack = ("ptr", "i64", "i64", "ptr", "i64", "i64", "i64")
    parts = [
        _forwarding(
            f"internal void @{MICRO_KERNEL}", ("ptr", "ptr", "ptr", "i64", "i64", "i64", "i64", "i1"), 0
        ),
        _forwarding(f"internal void @{PACKING}", pack, 1),
        _forwarding(f"void @{pack_symbol(dtype)}", pack, 1),
    ]
    functions = [writer(tile, declarations).function() for writer in (_PackTask, _TileTask, _Driver)]
    return "\n".join(map(str, [*declarations.values(), *parts, *functions]))


def _forwarding(signature: str, types: Sequence[str], number: int) -> FunctionCode:
    """A function that calls the kernel at `number` of the table: another one may come to stand there."""
    w = FunctionWriter()
    arguments = [Reg(f"%a{place}", kind) for place, kind in enumerate(types)]
    kernel = Load("%kernel", "ptr", 1, w.offset(f"@{PRODUCT_TABLE}", "ptr", number), 8, "acquire")
    w.operations += [kernel, FunctionCall(kernel.text, arguments)]
    w.ret()
    return w.function(f"{signature}({typed(arguments)})", "nounwind")


class _Writer:
    """Base of the functions' writers: access to the fields of the descriptor and of the context."""

    def __init__(self, tile: Tile, declarations: Declarations) -> None:
        self.tile, self.dtype = tile, tile.dtype
        self.w = FunctionWriter(declarations)

    def number(self, name: str, descriptor: str = "%descriptor") -> Reg:
        return self.w.load(self.w.offset(descriptor, "i64", FIELDS.index(name)), "i64")

    def _pointer(self, name: str) -> str:
        w = self.w
        return w.load_pointer(w.offset("%context", "i64", _CONTEXT.index(name)))

    def _size(self, name: str) -> Reg:
        return self.w.load(self.w.offset("%context", "i64", _CONTEXT.index(name)), "i64")

    def parts(self, size: Reg, by: Reg | int) -> Reg:
        """Number of blocks of `by` that cover `size`."""
        w = self.w
        return self.divided(w.add(size, w.sub(by, 1) if isinstance(by, Reg) else by - 1), by)

    def divided(self, size: Reg, by: Reg | int, opcode: str = "udiv") -> Reg:
        return self.w.integer(opcode, size, by)

    def offset(self, pointer: str, *factors: Reg | int) -> str:
        """`pointer` moved by the product of `factors`, in elements."""
        by: Reg | int = factors[0]
        for factor in factors[1:]:
            by = self.w.mul(by, factor)
        return self.w.offset(pointer, self.dtype, by)


class _PackTask(_Writer):
    """``@pack_task(ptr context, i64 begin, i64 end)``: groups of panels, those of x first."""

    def function(self) -> FunctionCode:
        w = self.w
        descriptor = self._pointer("descriptor")
        group = self.number("packing", descriptor)
        rows, columns, inner = self._size("rows"), self._size("columns"), self._size("inner")
        x, y, px, py = (self._pointer(name) for name in ("x", "y", "px", "py"))
        strides = [self.number(name, descriptor) for name in ("x_row", "x_column", "y_column", "y_row")]
        first = self.parts(self.parts(rows, self.tile.rows), group)

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.when(
                w.lt(index, first),
                lambda: self._panels(index, group, x, px, rows, inner, self.tile.rows, strides[:2]),
            )
            w.when(
                w.ge(index, first),
                lambda: self._panels(
                    w.sub(index, first), group, y, py, columns, inner, self.tile.columns, strides[2:]
                ),
            )  # fmt: skip
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)
        w.ret()
        return w.function("internal void @pack_task(ptr %context, i64 %begin, i64 %end)", "nounwind")

    def _panels(
        self, block: Reg, group: Reg, source: str, packed: str,
        size: Reg, inner: Reg, width: int, strides: Sequence[Reg],
    ) -> None:  # fmt: skip
        w = self.w
        across, along = strides
        elements = w.mul(group, width)
        at = w.mul(block, elements)
        count = w.min(w.sub(size, at), elements)
        here, there = self.offset(source, at, across), self.offset(packed, at, inner)
        places = constant(width, "i64")
        w.run(PACKING, pointer(here), across, along, pointer(there), count, inner, places)


class _TileTask(_Writer):
    """``@tile_task(ptr context, i64 begin, i64 end)``: blocks of tiles of the result."""

    def function(self) -> FunctionCode:
        w, tile = self.w, self.tile
        descriptor = self._pointer("descriptor")
        by_row, by_column = (self.number(name, descriptor) for name in ("row_panels", "column_panels"))
        stride = self.number("row", descriptor)
        rows, columns, inner = self._size("rows"), self._size("columns"), self._size("inner")
        result, px, py = (self._pointer(name) for name in ("result", "px", "py"))
        first = w.ne(self._size("first"), 0)
        down, across = self.parts(rows, tile.rows), self.parts(columns, tile.columns)
        blocks = self.parts(across, by_column)

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            top = w.mul(self.divided(index, blocks), by_row)
            left = w.mul(self.divided(index, blocks, "urem"), by_column)

            def strip(j: Reg, _: list[Reg]) -> Sequence[Reg]:
                column = w.mul(j, tile.columns)
                wide = w.min(w.sub(columns, column), constant(tile.columns, "i64"))
                y = self.offset(py, column, inner)

                def square(i: Reg, _: list[Reg]) -> Sequence[Reg]:
                    row = w.mul(i, tile.rows)
                    tall = w.min(w.sub(rows, row), constant(tile.rows, "i64"))
                    x = self.offset(px, row, inner)
                    place = self.w.offset(self.offset(result, row, stride), self.dtype, column)
                    w.run(
                        MICRO_KERNEL, pointer(x), pointer(y), pointer(place), inner, stride, tall, wide, first
                    )
                    return ()

                w.loop(top, w.min(w.add(top, by_row), down), 1, square, nonempty=True)
                return ()

            w.loop(left, w.min(w.add(left, by_column), across), 1, strip, nonempty=True)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)
        w.ret()
        return w.function("internal void @tile_task(ptr %context, i64 %begin, i64 %end)", "nounwind")


class _Driver(_Writer):
    """The product function: loops over blocks of columns, of the inner dimension and of rows."""

    def function(self) -> FunctionCode:
        w, tile = self.w, self.tile
        m, n, k = (self.number(name) for name in ("m", "n", "k"))
        rows, columns, inner = (self.number(name) for name in ("rows", "columns", "inner"))
        x_row, x_column, y_row, y_column = (
            self.number(name) for name in ("x_row", "x_column", "y_row", "y_column")
        )
        stride, group, adds = (self.number(name) for name in ("row", "packing", "adds"))
        by_row, by_column = self.number("row_panels"), self.number("column_panels")
        context = w.slot("i64", len(_CONTEXT))
        py = w.offset("%work", self.dtype, self.number("y_offset"))

        def put(name: str, value: Reg) -> None:
            w.operations.append(Store(value, w.offset(context, "i64", _CONTEXT.index(name))))

        put("descriptor", pointer("%descriptor"))
        put("px", pointer("%work"))
        put("py", pointer(py))

        def blocks(size: Reg, by: Reg, body: Callable[[Reg, Reg], None]) -> None:
            def block(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                start = w.mul(index, by)
                body(start, w.min(by, w.sub(size, start)))
                return ()

            w.loop(0, self.parts(size, by), 1, block, nonempty=True)

        def over_columns(column: Reg, wide: Reg) -> None:
            def over_inner(at: Reg, deep: Reg) -> None:
                y = self.offset(self.offset("%y", column, y_column), at, y_row)
                put("y", pointer(y))
                put("inner", deep)
                put("first", w.cast(w.eq(w.or_(at, adds), 0), "i64"))

                def over_rows(row: Reg, tall: Reg) -> None:
                    x = self.offset(self.offset("%x", row, x_row), at, x_column)
                    result = w.offset(self.offset("%result", row, stride), self.dtype, column)
                    # y stays packed for the blocks of rows after the first
                    again = w.ne(row, 0)
                    to_pack = w.select(again, constant(0, "i64"), wide)
                    put("x", pointer(x))
                    put("result", pointer(result))
                    put("rows", tall)
                    put("columns", to_pack)
                    down, across = self.parts(tall, tile.rows), self.parts(wide, tile.columns)
                    tasks = w.add(
                        self.parts(down, group), self.parts(self.parts(to_pack, tile.columns), group)
                    )
                    self._run("pack_task", context, tasks)
                    put("columns", wide)
                    self._run(
                        "tile_task", context, w.mul(self.parts(down, by_row), self.parts(across, by_column))
                    )

                blocks(m, rows, over_rows)

            blocks(k, inner, over_inner)

        blocks(n, columns, over_columns)
        w.ret()
        return w.function(
            f"void @{product_symbol(self.dtype)}(ptr %descriptor, ptr %x, ptr %y, ptr %result, ptr %work, "
            "ptr %parallel)",
            "nounwind",
        )

    def _run(self, task: str, context: str, tasks: Reg) -> None:
        """All tasks, by the pool if there is one."""
        w = self.w
        there = w.compute("icmp ne", "bool", 1, pointer("%parallel"), pointer("null"))
        arguments = [pointer(f"@{task}"), pointer(context), tasks, constant(1, "i64")]
        w.one_of(
            there,
            [
                lambda: w.operations.append(FunctionCall("%parallel", arguments)),
                lambda: w.run(task, pointer(context), constant(0, "i64"), tasks),
            ],
        )
