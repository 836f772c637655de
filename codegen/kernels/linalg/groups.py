"""Kernels that work on a group of matrices at a time, one a lane: loops over groups, tasks, and failures.

The last group of a batch may have fewer matrices than lanes: it is copied to a place on the stack where zeros
follow, and its results are copied back. So no code is there twice, and a matrix has the same bits wherever in
a batch it is.

Matrices are brought into lanes and back by squares of elements, transposed in registers: as many elements of
as many matrices as a vector has lanes. What is left of a matrix is a square that overlaps the one before, or
narrower vectors. Matrices of 1, 2, 3, 4, 6 ... elements, less than a vector has lanes, are read and written
as whole vectors of several.

What is read or written asks for the same place of the next group, or some groups behind it where these are
small. Asked for all at once, lines of some kilobytes would hold up those that are read now: on a Xeon
(Cascade Lake), Cholesky factors of 10,000 8x8 matrices take 0.65 of the time so, and of 6x6 ones 0.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ....ir.machine import machine
from ....ir.records import record
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...llvm.transpose import is_record, joined, separated, turned
from ...nest.writing.prefetch import READ_AHEAD, WRITTEN_AHEAD
from ..indexing.movement import STATUS_BYTES, note, status_of
from ..kernel import Kernel, signature
from ..parallel_for import context_of, run_tasks, task_function, tasks_at_a_time
from .matrices import Matrix, RegisterMatrix
from .scratch_matrix import ScratchMatrix, Storage


def load_group(w: FunctionWriter, pointer: str, matrix: ScratchMatrix) -> None:
    """Fill `matrix` with the elements of as many matrices at `pointer` as it has lanes."""
    size, lanes = matrix.rows * matrix.columns, matrix.lanes

    def chunk(at: Reg | int, count: int) -> None:
        for number, element in enumerate(_load_square(w, pointer, at, count, size, matrix.dtype, lanes)):
            place = w.add(at, number) if isinstance(at, Reg) else at + number
            w.store(element, w.offset(matrix.pointer, matrix.dtype, _times(w, place, lanes)))

    _over_chunks(w, size, lanes, chunk)


def store_group(w: FunctionWriter, matrix: ScratchMatrix, pointer: str) -> None:
    """The reverse of `load_group`."""
    size, lanes = matrix.rows * matrix.columns, matrix.lanes

    def chunk(at: Reg | int, count: int) -> None:
        elements = []
        for number in range(count):
            place = w.add(at, number) if isinstance(at, Reg) else at + number
            source = w.offset(matrix.pointer, matrix.dtype, _times(w, place, lanes))
            elements.append(w.load(source, matrix.dtype, lanes))
        _store_square(w, elements, pointer, at, size)

    _over_chunks(w, size, lanes, chunk)


def registers_of_group(
    w: FunctionWriter, pointer: str, rows: int, columns: int, dtype: str, lanes: int
) -> RegisterMatrix:
    """Elements of as many matrices at `pointer` as there are `lanes`, as `load_group` reads them, in
    registers."""
    size = rows * columns
    elements: dict[int, Reg] = {}
    for at, count in _chunks(size, lanes):
        for number, element in enumerate(_load_square(w, pointer, at, count, size, dtype, lanes)):
            elements[at + number] = element
    flat = [elements[number] for number in range(size)]
    return RegisterMatrix(w, [flat[row * columns : (row + 1) * columns] for row in range(rows)])


def store_registers(w: FunctionWriter, matrix: RegisterMatrix, pointer: str) -> None:
    """Store a matrix in registers as `store_group` does."""
    flat = [w.splat(element, matrix.lanes) for row in matrix.elements for element in row]
    for at, count in _chunks(len(flat), matrix.lanes):
        _store_square(w, flat[at : at + count], pointer, at, len(flat))


def _chunks(size: int, lanes: int) -> list[tuple[int, int]]:
    """Start and number of elements of each square of a matrix of `size` elements."""
    if size < lanes:
        return [(0, size)]
    starts = [*range(0, size - lanes + 1, lanes)]
    if size % lanes:
        starts.append(size - lanes)
    return [(start, lanes) for start in starts]


def _over_chunks(w: FunctionWriter, size: int, lanes: int, chunk: Callable[[Reg | int, int], None]) -> None:
    """Call ``chunk(first element, count)`` for the squares of a matrix, most of them in a loop."""
    if size < lanes:
        chunk(0, size)
        return

    def step(at: Reg, _: list[Reg]) -> Sequence[Reg]:
        chunk(at, lanes)
        return ()

    w.loop(0, size - size % lanes, lanes, step)
    if size % lanes:
        chunk(size - lanes, lanes)


def _times(w: FunctionWriter, index: Reg | int, factor: int) -> Reg | int:
    return w.mul(index, factor) if isinstance(index, Reg) else index * factor


def _fill_vectors(count: int, size: int, lanes: int) -> bool:
    """Whether the matrices of a group, of `size` elements, `count` of them asked for, are read as records."""
    return count == size < lanes and is_record(size)


def _load_square(
    w: FunctionWriter, pointer: str, at: Reg | int, count: int, size: int, dtype: str, lanes: int
) -> list[Reg]:
    """`count` elements from `at` on, of matrices of `size`."""
    first = w.offset(pointer, dtype, at)
    places, asks = _places(w, first, dtype, count, size, lanes), _begins_line(at, size, dtype, lanes)
    if _fill_vectors(count, size, lanes):
        vectors = []
        for place in places:
            _ask_for_next(w, place, dtype, size * lanes)
            vectors.append(w.load(place, dtype, lanes))
        return separated(w, vectors)
    rows = []
    for place in places:
        if asks:
            _ask_for_next(w, place, dtype, size * lanes)
        row = w.load(place, dtype, count)
        if count < lanes:  # of a narrow row, the rest is not looked at
            picks = [min(place, count - 1) for place in range(lanes)]
            row = w.shuffle(row, None, picks) if count > 1 else w.splat(row, lanes)
        rows.append(row)
    return turned(w, rows)[:count]


def _store_square(w: FunctionWriter, elements: list[Reg], pointer: str, at: Reg | int, size: int) -> None:
    """Store `elements`, from the place `at` of each matrix of `size` on."""
    count, lanes = len(elements), elements[0].lanes
    dtype = elements[0].dtype
    first = w.offset(pointer, dtype, at)
    places, asks = _places(w, first, dtype, count, size, lanes), _begins_line(at, size, dtype, lanes)
    if _fill_vectors(count, size, lanes):
        for place, vector in zip(places, joined(w, elements), strict=True):
            _ask_for_next(w, place, dtype, size * lanes, write=True)
            w.store(vector, place)
        return
    rows = turned(w, elements + [elements[-1]] * (lanes - count))
    for place, row in zip(places, rows, strict=True):
        if asks:
            _ask_for_next(w, place, dtype, size * lanes, write=True)
        if count < lanes:
            row = w.shuffle(row, None, range(count)) if count > 1 else w.extract(row, 0)
        w.store(row, place)


def _places(w: FunctionWriter, first: str, dtype: str, count: int, size: int, lanes: int) -> list[str]:
    """Pointers to the rows of a square of `count` elements, or to the vectors that matrices fill."""
    if _fill_vectors(count, size, lanes):
        return [w.offset(first, dtype, vector * lanes) for vector in range(count)]
    return [w.offset(first, dtype, lane * size) for lane in range(lanes)]


def _ask_for_next(w: FunctionWriter, place: str, dtype: str, group: int, *, write: bool = False) -> None:
    """Ask for what lies as far behind `place` as the next `group` of elements does, or a few of them."""
    least = (WRITTEN_AHEAD if write else READ_AHEAD) * 8 // BITS[dtype]
    w.prefetch(w.offset(place, dtype, max(group, least)), write=write)


def _begins_line(at: Reg | int, size: int, dtype: str, lanes: int) -> bool:
    """Whether half of a line or more begins in a square from `at` on, in what no square before has, if a line
    begins where the matrix does."""
    line = machine().line_bytes * 8 // BITS[dtype]
    if isinstance(at, Reg):
        return True
    first = at if at % lanes == 0 else size - size % lanes
    return first % line == 0 and (first == 0 or size - first >= line // 2)


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
Compute: TypeAlias = Callable[[Storage, list[Matrix]], tuple[Sequence[Matrix], Sequence[Reg]]]


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
        self.w = FunctionWriter(declarations)
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
        self.w = w = FunctionWriter(self.declarations)
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

    def _load(self, pointer: str, part: BatchPart) -> Matrix:
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

    def _store(self, matrix: Matrix, pointer: str) -> None:
        if isinstance(matrix, RegisterMatrix):
            store_registers(self.w, matrix, pointer)
        else:
            assert isinstance(matrix, ScratchMatrix)
            store_group(self.w, matrix, pointer)
