"""Counts of small integers, or sums of weights: each element adds to the place that it names.

Many elements are cut into chunks, each of which adds into memory of its own; what those hold is then added up
in order. How many there are follows from the shapes alone. A task takes an element of each of its chunks in
turn: an addition to one place waits for the last one to it, and what is between them does not.
"""

from __future__ import annotations

import functools
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
#: Chunks of a task, where their sums stay in the first cache: a million elements at 256 places take 0.46 ms
#: by four, and 0.6 by one (Intel, AVX-512).
_TOGETHER: Final = 4


@record
class BincountPlan:
    """`count` elements in `chunks` chunks, of which a task has `together`, are added up at `length` places,
    whose sums are `nbytes`."""

    count: int
    length: int
    nbytes: int
    chunks: int
    together: int

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
    together = _TOGETHER if _TOGETHER * sums.nbytes <= machine().l1_bytes else 1
    chunks = min(machine().chunks * together, count // (_DENSE * max(sums.size, 1)))
    if chunks < together:
        together = 1
    chunks -= chunks % together
    stays = sums.nbytes <= machine().l2_bytes // 4  # more does not stay in a second-level cache
    pays = _CYCLES * count > machine().parallel_cycles and stays
    if not (pays and chunks > 1):
        chunks = together = 1
    return BincountPlan(count, sums.size, sums.nbytes, chunks, together)


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
            self.w.clear(self.result, self.plan.nbytes)
            zero, count = constant(0, "i64"), constant(self.plan.count, "i64")
            seen = self._add_all(self.result, zero, count, self._nothing_seen)
            return [self._function(self._status(seen))]
        task = f"{self.name}_chunk"
        parts = self._task(task)
        self.w = w = FunctionWriter(self.declarations)
        w.store(constant(0, "i32"), self.work)
        context_of(w, self.buffers)
        run_tasks(w, task, self.plan.chunks // self.plan.together)
        self._add_up()
        return [*parts, self._function(w.load(self.work, "i32"))]

    def _function(self, status: Reg) -> FunctionCode:
        self.w.ret(status)
        return self.w.function(signature(self.name, self.buffers, result="i32"), "nounwind")

    def _add(self, sums: str, at: Reg) -> Reg:
        """Add element `at` to its place from `sums` on, if there is one; return the element."""
        w = self.w
        value = w.load(w.offset("%b0", "i64", at), "i64")

        def add() -> None:
            weight: Reg | int = 1
            if self.weighted:
                weight = w.load(w.offset("%b1", self.dtype, at), self.dtype)
            place = w.offset(sums, self.dtype, value)
            w.store(w.add(w.load(place, self.dtype), weight), place)

        w.when(w.lt(w.bitcast(value, "u64"), self.plan.length), add)
        return value

    def _add_all(self, sums: str, first: Reg, stop: Reg, seen: list[Reg]) -> list[Reg]:
        """Add elements `first` to `stop`; `seen` with them."""
        return self.w.loop(first, stop, 1, lambda at, seen: self._see(seen, [self._add(sums, at)]), seen)

    @property
    def _nothing_seen(self) -> list[Reg]:
        """The state before any element: the bits of all, and the largest one where that can be an error."""
        return [constant(0, "i64")] * (1 + self.strict)

    def _see(self, seen: list[Reg], values: list[Reg]) -> list[Reg]:
        """The bits of all elements with those of `values`, and the largest one."""
        w = self.w
        return [
            combine(old, functools.reduce(combine, values))
            for combine, old in zip((w.or_, w.max), seen, strict=False)
        ]

    def _status(self, seen: list[Reg]) -> Reg:
        """1 where an element is negative, or else 2 where one is past the end and that is an error."""
        w, past = self.w, constant(0, "i32")
        bits, *largest = seen
        for value in largest:
            past = w.select(w.ge(value, self.plan.length), constant(2, "i32"), 0)
        return w.select(w.lt(bits, 0), constant(1, "i32"), past)

    # -- chunks -----------------------------------------------------------------------------------

    def _sums_of(self, number: Reg) -> str:
        """The sums of chunk `number`, which is not the first."""
        w = self.w
        before = w.offset(self.work, "u8", STATUS_BYTES - self.plan.distance)
        return w.offset(before, "u8", w.mul(number, self.plan.distance))

    def _task(self, name: str) -> Code:
        """Adds some groups of chunks: the first chunk of all to the result, others to the workspace."""
        self.w = w = FunctionWriter(self.declarations)
        size, together = -(-self.plan.count // self.plan.chunks), self.plan.together

        def group(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            chunks = [w.add(w.mul(number, together), chunk) for chunk in range(together)]
            sums = [self._sums_of(chunk) for chunk in chunks]
            sums[0] = w.choose(w.eq(number, 0), self.result, sums[0])
            for place in sums:
                w.clear(place, self.plan.nbytes)
            bounds = [part_of(w, chunk, size, self.plan.count) for chunk in chunks]
            shortest = w.max(w.sub(bounds[-1][1], bounds[-1][0]), 0)

            def turn(at: Reg, seen: list[Reg]) -> Sequence[Reg]:
                values = [
                    self._add(place, w.add(first, at)) for place, (first, _) in zip(sums, bounds, strict=True)
                ]
                return self._see(seen, values)

            seen = w.loop(0, shortest, 1, turn, self._nothing_seen)
            for place, (first, stop) in zip(sums, bounds, strict=True):
                seen = self._add_all(place, w.add(first, shortest), stop, seen)
            note(w, self._status(seen), self.work)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, group)
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
