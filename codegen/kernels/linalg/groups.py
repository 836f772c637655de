"""Kernels that work on a group of matrices at a time, one a lane: loops over groups, tasks, and failures.

The last group of a batch may have fewer matrices than lanes: it is copied to a place on the stack where zeros
follow, and its results are copied back. So no code is there twice, and a matrix has the same bits wherever in
a batch it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ....base.machine import machine
from ....base.records import record
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.target import Target
from ...lowering.kernel import Kernel, signature
from ...lowering.parallel_for import context_of, run_tasks, task_function, tasks_at_a_time
from ...maths import MathsWriter
from ..indexing.index_blocks import STATUS_BYTES, note, status_of
from .matrices import RegisterMatrix
from .memory_matrix import LaneMatrix, ScratchMatrix, Storage
from .transfers import load_group, registers_of_group, store_group, store_registers


@record
class BatchPart:
    """Part of an operand or a result that belongs to each matrix of the batch: `rows` x `columns`
    elements."""

    rows: int
    columns: int
    dtype: str
    #: Whether the computation reads it.
    read: bool = True
    #: Whether all matrices of the batch have the same one, which is there once.
    shared: bool = False

    @property
    def size(self) -> int:
        """Elements of a matrix."""
        return self.rows * self.columns

    @property
    def nbytes(self) -> int:
        """Bytes of a matrix."""
        return self.size * BITS[self.dtype] // 8


#: Attributes of functions in which vectors are spilled: their stack slots are aligned as the vectors are.
_ATTRIBUTES: Final = 'nounwind "stackrealign"'

#: Function from the matrices of the operands to those of the results, and to the lanes in which it failed: a
#: mask for each of the errors.
Compute: TypeAlias = Callable[[Storage, list[LaneMatrix]], tuple[Sequence[LaneMatrix], Sequence[Reg]]]


@record(eq=False)
class GroupKernel:
    """A computation over a batch of matrices: what `GroupWriter` writes."""

    name: str
    batch: int
    operands: Sequence[BatchPart]
    results: Sequence[BatchPart]
    compute: Compute
    #: Whether elements are registers, and loops are unrolled.
    in_registers: bool
    #: Estimated cycles for one matrix, on one lane.
    cycles: float
    description: str
    #: The messages where lanes fail.
    errors: tuple[str, ...] = ()

    def lanes(self, target: Target) -> int:
        """Matrices of a group: as many as a vector of their elements has lanes."""
        parts = [part for part in (*self.operands, *self.results) if part.dtype[0] == "f"]
        lanes = min(target.lanes(part.dtype) for part in parts)
        while lanes > 1 and lanes // 2 >= self.batch:
            lanes //= 2
        return lanes

    def groups(self, target: Target) -> int:
        """Number of groups."""
        return -(-self.batch // self.lanes(target))

    def total_cycles(self, target: Target) -> float:
        """Estimated cycles of all groups."""
        return self.cycles * self.groups(target)

    def pooled(self, target: Target) -> bool:
        """Whether it hands its tasks to the threads itself: what can fail does, where there is much."""
        return bool(self.errors) and self.total_cycles(target) > machine().parallel_cycles

    def workspace(self, target: Target) -> int:
        """Bytes where tasks note that they failed."""
        return STATUS_BYTES if self.pooled(target) else 0

    def kernel(self, target: Target, declarations: Declarations) -> Kernel:
        """The native function."""
        code = GroupWriter(self, target, declarations).write()
        return Kernel(
            self.name, code, f"{self.description}, {self.lanes(target)} at a time", self.groups(target),
            self.total_cycles(target), errors=self.errors, pooled=self.pooled(target),
        )  # fmt: skip


class GroupWriter:
    """Writes a `GroupKernel`, whose tasks are groups."""

    def __init__(self, plan: GroupKernel, target: Target, declarations: Declarations) -> None:
        self.plan, self.declarations = plan, declarations
        self.w = MathsWriter(declarations)
        self.lanes, self.groups = plan.lanes(target), plan.groups(target)
        self.parts = [*plan.operands, *plan.results]
        self.pooled, self.total = plan.pooled(target), plan.total_cycles(target)

    def write(self) -> Code:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)``, and of its tasks."""
        name, buffers = self.plan.name, len(self.parts)
        bad = self._all(Reg("%begin", "i64"), Reg("%end", "i64"))
        if bad is None:
            self.w.ret()
            return [self.w.function(signature(name, buffers), _ATTRIBUTES)]
        if not self.pooled:
            self.w.ret(status_of(self.w, bad))
            return [self.w.function(signature(name, buffers, result="i32"), _ATTRIBUTES)]
        part, status = f"{name}_g", f"%b{buffers}"
        note(self.w, bad, status)
        self.w.ret()
        code: Code = [self.w.function(signature(part, buffers + 1), _ATTRIBUTES)]
        code.append(task_function(part, buffers + 1))
        self.w = w = MathsWriter(self.declarations)
        w.store(constant(0, "i32"), status)
        context_of(w, buffers + 1)
        together = tasks_at_a_time(self.groups, self.total, machine().task_cycles)
        run_tasks(w, part, self.groups, together)
        w.ret(status_of(w, w.load(status, "i32")))
        return [*code, w.function(signature(name, buffers + 1, result="i32"), _ATTRIBUTES)]

    def _all(self, begin: Reg, end: Reg) -> Reg | None:
        """Work on the groups from `begin` to `end`; returns their errors as bits, None for what cannot
        fail."""
        w = self.w
        places = [self._place(part) for part in self.parts]
        start = [constant(0, "i32")] if self.plan.errors else []

        def group(number: Reg, state: list[Reg]) -> Sequence[Reg]:
            failed = self._group(number, places)
            return [w.or_(bits, failed) for bits in state]

        bad = w.loop(begin, end, 1, group, start)
        return bad[0] if bad else None

    def _place(self, part: BatchPart) -> str:
        """Pointer to the stack slot of a group that is not full; empty where all are."""
        if self.plan.batch % self.lanes == 0 or part.shared or not part.read:
            return ""
        return self.w.slot(part.dtype, part.size * self.lanes)

    def _group(self, number: Reg, places: list[str]) -> Reg:
        """Work on one group; returns its errors as bits."""
        w, plan, lanes = self.w, self.plan, self.lanes
        first = w.mul(number, lanes)
        direct = [
            f"%b{i}"
            if part.shared or not part.read
            else w.offset(f"%b{i}", part.dtype, w.mul(first, part.size))
            for i, part in enumerate(self.parts)
        ]
        used, rest = list(direct), plan.batch % lanes
        partial = w.eq(number, plan.batch // lanes)
        read = len(plan.operands)
        if rest:

            def bring() -> None:
                for part, source, place in zip(plan.operands, direct, places, strict=False):
                    if place:
                        copied = part.nbytes * rest
                        w.copy(place, source, copied)
                        w.clear(w.offset(place, "u8", copied), part.nbytes * (lanes - rest))

            w.when(partial, bring)
            used = [
                w.choose(partial, place, pointer) if place else pointer
                for place, pointer in zip(places, direct, strict=True)
            ]
        operands = zip(used, plan.operands, strict=False)
        matrices = [self._load(pointer, part) for pointer, part in operands if part.read]
        storage = Storage(w, lanes, in_registers=plan.in_registers)
        results, failed = plan.compute(storage, matrices)
        for pointer, matrix in zip(used[read:], results, strict=True):
            self._store(matrix, pointer)
        if rest:

            def take() -> None:
                for part, target, place in zip(plan.results, direct[read:], places[read:], strict=True):
                    w.copy(target, place, part.nbytes * rest)

            w.when(partial, take)
        errors = constant(0, "i32")
        for i, mask in enumerate(failed):
            bits = w.mask_bits(w.splat(mask, lanes))
            if rest:
                bits = w.select(partial, w.and_(bits, (1 << rest) - 1), bits)
            errors = w.or_(errors, w.shl(w.cast(w.ne(bits, 0), "i32"), i))
        return errors

    def _load(self, pointer: str, part: BatchPart) -> LaneMatrix:
        w = self.w
        if part.shared:
            loads = [w.load(w.offset(pointer, part.dtype, i), part.dtype) for i in range(part.size)]
            columns = part.columns
            return RegisterMatrix(w, [loads[at : at + columns] for at in range(0, part.size, columns)])
        if self.plan.in_registers:
            return registers_of_group(w, pointer, part.rows, part.columns, part.dtype, self.lanes)
        matrix = ScratchMatrix(w, part.rows, part.columns, part.dtype, self.lanes)
        load_group(w, pointer, matrix)
        return matrix

    def _store(self, matrix: LaneMatrix, pointer: str) -> None:
        if isinstance(matrix, RegisterMatrix):
            store_registers(self.w, matrix, pointer)
        else:
            store_group(self.w, matrix, pointer)
