"""Counts of small integers, or sums of weights: each element adds to the place that it names.

Many elements are cut into chunks, each of which adds into memory of its own; what those hold is then added up
in order. How many there are follows from the shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....base.machine import machine
from ....base.records import record
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...interface import INDEX_VALUE_ERROR
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, FunctionCode
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Advice, Lowering, LoweringContext
from ...lowering.parallel_for import context_of, fold_parts, part_of, run_tasks, task_function
from .index_blocks import STATUS_BYTES, note

#: Estimated cycles of an element: the sum at its place is read, added to and written.
_CYCLES: Final = 4.0
#: Elements that a chunk has at least for each place: adding it up is little work then.
_DENSE: Final = 8


@record
class BincountPlan:
    """`count` elements in `chunks` chunks are added up at `length` places, whose sums are `nbytes`."""

    count: int
    length: int
    nbytes: int
    chunks: int

    @property
    def cycles(self) -> float:
        return _CYCLES * self.count + self.length

    @property
    def distance(self) -> int:
        """Bytes from one chunk's sums to the next one's: sums of two are not in one cache line."""
        return -(-self.nbytes // 64) * 64

    @property
    def workspace(self) -> int:
        """Bytes of the note of what failed, and of the sums of all chunks but the first."""
        return STATUS_BYTES + self.distance * (self.chunks - 1) if self.chunks > 1 else 0


def bincount_plan(instruction: Instruction) -> BincountPlan:
    """Plan the kernel of `instruction`: on one thread, or in chunks."""
    count, sums = instruction.operands[0].type.size, instruction.result.type
    chunks = min(machine().chunks, count // (_DENSE * max(sums.size, 1)))
    stays = sums.nbytes <= machine().l2_bytes // 4  # more does not stay in a second-level cache
    pays = _CYCLES * count > machine().parallel_cycles and stays
    return BincountPlan(count, sums.size, sums.nbytes, chunks if pays and chunks > 1 else 1)


def bincount_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Adds 1, or its weight, for each element."""
    plan = bincount_plan(instruction)
    code = _Writer(name, instruction, plan, context).write()
    where = f" ({instruction.location.file}:{instruction.location.line})" if instruction.location else ""
    what = f"bincount {name}: {plan.count} elements at {plan.length} places, in {plan.chunks} chunks"
    negative = f"{INDEX_VALUE_ERROR}bincount: an element is negative{where}"
    length = plan.length
    past = f"bincount: an element is past the last of the {length} counts{where}"
    errors = (negative, past, negative) if instruction.attrs["strict"] else (negative,)
    return Kernel(name, code, what, cycles=plan.cycles, errors=errors, pooled=plan.chunks > 1)


