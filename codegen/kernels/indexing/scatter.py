"""Scatters: slices written or folded in at tuples of indices, those of one place in order.

Many indices are taken in blocks (`index_blocks`). Threads share them in one of two
ways, in parts that follow from the shapes alone, so that no result depends on the number of threads:

- long slices by where they go: each task owns a range of the result, looks at all the indices and moves the
  slices that go there;
- short ones that are added, many to each place, by their numbers: each task adds its chunk of them into
  memory of its own, and what those hold is added up in order.

What is neither is moved by one thread: finding out which elements go where would take as long as adding them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Final

from ....base.machine import machine
from ....base.records import record
from ....ir.dtypes import SHORT_NAME, is_real_floating
from ....ir.graph import Instruction
from ....ir.ops.indexing import SCATTER_FOLDS
from ....ir.registry import Kind
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations, FunctionCode
from ...llvm.target import Target
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Advice, Lowering, LoweringContext
from ...lowering.parallel_for import context_of, run_tasks, task_function
from ...maths import MathsWriter
from .copies import copy_operand, copy_stretch
from .index_blocks import BLOCK, STATUS_BYTES, IndexBlocks, note, status_of
from .slices import Slices, check_indices, index_messages, over_indices, slices_of

#: Bytes of a slice for each range: looking at an index that leads to another one takes little time then.
_RANGE_BYTES: Final = 128
#: Slices that a chunk has at least for each place of the result: setting its memory to zero and adding it up
#: takes as long as adding a third of that.
_DENSE: Final = 4
#: Elements of the result that are added up in one task.
_FOLD: Final = 1 << 14


class How(enum.Enum):
    """Strategies by which threads share a scatter."""

    ALONE = "on one thread"
    RANGES = "by ranges of the result"
    CHUNKS = "by chunks of the indices"


@record
class ScatterPlan:
    """Plan of a scatter: `count` slices go to `rows` places, in `parts`."""

    slices: Slices
    count: int
    rows: int
    how: How
    parts: int
    cycles: float
    #: Bytes from one chunk's memory to the next one's.
    distance: int

    @property
    def workspace(self) -> int:
        """Bytes that the kernel works in: the note of what failed, and the memory of all chunks but one."""
        if self.how is How.ALONE:
            return 0
        return STATUS_BYTES + (self.distance * (self.parts - 1) if self.how is How.CHUNKS else 0)


def scatter_plan(instruction: Instruction) -> ScatterPlan:
    """Plan the kernel of `instruction`: on one thread, by ranges of the result, or by chunks of the
    indices."""
    x, _, *indices = instruction.operands
    slices, count = slices_of(x.shape, len(indices), instruction.attrs["axes"]), indices[0].type.size
    rows, stretch = math.prod(slices.sizes), slices.elements
    cycles = x.type.nbytes / 8 + count * (6 + stretch * x.dtype.itemsize / 8)
    how, parts, nbytes = How.ALONE, 1, stretch * x.dtype.itemsize
    if count >= BLOCK and cycles > machine().parallel_cycles:
        adds = instruction.attrs["mode"] == "add"
        chunks, ranges = (
            _power_of_two(count // (_DENSE * max(rows, 1))),
            _power_of_two(nbytes // _RANGE_BYTES),
        )
        if slices.leading and min(ranges, rows) > 1:
            how, parts = How.RANGES, _power_of_two(min(ranges, rows))
        elif adds and chunks > 1 and x.type.nbytes <= machine().l2_bytes:  # where copies stay
            how, parts = How.CHUNKS, _power_of_two(chunks)
    return ScatterPlan(slices, count, rows, how, parts, cycles, -(-x.type.nbytes // 64) * 64)


def _power_of_two(most: int) -> int:
    """The largest power of two up to `most` and the machine's chunks, at least 1."""
    return 1 << (max(1, min(most, machine().chunks)).bit_length() - 1)


