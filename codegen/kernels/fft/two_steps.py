"""One long transform as many short ones, which fit in the caches and are shared among threads.

With n = a b, j = b j1 + j2 and k = k1 + a k2,

    y[k1 + a k2] = sum_j2 w_b^(j2 k2) (w_n^(j2 k1) sum_j1 x[b j1 + j2] w_a^(j1 k1))

The operand is a matrix of a rows. The first step transforms its columns, as many at a time as a vector has
lanes, and multiplies them by roots of unity. The second transforms rows of that, transposed to columns, as
which they are in the result. Real transforms have a step before or after these.

What the first step makes of a block of columns is a panel, whose rows lie one behind the other: strides of
many pages are written and read slowly. The factors w_n^(j2 k1) are products of one for the block's first
column and one for the distance from it, since gathers are slow on many processors.

Source: Bailey 1990, FFTs in external or hierarchical memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...llvm.emitter import BITS
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg
from ...llvm.transpose import transposed
from ...lowering.kernel import signature
from ...lowering.parallel_for import context_of, part_of, run_tasks, task_function
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
        exponents = np.outer(np.arange(self.steps.height), np.arange(self._factors_of_row))
        self.near = [self.roots.add(part) for part in unit_roots(exponents, plan.complex_size)]
        steps: list[tuple[str, int, Callable[[Reg], None]]] = [
            ("columns", self.steps.blocks, self._columns),
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

    def _panel(self, block: Reg) -> RowPlanes:
        """Panel of a block of columns, written by the first step: rows of real parts, then imaginary ones."""
        w, plan, columns = self.w, self.plan, self.steps.columns
        first = w.offset("%b2", "u8", _HEAD)
        real = w.offset(first, plan.dtype, w.mul(block, panel_elements(self.steps)))
        return RowPlanes(w, plan.dtype, 2 * columns, real, w.offset(real, plan.dtype, columns))

    def _planes(self, inner: int) -> RowPlanes:
        """RowPlanes of the workspace behind the panels, in rows of `inner` elements."""
        w, plan = self.w, self.plan
        size = plane_elements(plan.dtype, plan.complex_size, 1)
        first = w.offset("%b2", "u8", _HEAD)
        start = self.steps.blocks * panel_elements(self.steps)
        parts = [w.offset(first, plan.dtype, start + part * size) for part in range(2)]
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
        base = w.min(w.mul(block, steps.columns), (steps.width // steps.columns - 1) * steps.columns)
        source: Source
        if plan.to_real:
            source = self._planes(steps.width).load
        else:
            array = self._array(0, real=plan.from_real, inner=steps.width)
            source = array.load_pairs  # of a real operand, neighbours are
            if plan.inverse:
                source = swapped_source(source)
        panel, place = self._panel(block), w.sub(first, base)

        def store(row: Number, column: Number, value: Complex) -> None:
            panel.store(row, column, times(w, value, self._roots_of(row, base, place)))

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
            target = self._planes(steps.height).store
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
        """Rows of the panels from `first` on as columns."""
        w, steps, lanes = self.w, self.steps, self.steps.columns

        def square(block: Reg, _: list[Reg]) -> Sequence[Reg]:
            panel, column = self._panel(block), w.min(w.mul(block, lanes), steps.width - lanes)
            rows = [panel.load(w.add(first, row), 0, lanes) for row in range(lanes)]
            real, imaginary = (transposed(w, [row[part] for row in rows]) for part in range(2))
            for number, value in enumerate(zip(real, imaginary, strict=True)):
                planes.store(w.add(column, number), 0, value)
            return ()

        w.loop(0, steps.blocks, 1, square)

    def _halves(self, block: Reg, *, join: bool) -> None:
        """Write a part of the step before or after the complex transform of half the size (`halves`)."""
        w, plan = self.w, self.plan
        rows = Rows(w, 1, plan.lanes)
        halves = Halves(w, plan.size, rows, self._following_roots, plan.scale, plan.interior)
        planes = self._planes(1)
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

    @property
    def _factors_of_row(self) -> int:
        """Number of places in a block that have factors. Where columns are left over, the last block begins
        within the one before, and has that one's factors, so that no column depends on who computes it."""
        return self.steps.columns + self.steps.width % self.steps.columns

    def _roots_of(self, row: Number, base: Reg, place: Reg) -> Complex:
        """``exp(-2 pi i row j / m)`` for neighbouring j from ``base + place`` on, for complex transforms of
        m: the factor of `base`, which they share, times those of their distances."""
        w, lanes = self.w, self.steps.columns
        step = self.plan.size // self.plan.complex_size
        shared = self._following_roots(w.mul(w.mul(row, step), base), 1)
        index = w.add(w.mul(row, self._factors_of_row), place)
        near = [self.roots.vector(w, start, index, lanes) for start in self.near]
        return times(w, (near[0], near[1]), (w.splat(shared[0], lanes), w.splat(shared[1], lanes)))


def panel_elements(steps: TwoSteps) -> int:
    """Elements of a panel: some rows more than there are, since addresses a multiple of many pages apart
    disturb each other."""
    return (steps.height + steps.columns) * 2 * steps.columns


def two_step_bytes(plan: TransformPlan, steps: TwoSteps) -> int:
    """The size of the workspace."""
    planes = 2 * plane_elements(plan.dtype, plan.complex_size, 1) if plan.real else 0
    return _HEAD + (steps.blocks * panel_elements(steps) + planes) * BITS[plan.dtype] // 8
