"""Cross-row reductions: row nests whose rows are folded together, too, as for gradients of a scale, a shift
or a bias, and sums of losses.

Rows are cut into chunks, which are the tasks. Each chunk folds its rows into memory of its own, which stays
in the first cache; that is folded in the chunks' order, so that results do not depend on the number of
threads. Little work is one chunk, which folds into the results. Sums of many rows' numbers, as a loss is, are
added up with their errors (`totals.py`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from ....base.machine import machine
from ....ir.graph import Instruction, Value
from ....ir.types import Shape, TensorType, remove_axes
from ...llvm.emitter import Reg, constant, pointer
from ...llvm.function import Code, FunctionCode
from ...lowering.kernel import signature
from ...lowering.loop_nest import Across, Memory, Nest, Write
from ...lowering.parallel_for import context_of, fold_parts, part_of, run_tasks, task_function
from ...maths import MathsWriter
from ...maths.support import add_compensated, compensated
from ..row_blocks import rows_at_a_time
from ..writing.element import Places
from ..writing.nest_writer import NestWriter
from ..writing.storing import folded
from .totals import LONG, is_float_sum


def fold_of_rows(reduction: Instruction, domain: Shape, axes: tuple[int, ...]) -> Instruction | None:
    """The reduction of each row that comes before `reduction`; None where that folds no row."""
    (operand,) = reduction.operands
    wide = {axis for axis in axes if domain[axis] != 1}
    if operand.shape != domain or not wide <= set(reduction.attrs["axes"]):
        return None
    row = Value(TensorType(operand.dtype, remove_axes(domain, axes)))
    return reduction.replace(operands=(operand,), attrs={"axes": axes}, results=(row,))


def across_of(nest: Nest, buffers: int) -> None:
    """Decide on `nest`'s chunks; where there are several, its folds go to the workspace, a buffer behind the
    `buffers` that it has."""
    extent, most = nest.sizes[0], 1
    results = tuple(write.memory.buffer or 0 for write in nest.writes if write.fold is not None)
    if nest.cycles > machine().parallel_cycles:
        most = max(1, min(machine().chunks, int(nest.cycles / machine().task_cycles), extent))
    size = -(-extent // most)
    if nest.parallel == 1:
        block = rows_at_a_time(nest) if nest.row_lanes else nest.lanes
        size = -(-size // block) * block
    chunks, nbytes = -(-extent // size), 0
    moved: list[Write] = []
    errors: list[Memory | None] = []
    for write in nest.writes:
        if write.fold is not None:
            memory, pitch, long = write.memory, _pitch(write), _is_long(write, nest, size)
            starts = [(nbytes + part * chunks * pitch) // _result(write).dtype.itemsize for part in range(2)]
            own, error = (Memory(buffers, memory.dtype, memory.strides, start) for start in starts)
            errors.append(error if long else None)
            if chunks > 1 or long:
                write = Write(write.source, own, write.row_level, write.stage, write.fold)
                nbytes += chunks * pitch * (1 + long)
        moved.append(write)
    nest.writes[:] = moved
    nest.across = Across(chunks, size, nbytes, results, tuple(errors))


def _is_long(write: Write, nest: Nest, rows: int) -> bool:
    """Whether `write` adds up what rows were folded to, of so many that rounding shows (`totals`). What whole
    rows are added to, element by element, is added up one row after the other, as NumPy does, unless rows are
    read across memory: there NumPy adds along it, in pairs."""
    assert write.fold is not None
    sizes = (rows, *nest.sizes[1 : nest.parallel])
    terms = math.prod(
        size for size, by in zip(sizes, write.memory.strides[: nest.parallel], strict=True) if by == 0
    )
    return (write.row_level or nest.reads_across) and terms > LONG and is_float_sum(write.fold)


def _pitch(write: Write) -> int:
    """Bytes from one chunk's accumulators to the next one's."""
    return -(-_result(write).type.nbytes // machine().line_bytes) * machine().line_bytes


def _result(write: Write) -> Value:
    assert write.fold is not None
    return write.fold.result


class AcrossWriter(NestWriter):
    """Writes the functions of one nest that folds across rows."""

    def code(self, buffers: int) -> Code:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)`` and of the functions that it calls."""
        nest = self.nest
        across = nest.across
        assert across is not None
        self.chunks, self.rows = across.chunks, across.size
        #: Writes that fold, by their results' buffers.
        self.folds = dict(
            zip(across.results, [write for write in nest.writes if write.fold is not None], strict=True)
        )
        #: Memories where the errors of long sums are added up, by their totals.
        self.errors = {
            write.memory: error
            for write, error in zip(self.folds.values(), across.errors, strict=True)
            if error is not None
        }
        if self.chunks == 1:
            return self.write(buffers + (across.nbytes > 0))
        pointers = [f"%b{i}" for i in range(buffers + 1)]
        rows = self.write(len(pointers), f"{nest.name}_p")
        combine = self._combine(f"{nest.name}_c", buffers)
        self.w = w = MathsWriter(self.w.declarations)
        context = context_of(w, len(pointers))
        run_tasks(w, f"{nest.name}_p", self.chunks, context=context)
        w.run(f"{nest.name}_c", *map(pointer, pointers), constant(0, "i64"), constant(1, "i64"))
        w.ret()
        whole = w.function(signature(nest.name, len(pointers)), "nounwind")
        return [*rows, task_function(f"{nest.name}_p", len(pointers)), combine, whole]

    def _tasks(self, places: Places, streaming: frozenset[Memory] = frozenset()) -> None:
        """The rows of chunks ``%begin`` to ``%end``."""
        self.streaming = streaming
        w, extent = self.w, self.nest.sizes[0]

        def chunk(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            at = dict(places)
            for write in self.folds.values():
                for memory in self._parts(write):
                    at[memory] = place = self._of_chunk(write, memory, places, index)
                    self._begin(write, place)
            self._outer(0, at, *part_of(w, index, self.rows, extent))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, chunk, nonempty=True)
        if self.chunks == 1:
            self._totals(places)

    def _vector_loop(self, dim: int, places: Places, begin: Reg, end: Reg) -> None:
        """The rows of one chunk, a lane for each: whole vectors, then in the last chunk the rest."""
        if dim != 0:
            super()._vector_loop(dim, places, begin, end)
            return
        w, lanes, extent = self.w, self.nest.lanes, self.nest.sizes[0]
        whole = extent // lanes * lanes

        def rows(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.point(self.advance(places, dim, index), 1, None)
            return ()

        w.loop(begin, w.min(end, constant(whole, "i64")), lanes, rows)
        if whole < extent:
            w.when(w.ge(end, extent), lambda: self._rest(dim, places, whole))

    def _accesses(self) -> list[Memory]:
        return [*super()._accesses(), *self.errors.values()]

    def _parts(self, write: Write) -> list[Memory]:
        """Accumulators of one chunk: for a long sum its total and its error."""
        error = self.errors.get(write.memory)
        return [write.memory] if error is None else [write.memory, error]

    def fold_into(
        self, write: Write, value: Reg, load: Callable[[Memory], Reg], store: Callable[[Reg, Memory], None]
    ) -> None:
        if write.memory not in self.errors:
            super().fold_into(write, value, load, store)
            return
        parts = self._parts(write)
        total, error = map(load, parts)
        sums = add_compensated(self.w, total, error, self.w.splat(value, total.lanes))
        for part, place in zip(sums, parts, strict=True):
            store(part, place)

    def _of_chunk(self, write: Write, memory: Memory, places: Places, chunk: Reg) -> str:
        """Pointer to `memory` of `write` for one chunk."""
        place = places[memory]
        assert isinstance(place, str)
        if self.chunks == 1:
            return place
        apart = _pitch(write) // _result(write).dtype.itemsize
        return self.w.offset(place, memory.dtype, self.w.mul(chunk, apart))

    def _begin(self, write: Write, place: str) -> None:
        """Initialize an accumulator to the identity of its fold."""
        w, dtype = self.w, write.memory.dtype
        assert write.fold is not None
        record = write.fold.op.reduction
        assert record is not None
        identity = record.identity(dtype)
        self._each(
            _result(write).type.size,
            lambda index, lanes: w.store(constant(identity, dtype, lanes), w.offset(place, dtype, index)),
        )

    def _each(self, count: int, body: Callable[[Reg, int], None]) -> None:
        """Call ``body(index, lanes)`` for `count` elements that lie together: vectors, then single ones."""
        lanes = self.nest.lanes
        whole = count // lanes * lanes
        for first, stop, step in ((0, whole, lanes), (whole, count, 1)):

            def one(index: Reg, _: list[Reg], step: int = step) -> Sequence[Reg]:
                body(index, step)
                return ()

            self.w.loop(first, stop, step, one)

    def _combine(self, name: str, buffers: int) -> FunctionCode:
        """Function that folds the chunks' accumulators, in their order, into the results."""
        self.w = MathsWriter(self.w.declarations)
        self._totals(self._bases())
        self.w.ret()
        return self.w.function(signature(name, buffers + 1), "nounwind")

    def _totals(self, places: Places) -> None:
        """Fold the chunks' accumulators into the results; of one chunk, only those that it did not fold into
        directly."""
        for result, write in self.folds.items():
            if self.chunks > 1 or write.memory in self.errors:
                body = functools.partial(self._total, write, places, f"%b{result}")
                self._each(_result(write).type.size, body)

    def _total(self, write: Write, places: Places, result: str, index: Reg, lanes: int) -> None:
        """Some elements of one result, of all chunks."""
        w, dtype, reduction = self.w, write.memory.dtype, write.fold
        assert reduction is not None

        def of_chunk(chunk: Reg) -> Reg:
            starts = [self._of_chunk(write, memory, places, chunk) for memory in self._parts(write)]
            parts = [w.load(w.offset(start, dtype, index), dtype, lanes) for start in starts]
            return compensated(w, *parts) if len(parts) > 1 else parts[0]

        first = of_chunk(constant(0, "i64"))
        (total,) = fold_parts(
            w,
            self.chunks,
            [first],
            lambda chunk: [of_chunk(chunk)],
            lambda _, *both: folded(w, reduction, *both),
        )
        w.store(total, w.offset(result, dtype, index))
