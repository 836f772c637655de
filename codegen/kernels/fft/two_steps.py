"""One long transform as many short ones, which fit in the caches and are shared among threads.

With n = a b, j = b j1 + j2 and k = k1 + a k2,

    y[k1 + a k2] = sum_j2 w_b^(j2 k2) (w_n^(j2 k1) sum_j1 x[b j1 + j2] w_a^(j1 k1))

The operand is a matrix of a rows. The first step transforms its columns, as many at a time as a vector has
lanes, and multiplies them by roots of unity. The second transforms rows of that, turned to columns, as which
they are in the result. Real transforms have a step before or after these.

Source: Bailey 1990, FFTs in external or hierarchical memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...llvm.emitter import BITS
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg
from ...llvm.transpose import turned
from ..kernel import signature
from ..parallel_for import context_of, part_of, run_tasks, task_function
from .codelets import Complex, times
from .halves import Halves
from .memory import ArrayAccess, scaled_target, swapped_source, swapped_target
from .plan import TransformPlan, TwoSteps
from .roots import RootTable, unit_roots
from .rows import Rows
from .stockham import Buffers, RowPlanes, Source, Stockham, Target, plane_elements

#: Bytes in front of the workspace, which hold the number of the transform.
_HEAD = 64
_BUFFERS = 3
#: Rows of a part of the steps of real transforms.
_PART = 512


class TwoStepWriter:
    """Writes ``@name(ptr %b0, ptr %b1, ptr %b2, i64 %begin, i64 %end)``, which runs its steps as tasks."""

    def __init__(self, plan: TransformPlan, steps: TwoSteps, declarations: Declarations) -> None:
        self.plan, self.steps, self.declarations = plan, steps, declarations
        self.name = ""

    def write(self, name: str) -> Code:
        """The kernel, its steps and their tables."""
        self.name, plan = name, self.plan
        # roots of unity of the whole are products of two
        self.roots, low = RootTable(name, plan.dtype), self.steps.low
        self.low = [self.roots.add(part) for part in unit_roots(np.arange(low + plan.lanes), plan.size)]
        high = np.arange(-(-plan.size // low)) * low
        self.high = [self.roots.add(part) for part in unit_roots(high, plan.size)]
        steps: list[tuple[str, int, Callable[[Reg], None]]] = [
            ("columns", -(-self.steps.width // self.steps.columns), self._columns),
            ("rows", -(-self.steps.height // self.steps.columns), self._rows),
        ]
        parts = -(-(plan.size // 4) // _PART)
        if plan.from_real:
            steps.append(("split", parts, lambda block: self._halves(block, join=False)))
        if plan.to_real:
            steps.insert(0, ("join", parts, lambda block: self._halves(block, join=True)))
        code: Code = []
        for step, blocks, body in steps:
            code += self._step(f"{name}_{step}", blocks, body)
        self.w = w = FunctionWriter(self.declarations)
        context_of(w, _BUFFERS)

        def transform(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(index, "%b2")
            for step, blocks, _body in steps:
                run_tasks(w, f"{name}_{step}", min(blocks, self.steps.tasks))
            return ()

        w.loop(0, plan.outer, 1, transform)
        w.ret()
        return [*self.roots.code(), *code, w.function(signature(name, _BUFFERS), "nounwind")]

    def _step(self, name: str, blocks: int, body: Callable[[Reg], None]) -> Code:
        """The function of a step: `body` for the blocks of a range of tasks."""
        self.w = w = FunctionWriter(self.declarations)
        self.index = w.load("%b2", "i64")
        tasks = min(blocks, self.steps.tasks)

        def block(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(index)
            return ()

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.loop(*part_of(w, index, -(-blocks // tasks), blocks), 1, block)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)
        w.ret()
        return [w.function(signature(name, _BUFFERS), "nounwind"), task_function(name, _BUFFERS)]

    # -- memory -----------------------------------------------------------------------------------

    def _array(self, number: int, *, real: bool, inner: int) -> ArrayAccess:
        """The transform's part of the operand or the result, in rows of `inner` elements."""
        w, plan = self.w, self.plan
        elements = plan.size if real else 2 * plan.spectrum
        place = w.offset(f"%b{number}", plan.dtype, w.mul(self.index, elements))
        return ArrayAccess(w, plan.dtype, place, inner)

    def _planes(self, number: int, inner: int) -> RowPlanes:
        """RowPlanes of the workspace, in rows of `inner` elements."""
        w, plan = self.w, self.plan
        size = plane_elements(plan.dtype, plan.complex_size, 1)
        first = w.offset("%b2", "u8", _HEAD)
        parts = [w.offset(first, plan.dtype, (2 * number + part) * size) for part in range(2)]
        return RowPlanes(w, plan.dtype, inner, *parts)

    def _stockham(self, radices: Sequence[int]) -> tuple[Stockham, Buffers]:
        w, plan, lanes = self.w, self.plan, self.steps.columns
        stockham = Stockham(w, plan.dtype, radices, lanes, lanes, self.roots)
        memory = w.slot(plan.dtype, 4 * plane_elements(plan.dtype, stockham.size, lanes))
        return stockham, Buffers(w, plan.dtype, stockham.size, lanes, memory)

    # -- steps ------------------------------------------------------------------------------------

    def _columns(self, block: Reg) -> None:
        """Transform a block of columns, and multiply it by roots of unity."""
        w, plan, steps = self.w, self.plan, self.steps
        first = w.min(w.mul(block, steps.columns), steps.width - steps.columns)
        source: Source
        if plan.to_real:
            source = self._planes(1, steps.width).load
        else:
            array = self._array(0, real=plan.from_real, inner=steps.width)
            source = array.load_pairs  # of a real operand, neighbours are
            if plan.inverse:
                source = swapped_source(source)
        target = self._planes(0, steps.width)

        def store(row: Number, column: Number, value: Complex) -> None:
            place = w.add(first, column)
            target.store(row, place, times(w, value, self._roots_of(row, place, value[0].lanes)))

        stockham, buffers = self._stockham(steps.first)
        stockham.run(lambda row, column, lanes: source(row, w.add(first, column), lanes), buffers, store)

    def _rows(self, block: Reg) -> None:
        """Transform a block of rows; they are columns of the result."""
        w, plan, steps, lanes = self.w, self.plan, self.steps, self.steps.columns
        first = w.min(w.mul(block, lanes), steps.height - lanes)
        stockham, buffers = self._stockham(steps.second)
        self._turn(first, buffers.following())
        target: Target
        if plan.from_real:
            target = self._planes(1, steps.height).store
        else:
            array = self._array(1, real=plan.to_real, inner=steps.height)
            target = scaled_target(w, array.store_pairs, plan.scale)
            if plan.inverse:
                target = swapped_target(target)
        stockham.run(
            buffers.latest.load,
            buffers,
            lambda row, column, value: target(row, w.add(first, column), value),
        )

    def _turn(self, first: Reg, planes: RowPlanes) -> None:
        """Rows of the workspace from `first` on as columns."""
        w, steps, lanes = self.w, self.steps, self.steps.columns
        source = self._planes(0, steps.width)

        def square(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            column = w.min(column, steps.width - lanes)
            rows = [source.load(w.add(first, row), column, lanes) for row in range(lanes)]
            real, imaginary = (turned(w, [row[part] for row in rows]) for part in range(2))
            for number, value in enumerate(zip(real, imaginary, strict=True)):
                planes.store(w.add(column, number), 0, value)
            return ()

        w.loop(0, steps.width, lanes, square)

    def _halves(self, block: Reg, *, join: bool) -> None:
        """A part of what goes before or after the transform of half of the real numbers."""
        w, plan = self.w, self.plan
        rows = Rows(w, 1, plan.lanes)
        halves = Halves(w, plan.size, rows, self._following_roots, plan.scale, plan.interior)
        planes = self._planes(1, 1)
        source: Source
        target: Target
        if join:
            source = self._array(0, real=False, inner=1).load_pairs
            target = swapped_target(planes.store)
        else:
            source = planes.load
            target = self._array(1, real=False, inner=1).store_pairs
        ends = halves.join_ends if join else halves.split_ends
        w.when(w.eq(block, 0), lambda: ends(source, target))
        first = w.min(w.add(w.mul(block, _PART), 1), halves.count + 1 - _PART)
        halves.pairs(source, target, first, _PART, join=join)

    # -- roots of unity ---------------------------------------------------------------------------

    def _following_roots(self, row: Reg, lanes: int) -> Complex:
        """``exp(-2 pi i k / n)`` for k from `row` on."""
        w, low = self.w, self.steps.low
        low_part = [self.roots.vector(w, start, w.and_(row, low - 1), lanes) for start in self.low]
        place = w.lshr(row, low.bit_length() - 1)
        high_part = [w.splat(self.roots.vector(w, start, place, 1), lanes) for start in self.high]
        return times(w, (low_part[0], low_part[1]), (high_part[0], high_part[1]))

    def _roots_of(self, row: Number, column: Reg, lanes: int) -> Complex:
        """``exp(-2 pi i row j / m)`` for neighbouring j from `column` on, for complex transforms of m."""
        w, low = self.w, self.steps.low
        step = w.mul(row, self.plan.size // self.plan.complex_size)
        exponents = w.mul(w.add(w.splat(column, lanes), w.ramp(lanes)), step)
        parts = [
            [self.roots.at(w, start, places) for start in starts]
            for places, starts in (
                (w.and_(exponents, low - 1), self.low),
                (w.lshr(exponents, low.bit_length() - 1), self.high),
            )
        ]
        return times(w, (parts[0][0], parts[0][1]), (parts[1][0], parts[1][1]))


def two_step_bytes(plan: TransformPlan) -> int:
    """The size of the workspace."""
    planes = 4 if plan.real else 2
    return _HEAD + planes * plane_elements(plan.dtype, plan.complex_size, 1) * BITS[plan.dtype] // 8