def scatter_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Copies x, then writes or adds the slice for each tuple of indices."""
    x, plan = instruction.operands[0], scatter_plan(instruction)
    code = _Writer(name, instruction, plan, context.target, context.declarations).write()
    description = (
        f"scatter {name}: {plan.count} slices of {plan.slices.elements} elements, "
        f"{instruction.attrs['mode']}, into {x.type}"
    )
    if not plan.slices.leading:
        description += f" along axes {list(plan.slices.axes)}"
    pooled = plan.how is not How.ALONE
    if pooled:
        description += f", in {plan.parts} parts {plan.how.value}"
    errors = index_messages(instruction, plan.slices)
    return Kernel(name, code, description, cycles=plan.cycles, errors=errors, pooled=pooled)


class _Writer:
    """Writes the kernel and its tasks."""

    def __init__(
        self,
        name: str,
        instruction: Instruction,
        plan: ScatterPlan,
        target: Target,
        declarations: Declarations,
    ) -> None:
        x, _, *indices = instruction.operands
        self.name, self.plan, self.target, self.declarations = name, plan, target, declarations
        self.dtype, self.axes, self.slices = SHORT_NAME[x.dtype], len(indices), plan.slices
        self.blocks = IndexBlocks(plan.slices, 2, plan.count, target)
        self.nbytes, self.itemsize = x.type.nbytes, x.dtype.itemsize
        self.fold = SCATTER_FOLDS.get(instruction.attrs["mode"])
        self.lanes = target.lanes(self.dtype)
        self.result, self.work = f"%b{self.axes + 2}", f"%b{self.axes + 3}"
        #: Operands, the result, and the workspace where there is one.
        self.buffers = self.axes + 3 + (plan.workspace > 0)
        self.w = MathsWriter(declarations)

    def write(self) -> Code:
        """The code of ``i32 @name(ptr %b0, ..., i64 %begin, i64 %end)`` and of its tasks."""
        how = self.plan.how
        if how is How.ALONE:
            return [self._whole()]
        part = f"{self.name}_s"
        parts = self._task(part, self._ranges if how is How.RANGES else self._chunks)
        if how is How.CHUNKS:
            parts += self._task(f"{part}_sum", self._add_up)
        self.w = w = MathsWriter(self.declarations)
        w.store(constant(0, "i32"), self.work)
        context_of(w, self.buffers)
        self._run(part, self.plan.parts)
        bad = w.load(self.work, "i32")
        if how is How.CHUNKS:
            w.when(w.eq(bad, 0), lambda: self._run(f"{part}_sum", -(-self._elements // _FOLD)))
        w.ret(status_of(w, bad))
        return [*parts, w.function(signature(self.name, self.buffers, result="i32"), "nounwind")]

    @property
    def _elements(self) -> int:
        return self.plan.rows * self.slices.elements

    def _run(self, part: str, tasks: int) -> None:
        run_tasks(self.w, part, tasks)

    def _task(self, name: str, body: Callable[[Reg, Reg], None]) -> Code:
        """A function that runs `body` for a range of tasks."""
        self.w = w = MathsWriter(self.declarations)
        body(Reg("%begin", "i64"), Reg("%end", "i64"))
        w.ret()
        return [w.function(signature(name, self.buffers), "nounwind"), task_function(name, self.buffers)]

    def _move(self, result: str, number: Reg, place: Reg) -> None:
        """Write or fold slice `number` at `place`."""
        w, slices = self.w, self.slices
        source = w.offset("%b1", self.dtype, w.mul(number, slices.elements))
        target = w.offset(result, self.dtype, w.mul(place, slices.unit))

        def move(here: str, packed: str) -> None:
            if self.fold is not None:
                self._fold_stretch(here, packed)
            else:
                copy_stretch(w, self.dtype, here, packed, slices.stretch)

        slices.moves(w, self.dtype, target, source, move)

    def _fold_stretch(self, target: str, source: str) -> None:
        """Fold a slice into another, vectors first."""
        count, lanes = self.slices.stretch, self.lanes
        whole = count // lanes * lanes
        self.w.loop(0, whole, lanes, lambda at, _: self._fold(target, source, at, lanes))
        self.w.loop(whole, count, 1, lambda at, _: self._fold(target, source, at, 1))

    def _fold(self, target: str, source: str, at: Reg, lanes: int) -> Sequence[Reg]:
        w = self.w
        place = w.offset(target, self.dtype, at)
        old, new = (
            w.load(place, self.dtype, lanes),
            w.load(w.offset(source, self.dtype, at), self.dtype, lanes),
        )
        w.store(self._folded(old, new), place)
        return ()

    def _folded(self, old: Reg, new: Reg) -> Reg:
        assert self.fold is not None
        assert self.fold.emit is not None
        result: Reg = self.fold.emit(self.w, old, new)
        return result

    # -- on one thread ----------------------------------------------------------------------------

    def _whole(self) -> FunctionCode:
        w, count = self.w, self.plan.count
        copy_operand(w, self.nbytes, "%b0", self.result)
        if count < BLOCK:
            check_indices(w, self.slices, 2, count, self.target.lanes("i64"))
            over_indices(
                w, self.slices, 2, (0, count), lambda w, at, place: self._move(self.result, at, place)
            )
            w.ret(constant(0, "i32"))
        else:
            bad = self._some(self.result, constant(0, "i64"), constant(self.blocks.number, "i64"))
            w.ret(status_of(w, bad))
        return w.function(signature(self.name, self.buffers, result="i32"), "nounwind")

    def _some(self, result: str, first: Reg, stop: Reg) -> Reg:
        """Move the slices of some blocks; the axes that have a bad index."""
        w, blocks = self.w, self.blocks

        def block(start: Reg, end: Reg) -> None:
            blocks.each(w, start, end, lambda number, place: self._move(result, number, place))

        return blocks.over(w, first, stop, block)

    # -- by ranges of the result ------------------------------------------------------------------

    def _ranges(self, begin: Reg, end: Reg) -> None:
        """The slices that go to some ranges of the result."""
        w, plan, blocks = self.w, self.plan, self.blocks
        size = -(-plan.rows // plan.parts)
        first = w.min(w.mul(begin, size), plan.rows)
        rows = w.sub(w.min(w.mul(end, size), plan.rows), first)
        stretch = self.slices.elements * self.itemsize
        start = w.mul(first, stretch)
        copy_operand(
            w, w.mul(rows, stretch), w.offset("%b0", "u8", start), w.offset(self.result, "u8", start)
        )
        numbers, places = w.slot("i64", BLOCK), w.slot("i64", BLOCK)
        zero, every = constant(0, "i64"), constant(blocks.number, "i64")

        def block(start: Reg, stop: Reg) -> None:
            def pick(number: Reg, picked: list[Reg]) -> Sequence[Reg]:
                # what is not ours is overwritten by the next one
                place = blocks.place(w, start, number)
                w.store(place, w.offset(places, "i64", picked[0]))
                w.store(number, w.offset(numbers, "i64", picked[0]))
                ours = w.lt(w.bitcast(w.sub(place, first), "u64"), w.bitcast(rows, "u64"))
                return [w.add(picked[0], w.cast(w.cast(ours, "u8"), "i64"))]

            (picked,) = w.loop(start, stop, 1, pick, [constant(0, "i64")])

            def move(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                number, place = (w.load(w.offset(text, "i64", at), "i64") for text in (numbers, places))
                self._move(self.result, number, place)
                return ()

            w.loop(0, picked, 1, move)

        whole = w.eq(rows, plan.rows)
        w.when(whole, lambda: note(w, self._some(self.result, zero, every), self.work))
        w.when(w.not_(whole), lambda: note(w, blocks.over(w, zero, every, block), self.work))

    # -- by chunks of the indices -----------------------------------------------------------------

    def _copy_of(self, number: Reg | int) -> str:
        """The memory of chunk `number`, which is not the first."""
        w = self.w
        first = w.offset(self.work, "u8", STATUS_BYTES - self.plan.distance)
        if isinstance(number, int):
            return w.offset(first, "u8", number * self.plan.distance)
        return w.offset(first, "u8", w.mul(number, self.plan.distance))

    def _chunks(self, begin: Reg, end: Reg) -> None:
        """Add some chunks of slices: the first one to the operand, others to zeros."""
        w, plan, total = self.w, self.plan, self.blocks.number
        size = -(-total // plan.parts)

        def chunk(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            own, first = self._copy_of(number), w.eq(number, 0)
            target = w.choose(first, self.result, own)
            w.when(first, lambda: copy_operand(w, self.nbytes, "%b0", self.result))
            w.when(w.not_(first), lambda: w.clear(own, self.nbytes))
            start = w.min(w.mul(number, size), total)
            note(w, self._some(target, start, w.min(w.add(start, size), total)), self.work)
            return ()

        w.loop(begin, end, 1, chunk)

    def _add_up(self, begin: Reg, end: Reg) -> None:
        """Add what the chunks hold to some stretches of the result."""
        w = self.w
        first = w.mul(begin, _FOLD)
        stop = w.min(w.mul(end, _FOLD), self._elements)
        copies = [self._copy_of(number) for number in range(1, self.plan.parts)]

        def add(lanes: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def some(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                place = w.offset(self.result, self.dtype, at)
                total = w.load(place, self.dtype, lanes)
                for copy in copies:
                    more = w.load(w.offset(copy, self.dtype, at), self.dtype, lanes)
                    total = self._folded(total, more)
                w.store(total, place)
                return ()

            return some

        whole = w.add(first, w.and_(w.sub(stop, first), -self.lanes))
        w.loop(first, whole, self.lanes, add(self.lanes))
        w.loop(whole, stop, 1, add(1))


def _flops(instruction: Instruction) -> int:
    adds = instruction.attrs["mode"] == "add" and is_real_floating(instruction.result.dtype)
    return instruction.operands[1].type.size if adds else 0


def _advice(instruction: Instruction) -> Advice:
    count = instruction.operands[2].type.size
    return Advice(
        "Scattered writes, one after the other",
        f"{count:,} slices are added or set one by one on one thread, each where its index says.",
        "If the indices are a range or sorted, write it as a slice, a reshape or a reduction.",
        always=True,
    )


SCATTER: Final = Lowering(
    (Kind.SCATTER,),
    scatter_kernel,
    workspace=lambda instruction, context: scatter_plan(instruction).workspace,
    flops=_flops,
    why_scalar="it writes one slice after the other, in order: two indices may name the same place",
    advice=_advice,
)
