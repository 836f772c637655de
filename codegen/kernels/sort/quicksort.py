"""Sorting long lines by partitions of whole vectors, and short ones in registers.

A partition compares a vector of keys with the pivot, packs the lanes that do not exceed it behind those so
far, and the others into a second buffer, which is copied behind them in the end: so it keeps the order of
equal keys, and has no branch that data decide. Segments that fit in registers are sorted there (`rows`).

The pivot is a median of a sample. After more levels than good pivots take, it is the number in the middle
between the smallest and the greatest key, which halves the range of keys: so no input takes long. A segment
without a key above the pivot is split below it instead, and what equals the pivot is in place then.

Source: Bramas, A Novel Hybrid Quicksort Algorithm Vectorized using AVX-512, 2017 (partitions by compression).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...llvm.emitter import BITS, Reg, constant, pointer
from ...llvm.function import Code, Declarations, FunctionCode
from ...llvm.loops import FunctionWriter
from ...llvm.registers import llvm_type, suffix
from ...llvm.target import Target
from ...lowering.kernel import signature
from ...lowering.parallel_for import context_of, lines_of_tasks, run_tasks, task_function
from ...tiers import ScheduleParameters
from .columns import ColumnSorter, batcher
from .rows import Row
from .strategy import SEGMENT_PARTS, SEGMENTS, SortPlan

#: Vectors of a sample, and lanes of the vector of their medians whose median is the pivot.
_SAMPLE: Final = (5, 8)
#: Levels of partitions at medians, for each that partitions at true medians would take.
LEVELS: Final = 3
#: Segments that wait: the shorter one is sorted first, so each is at most half of the one below it.
_WAITING: Final = 64
_ZERO: Final = constant(0, "i64")
#: First parameters of parts: the result and the workspace, the task and the line.
_BUFFERS: Final = (pointer("%b1"), pointer("%b2"))
_LINE: Final = (Reg("%task", "i64"), Reg("%line", "i64"))


class QuicksortWriter:
    """Writes the kernel. Its parts are functions over buffers of rows."""

    def __init__(
        self, plan: SortPlan, target: Target, parameters: ScheduleParameters, declarations: Declarations
    ) -> None:
        self.plan, self.declarations = plan, declarations
        self.rows = plan.rows
        #: Rows of a block in registers, and lanes of a row.
        self.block = self.rows.block(target.vector_bits)
        self.shortened = self.block > parameters.network_rows
        self.block = min(self.block, parameters.network_rows)
        self.lanes = min(target.lanes(self.rows.dtype), self.block)
        self.w, self.name = FunctionWriter(declarations), ""
        #: Pointers to the parts of rows, to room beside them, and to the line's part of the result.
        self._at_rows: list[str] = []
        self._at_spare: list[str] = []
        self._at_result = ""

    @property
    def capacity(self) -> int:
        """Elements of a block."""
        return self.block * self.lanes

    def write(self, name: str) -> Code:
        """The code of ``@name(ptr %b0, ptr %b1, ptr %b2, i64 %begin, i64 %end)`` and of its parts."""
        self.name, plan = name, self.plan
        bounds = [("begin", "i64"), ("end", "i64")]
        parts: Code = [self._function("block", bounds, self._block)]
        if plan.extent > self.capacity:
            numbers = [*bounds, ("pivot", self.rows.dtype)]
            parts.append(self._function("split", numbers, self._split, "i64"))
            parts.append(self._function("sort", bounds, self._sort))
        if plan.chunked:
            parts.append(self._function("cut", [], self._cut, "i64"))
            parts += self._segment_task()
        self.w = w = FunctionWriter(self.declarations)
        if plan.chunked:
            context_of(w, 3)
        lines_of_tasks(w, plan.lines, plan.tasks, self._line)
        w.ret()
        return [*parts, w.function(signature(name, 3), "nounwind")]

    def _function(
        self, part: str, numbers: Sequence[tuple[str, str]], body: Callable[[], Reg | None],
        result: str = "void",
    ) -> FunctionCode:  # fmt: skip
        """The function of a part, over numbers by these names, and the buffers of a line in a task."""
        self.w = w = FunctionWriter(self.declarations)
        self._open(*_LINE)
        w.ret(body())
        named = [*_LINE, *[Reg(f"%{text}", dtype) for text, dtype in numbers]]
        listed = ", ".join(["ptr %b1", "ptr %b2", *[f"{llvm_type(x.dtype, 1)} {x.text}" for x in named]])
        return w.function(f"internal {result} @{self.name}_{part}({listed})", "nounwind")

    def _open(self, task: Reg, line: Reg) -> None:
        """Find the buffers of a line that a task sorts."""
        w, plan = self.w, self.plan
        region = w.offset("%b2", "u8", w.mul(task, plan.region))
        streams = [w.offset(region, "u8", offset) for offset in plan.streams]
        parts = len(self.rows.dtypes)
        self._at_rows, self._at_spare = streams[:parts], streams[parts:]
        self._at_result = w.offset("%b1", "i64" if plan.places else plan.dtype, w.mul(line, plan.extent))

    # -- lines ------------------------------------------------------------------------------------

    def _line(self, task: Reg, line: Reg) -> Sequence[Reg]:
        """Keys of a line's elements, and these sorted."""
        w, plan = self.w, self.plan
        self._open(task, line)
        start, whole = w.mul(line, plan.extent), constant(plan.extent, "i64")

        def element(at: Reg, mask: Reg | None) -> None:
            x = w.load(w.offset("%b0", plan.dtype, w.add(start, at)), plan.dtype, self.lanes, mask)
            places = w.add(w.splat(w.cast(at, "u32"), self.lanes), w.ramp(self.lanes, "u32"))
            # behind the line there is room for the rest of a vector
            self._keep(self._at_rows, at, self.rows.row(w, self.rows.keys(w, x), places), None)

        self._vectors(_ZERO, whole, element)
        if plan.chunked:
            w.store(line, w.offset("%b2", "i64", 0))
            count = w.result_of(f"{self.name}_cut", "i64", 1, *_BUFFERS, task, line)
            run_tasks(w, f"{self.name}_segment", count)
        else:
            part = "sort" if plan.extent > self.capacity else "block"
            w.run(f"{self.name}_{part}", *_BUFFERS, task, line, _ZERO, whole)
        return ()

    def _segment_task(self) -> Code:
        """The task that sorts the segments of a range."""
        self.w = w = FunctionWriter(self.declarations)
        line = w.load("%b2", "i64")

        def segment(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = w.offset(self._segment_list(), "i64", w.mul(index, 2))
            low, high = [w.load(w.offset(place, "i64", i), "i64") for i in range(2)]
            w.run(f"{self.name}_sort", *_BUFFERS, _ZERO, line, low, high)
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, segment)
        w.ret()
        name = f"{self.name}_segment"
        return [w.function(signature(name, 3), "nounwind"), task_function(name, 3)]

    # -- segments ---------------------------------------------------------------------------------

    def _segment_list(self) -> str:
        """Pointer to the list of the segments' bounds."""
        return self.w.offset("%b2", "u8", self.plan.segments)

    def _sort(self) -> None:
        """Sort a segment."""
        low, high = self._bounds()
        self._segments(low, high, self.capacity, lambda low, high: self._run("block", low, high))

    def _cut(self) -> Reg:
        """Cut the line into segments for tasks, which are listed; how many. What the list has no room for is
        sorted at once."""
        w, plan = self.w, self.plan
        count = w.slot("i64", 1)
        w.store(_ZERO, count)

        def keep(low: Reg, high: Reg) -> None:
            number = w.load(count, "i64")

            def listed() -> None:
                place = w.offset(self._segment_list(), "i64", w.mul(number, 2))
                w.store(low, place)
                w.store(high, w.offset(place, "i64", 1))
                w.store(w.add(number, 1), count)

            w.one_of(w.lt(number, SEGMENTS), [listed, lambda: self._run("sort", low, high)])

        self._segments(_ZERO, constant(plan.extent, "i64"), plan.extent // SEGMENT_PARTS, keep)
        return w.load(count, "i64")

    def _segments(self, first: Reg, stop: Reg, size: int, leaf: Callable[[Reg, Reg], None]) -> None:
        """Split what lies between `first` and `stop` into segments of at most `size` elements, each of which
        is given to `leaf`."""
        w = self.w
        stack = w.slot("i64", 3 * _WAITING)
        levels = constant(LEVELS * self.plan.extent.bit_length(), "i64")
        region = w.begin_while([first, stop, levels, _ZERO])
        low, high, left, waiting = region.carried

        def last() -> Sequence[Reg]:
            leaf(low, high)
            more = w.gt(waiting, 0)
            before = w.select(more, w.sub(waiting, 1), 0)
            place = w.offset(stack, "i64", w.mul(before, 3))
            return [*[w.load(w.offset(place, "i64", i), "i64") for i in range(3)], before, more]

        def branch() -> Sequence[Reg]:
            (pivot,) = w.one_of(
                w.gt(left, 0), [lambda: [self._median(low, high)], lambda: [self._middle(low, high)]]
            )
            middle, levels = self._split_at(low, high, pivot), w.sub(left, 1)

            def below() -> Sequence[Reg]:
                return [low, self._below(low, high, pivot), levels, waiting, constant(True, "bool")]

            def both() -> Sequence[Reg]:
                # go on with the shorter one
                shorter = w.lt(w.sub(middle, low), w.sub(high, middle))
                place = w.offset(stack, "i64", w.mul(waiting, 3))
                for i, value in enumerate(
                    (w.select(shorter, middle, low), w.select(shorter, high, middle), levels)
                ):
                    w.store(value, w.offset(place, "i64", i))
                now = [w.select(shorter, low, middle), w.select(shorter, middle, high)]
                return [*now, levels, w.add(waiting, 1), constant(True, "bool")]

            return w.one_of(w.eq(middle, high), [below, both])

        *following, more = w.one_of(w.le(w.sub(high, low), size), [last, branch])
        w.end_while(region, following, more)

    def _split_at(self, low: Reg, high: Reg, pivot: Reg) -> Reg:
        return self.w.result_of(f"{self.name}_split", "i64", 1, *_BUFFERS, *_LINE, low, high, pivot)

    def _run(self, part: str, low: Reg, high: Reg) -> None:
        self.w.run(f"{self.name}_{part}", *_BUFFERS, *_LINE, low, high)

    def _bounds(self) -> tuple[Reg, Reg]:
        """Begin and end of a part's segment."""
        return Reg("%begin", "i64"), Reg("%end", "i64")

    def _below(self, low: Reg, high: Reg, pivot: Reg) -> Reg:
        """Put what equals the pivot, the greatest key, in its place; where that begins."""
        w = self.w
        least = -(1 << (BITS[self.rows.dtype] - 1))
        (middle,) = w.when(w.ne(pivot, least), lambda: [self._split_at(low, high, w.sub(pivot, 1))], [low])

        def store(at: Reg, mask: Reg | None) -> None:
            self._put(at, self._take(at, mask), mask)

        self._vectors(middle, high, store)
        return middle

    # -- pivots -----------------------------------------------------------------------------------

    def _median(self, low: Reg, high: Reg) -> Reg:
        """A key with about as many below it as above it."""
        w, (vectors, lanes) = self.w, _SAMPLE
        lanes = min(lanes, self.lanes)
        room = w.sub(w.sub(high, low), lanes)
        sample = []
        for number in range(vectors):
            at = w.add(low, w.lshr(w.mul(room, number), 2))
            sample.append(w.load(w.offset(self._at_rows[0], self.rows.dtype, at), self.rows.dtype, lanes))
        medians = self._network(sample)[vectors // 2]
        return self._network([w.extract(medians, lane) for lane in range(lanes)])[lanes // 2]

    def _network(self, keys: list[Reg]) -> list[Reg]:
        """`keys` in order."""
        keys = list(keys)
        for i, j in batcher(len(keys)):
            keys[i], keys[j] = self.w.min(keys[i], keys[j]), self.w.max(keys[i], keys[j])
        return keys

    def _middle(self, low: Reg, high: Reg) -> Reg:
        """The number between the smallest key and the greatest."""
        w, dtype = self.w, self.rows.dtype
        last = w.sub(high, self.lanes)

        def fold(index: Reg, bounds: list[Reg]) -> Sequence[Reg]:
            keys = w.load(w.offset(self._at_rows[0], dtype, w.min(index, last)), dtype, self.lanes)
            return [w.min(bounds[0], keys), w.max(bounds[1], keys)]

        first = w.load(w.offset(self._at_rows[0], dtype, low), dtype, self.lanes)
        bounds = w.loop(low, high, self.lanes, fold, [first, first], nonempty=True)
        least, most = w.fold_lanes(bounds[0], w.min), w.fold_lanes(bounds[1], w.max)
        return w.add(w.and_(least, most), w.shr(w.xor(least, most), 1))

    # -- partitions -------------------------------------------------------------------------------

    def _split(self) -> Reg:
        """Rows of keys up to the pivot before all others, each in their order; where the others begin."""
        w, lanes = self.w, self.lanes
        (low, high), pivot = self._bounds(), Reg("%pivot", self.rows.dtype)
        full = w.add(low, w.and_(w.sub(high, low), -lanes))

        def vector(at: Reg, middle: Reg, mask: Reg | None) -> Reg:
            row = self._take(at, mask)
            goes_low = w.le(row[0], w.splat(pivot, lanes))
            goes_high = w.not_(goes_low)
            if mask is not None:
                goes_low, goes_high = w.and_(goes_low, mask), w.and_(goes_high, mask)
            count = self._count(goes_low)
            # of neighbouring segments, others may be at work on
            masks = (
                [None] * 2
                if mask is None
                else [self._first(count), self._first(w.sub(w.sub(high, at), count))]
            )
            self._keep(self._at_rows, middle, [self._packed(x, goes_low) for x in row], masks[0])
            beside = w.add(low, w.sub(at, middle))
            self._keep(self._at_spare, beside, [self._packed(x, goes_high) for x in row], masks[1])
            return w.add(middle, count)

        (middle,) = w.loop(low, full, lanes, lambda at, state: [vector(at, state[0], None)], [low])
        tail = self._first(w.sub(high, full))
        (middle,) = w.when(w.lt(full, high), lambda: [vector(full, middle, tail)], [middle])

        def back(at: Reg, mask: Reg | None) -> None:
            self._keep(
                self._at_rows, at, self._take(w.add(low, w.sub(at, middle)), mask, self._at_spare), mask
            )

        self._vectors(middle, high, back)
        return middle

    def _packed(self, x: Reg, mask: Reg) -> Reg:
        """The lanes of `x` in `mask`, one behind the other."""
        name = f"llvm.experimental.vector.compress.{suffix(x.dtype, x.lanes)}"
        return self.w.call(name, x.dtype, x.lanes, x, mask, Reg("poison", x.dtype, x.lanes))

    def _count(self, mask: Reg) -> Reg:
        """Number of lanes in `mask`."""
        w = self.w
        return w.call("llvm.ctpop.i64", "i64", 1, w.mask_bits(mask))

    # -- blocks -----------------------------------------------------------------------------------

    def _block(self) -> None:
        """Sort a segment in registers, from memory to the result."""
        w, lanes = self.w, self.lanes
        low, high = self._bounds()
        count = w.sub(high, low)
        masks = [self._first(w.sub(count, number * lanes)) for number in range(self.block)]
        block = []
        for number, mask in enumerate(masks):
            row = self._take(w.add(low, number * lanes), mask)
            behind = self.rows.greatest(constant(-1, "u32", lanes))
            block.append([w.select(mask, x, y) for x, y in zip(row, behind, strict=True)])
        for number, row in enumerate(ColumnSorter(w, self.rows, self.block, lanes).sorted(block)):
            self._put(w.add(low, number * lanes), row, masks[number])

    # -- memory -----------------------------------------------------------------------------------

    def _vectors(self, first: Reg, stop: Reg, body: Callable[[Reg, Reg | None], None]) -> None:
        """Call ``body(place, mask)`` for vectors of a range; what is left at its end has a mask."""
        w = self.w
        full = w.add(first, w.and_(w.sub(stop, first), -self.lanes))

        def each(at: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(at, None)
            return ()

        def rest() -> None:
            body(full, self._first(w.sub(stop, full)))

        w.loop(first, full, self.lanes, each)
        w.when(w.lt(full, stop), rest)

    def _first(self, count: Reg) -> Reg:
        """The mask of the first `count` lanes; of none where it is negative, of all where it is more."""
        w = self.w
        dtype = self.rows.dtype
        return w.lt(w.ramp(self.lanes, dtype), w.splat(w.cast(count, dtype), self.lanes))

    def _take(self, at: Reg, mask: Reg | None, buffers: Sequence[str] | None = None) -> Row:
        """The row at a place in `buffers`, those of rows where there are none."""
        w = self.w
        return [
            w.load(w.offset(text, dtype, at), dtype, self.lanes, mask)
            for text, dtype in zip(buffers or self._at_rows, self.rows.dtypes, strict=True)
        ]

    def _keep(self, buffers: Sequence[str], at: Reg, row: Row, mask: Reg | None) -> None:
        for x, text in zip(row, buffers, strict=True):
            self.w.store(x, self.w.offset(text, x.dtype, at), mask)

    def _put(self, at: Reg, row: Row, mask: Reg | None) -> None:
        """Store a row as the result's elements from a place on."""
        w = self.w
        result = self.rows.result(w, self.rows.content(w, row))
        w.store(result, w.offset(self._at_result, result.dtype, at), mask)