class _Writer:
    """Writes the kernel, and the task that adds a chunk."""

    def __init__(
        self, name: str, instruction: Instruction, plan: BincountPlan, context: LoweringContext
    ) -> None:
        self.name, self.plan, self.declarations = name, plan, context.declarations
        self.dtype = SHORT_NAME[instruction.result.dtype]
        self.lanes = context.target.lanes(self.dtype)
        self.strict = instruction.attrs["strict"]
        self.weighted = len(instruction.operands) > 1
        inputs = len(instruction.operands)
        self.result, self.work = f"%b{inputs}", f"%b{inputs + 1}"
        self.buffers = inputs + 1 + (plan.workspace > 0)
        self.w = FunctionWriter(self.declarations)

    def write(self) -> Code:
        """The code of ``i32 @name(ptr %b0, ..., i64 %begin, i64 %end)`` and of its task."""
        if self.plan.chunks == 1:
            status = self._add_to(self.result, constant(0, "i64"), constant(self.plan.count, "i64"))
            return [self._function(status)]
        task = f"{self.name}_chunk"
        parts = self._task(task)
        self.w = w = FunctionWriter(self.declarations)
        w.store(constant(0, "i32"), self.work)
        context_of(w, self.buffers)
        run_tasks(w, task, self.plan.chunks)
        self._add_up()
        return [*parts, self._function(w.load(self.work, "i32"))]

    def _function(self, status: Reg) -> FunctionCode:
        self.w.ret(status)
        return self.w.function(signature(self.name, self.buffers, result="i32"), "nounwind")

    def _add_to(self, sums: str, first: Reg, stop: Reg) -> Reg:
        """Add elements `first` to `stop` to places from `sums` on; 1 where one is negative, with 2 where one
        is past the end and that is an error."""
        w, plan = self.w, self.plan
        w.clear(sums, plan.nbytes)

        def element(at: Reg, extremes: list[Reg]) -> Sequence[Reg]:
            value = w.load(w.offset("%b0", "i64", at), "i64")

            def add() -> None:
                weight: Reg | int = 1
                if self.weighted:
                    weight = w.load(w.offset("%b1", self.dtype, at), self.dtype)
                place = w.offset(sums, self.dtype, value)
                w.store(w.add(w.load(place, self.dtype), weight), place)

            w.when(w.lt(w.bitcast(value, "u64"), plan.length), add)
            lowest, *highest = extremes
            return [w.min(lowest, value), *(w.max(old, value) for old in highest)]

        zeros = [constant(0, "i64")] * (1 + self.strict)
        lowest, *highest = w.loop(first, stop, 1, element, zeros)
        status = w.select(w.lt(lowest, 0), constant(1, "i32"), 0)
        for value in highest:
            status = w.or_(status, w.select(w.ge(value, plan.length), constant(2, "i32"), 0))
        return status

    # -- chunks -----------------------------------------------------------------------------------

    def _sums_of(self, number: Reg) -> str:
        """The sums of chunk `number`, which is not the first."""
        w = self.w
        before = w.offset(self.work, "u8", STATUS_BYTES - self.plan.distance)
        return w.offset(before, "u8", w.mul(number, self.plan.distance))

    def _task(self, name: str) -> Code:
        """Adds some chunks: the first one to the result, others to the workspace."""
        self.w = w = FunctionWriter(self.declarations)
        size = -(-self.plan.count // self.plan.chunks)

        def chunk(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            own = self._sums_of(number)
            sums = w.choose(w.eq(number, 0), self.result, own)
            note(w, self._add_to(sums, *part_of(w, number, size, self.plan.count)), self.work)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, chunk)
        w.ret()
        return [w.function(signature(name, self.buffers), "nounwind"), task_function(name, self.buffers)]

    def _add_up(self) -> None:
        """Add the sums of all chunks to those of the first, in order."""
        w, length = self.w, self.plan.length

        def stretch(lanes: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def add(at: Reg, _: list[Reg]) -> Sequence[Reg]:
                def sums_of(number: Reg) -> list[Reg]:
                    return [w.load(w.offset(self._sums_of(number), self.dtype, at), self.dtype, lanes)]

                place = w.offset(self.result, self.dtype, at)
                first = [w.load(place, self.dtype, lanes)]
                (total,) = fold_parts(w, self.plan.chunks, first, sums_of, lambda _, x, y: w.add(x, y))
                w.store(total, place)
                return ()

            return add

        whole = length // self.lanes * self.lanes
        w.loop(0, whole, self.lanes, stretch(self.lanes))
        w.loop(whole, length, 1, stretch(1))


BINCOUNT: Final = Lowering(
    (Kind.HISTOGRAM,),
    bincount_kernel,
    workspace=lambda instruction, context: bincount_plan(instruction).workspace,
    flops=lambda instruction: instruction.operands[0].type.size if len(instruction.operands) > 1 else 0,
    why_scalar="each element adds to the place that it names: two may name the same one",
    advice=lambda instruction: Advice(
        "Sums at computed places",
        "Elements are added one by one, each where it says.",
        "If elements of one place lie together, write it as a reshape and a sum.",
    ),
)
