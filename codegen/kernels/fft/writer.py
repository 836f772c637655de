"""The kernel of transforms that fit in a core's caches: a task is one of them, or a group of columns."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.process.locks import computed_once
from ...llvm.function import Code
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg, constant
from ...lowering.kernel import signature
from ...lowering.parallel_for import part_of
from .chirp import Chirp, Convolution
from .codelets import Complex
from .halves import Halves, complete, copy_rows, half_roots
from .memory import ArrayAccess, TransposedLines, scaled_target, swapped_source, swapped_target
from .plan import TransformPlan
from .primes import PrimeTransform
from .roots import RootTable
from .rows import Rows
from .stockham import Buffers, Source, Stockham, Target


class TransformWriter:
    """Writes ``@name(ptr %b0, ptr %b1, [ptr %b2,] i64 %begin, i64 %end)`` over tasks."""

    def __init__(self, plan: TransformPlan, w: FunctionWriter, name: str) -> None:
        self.plan, self.w, self.name = plan, w, name
        self.roots = RootTable(name, plan.dtype)

    def write(self) -> Code:
        """The kernel and its tables."""
        w, plan = self.w, self.plan
        begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
        memory = w.slot("u8", plan.buffer_bytes) if plan.on_stack else ""

        def group(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._group(index, memory)
            return ()

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            nonlocal memory
            memory = w.offset("%b2", "u8", w.mul(index, plan.buffer_bytes))
            w.loop(*part_of(w, index, -(-plan.groups // plan.tasks), plan.groups), 1, group)
            return ()

        w.loop(begin, end, 1, group if plan.on_stack else task)
        w.ret()
        buffers = 2 if plan.on_stack else 3
        return [*self.roots.code(), w.function(signature(self.name, buffers), "nounwind")]

    def _group(self, index: Reg, memory: str) -> None:
        """The transforms of a group."""
        w, plan = self.w, self.plan
        lines = (
            (plan.size if plan.from_real else plan.spectrum),
            (plan.size if plan.to_real else plan.spectrum),
        )
        widths = (1 if plan.from_real else 2), (1 if plan.to_real else 2)
        if plan.inner > 1:
            outer = w.integer("udiv", index, plan.blocks)
            block = w.sub(index, w.mul(outer, plan.blocks))
            column = w.mul(block, plan.columns)
            if plan.real:  # the last block begins within the one before
                column = w.min(column, plan.inner - plan.columns)
            places = [w.add(w.mul(outer, line * plan.inner), column) for line in lines]
        else:
            first = index
            if plan.columns > 1:
                first = w.min(w.mul(index, plan.columns), plan.outer - plan.columns)
            places = [w.mul(first, line) for line in lines]
        operand, result = (
            w.offset(f"%b{number}", plan.dtype, w.mul(place, width))
            for number, (place, width) in enumerate(zip(places, widths, strict=True))
        )
        if plan.transposed:
            buffers = Buffers(w, plan.dtype, plan.rows, plan.columns, memory)
            self._transposed(operand, result, lines, widths, buffers)
        else:
            # the next line, or the next columns
            steps = lines if plan.inner == 1 else (plan.columns, plan.columns)
            ahead: list[Number] = [0, 0]
            if plan.is_large:
                ahead = [step * width for step, width in zip(steps, widths, strict=True)]
            if plan.is_large and plan.in_place:  # reading asks for what is written over the operand
                ahead[1] = w.select(w.same_place(operand, result), constant(0, "i64"), ahead[1])
            (x, y), (end_x, end_y) = (
                [
                    ArrayAccess(w, plan.dtype, place, plan.inner, present, distance)
                    for place, distance in zip((operand, result), ahead, strict=True)
                ]
                for present in (None, plan.inner % plan.columns)
            )
            if plan.real or plan.inner % plan.columns == 0:
                self.transform(x, y, memory)
                return
            # what is written over the operand may not be read again
            w.one_of(
                w.eq(block, plan.blocks - 1),
                [lambda: self.transform(end_x, end_y, memory), lambda: self.transform(x, y, memory)],
            )

    def transform(self, x: ArrayAccess, y: ArrayAccess, memory: str) -> None:
        """Transform one line of `x`, or columns side by side, to `y`, by way of buffers in `memory`."""
        plan = self.plan
        source = (x.load_halves if plan.halved else x.load_real) if plan.from_real else x.load_pairs
        target = (y.store_halves if plan.halved else y.store_real) if plan.to_real else y.store_pairs
        self._transform(source, target, Buffers(self.w, plan.dtype, plan.rows, plan.columns, memory))

    def _transposed(
        self, operand: str, result: str, lines: tuple[int, int], widths: tuple[int, int], buffers: Buffers
    ) -> None:
        """Transforms one behind the other, transposed to columns and back."""
        w, plan = self.w, self.plan
        parts = [2 if plan.halved else width for width in widths]
        counts = [line * width for line, width in zip(lines, widths, strict=True)]
        x, y = (
            TransposedLines(w, plan.dtype, place, count, part)
            for place, count, part in zip((operand, result), counts, parts, strict=True)
        )
        planes = buffers.following()
        x.load(planes)
        source = planes.load if parts[0] == 2 else planes.load_real
        self._transform(source, None, buffers)
        y.store(buffers.latest)

    def _transform(self, source: Source, target: Target | None, buffers: Buffers) -> None:
        """Transform what `source` gives; without a `target` the result is in the `buffers`."""
        w, plan = self.w, self.plan
        core = self._core
        rows = Rows(w, plan.columns, core.lanes)
        if plan.halved:
            factors = half_roots(w, plan.size, rows, self.roots)
            halves = Halves(w, plan.size, rows, factors, plan.scale, plan.interior)
        if plan.from_real:
            core.run(source, buffers)
            spectrum = buffers.latest
            store = target or buffers.following().store
            if plan.halved:
                halves.split(spectrum.load, store)
                return
            for first, stop, scale in (0, 1, 1.0), (1, plan.spectrum, plan.interior):
                copy_rows(rows, first, stop, spectrum.load, scaled_target(w, store, plan.scale * scale))
            return
        if plan.to_real:
            planes = buffers.following()
            store = swapped_target(planes.store)
            if plan.halved:
                halves.join(source, store)
            else:
                complete(w, rows, plan.size, plan.interior, source, store)
            source = planes.load
        elif plan.inverse:
            source = swapped_source(source)
        core.run(source, buffers, target, self._finished)

    def _finished(self, row: Number, value: Complex) -> Complex:
        """An element of the result."""
        w, plan = self.w, self.plan
        if plan.inverse:
            value = value[::-1]
        return value if plan.scale == 1.0 else (w.mul(value[0], plan.scale), w.mul(value[1], plan.scale))

    @computed_once
    def _core(self) -> Stockham | Convolution:
        plan = self.plan
        stockham = Stockham(self.w, plan.dtype, plan.radices, plan.columns, plan.lanes, self.roots)
        if not (plan.prime or plan.chirped):
            return stockham
        convolution = PrimeTransform if plan.prime else Chirp
        return convolution(self.w, plan.complex_size, stockham, self.roots)
