"""Running folds along one axis.

Along the last axis a vector is folded in itself, in steps that double (Sklansky 1960), and then with what
came before it: sums are grouped in that fixed way. Where there are few lines, each is cut into chunks, and
these are taken in rounds that fit the cache: a first task per chunk finds what it folds to, a second one
writes its running folds behind what the chunks before it fold to. A thread that is alone, or one of few,
does both in one pass, chunk by chunk, to the same bits. Large results go past the cache (`streaming.py`).

Along other axes a vector of totals is folded with some rows of memory in turn, which are written as it goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ....base.machine import machine
from ....ir.dtypes import SHORT_NAME, is_real_floating
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ....ir.types import Shape, TensorType
from ...interface import THREADS
from ...llvm.emitter import Reg, constant, pointer
from ...llvm.function import Code, Declarations
from ...llvm.loops import Bound, FunctionWriter
from ...llvm.target import Target
from ...loops.lines import ask_for
from ...lowering.kernel import Kernel, empty_kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from ...lowering.parallel_for import context_of, part_of, run_tasks, task_function
from ...maths import MathsWriter
from ...nest.streaming import asked_bytes, streamed_bytes

#: Lanes of vectors that are folded in themselves, at most. LLVM 20 cannot shuffle two vectors of 64 bytes
#: without AVX-512 VBMI: it ends the process.
_MAX_LANES: Final = 32
#: Bytes of the workspace before the places of chunks.
_HEAD: Final = 64
#: Threads from which on two passes are shared. Measured on Zen 4, one pass on one thread and two passes on
#: two: 0.30 and 0.29 ms for a million f64, 1.5 and 2.4 for four, whose memory one thread can keep busy.
_SHARED: Final = 3
#: Number of lines below which lines are few.
_FEW_LINES: Final = 4
#: Rows of columns that are walked with their totals in registers, and vectors side by side.
_ROWS: Final = 8
_COPIES: Final = 4
#: The first task, and the one behind the last.
_TASKS: Final = Reg("%begin", "i64"), Reg("%end", "i64")
#: Columns in one task: their row is some cache lines long, so that the next ones are fetched ahead.
BLOCK_COLUMNS: Final = 512


def round_chunks() -> int:
    """Chunks in one round, and so tasks: what they read stays in the last-level cache."""
    return machine().chunks


def chunk_bytes() -> int:
    """Bytes of a chunk of a line: it stays in the second-level cache until it is read again."""
    return machine().l2_bytes // 8


def cumulative_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """Running folds along an axis."""
    target, declarations = context.target, context.declarations
    (x,) = instruction.operands
    if x.type.size == 0:
        return empty_kernel(name, 2, f"cumulative {name}: nothing")
    writer = _Writer(instruction, target, declarations)
    cycles = x.type.size * (1.0 if writer.lanes > 1 else 4.0) + x.type.nbytes / 4
    what = f"cumulative {name}: {instruction.op.name} of {x.type} along axis {instruction.attrs['axis']}"
    if writer.chunks > 1:
        code = _ChunkWriter(instruction, target, declarations).write(name)
        return Kernel(name, code, f"{what}, in {writer.chunks} chunks", cycles=cycles, pooled=True)
    return Kernel(name, writer.write(name), what, tasks=writer.lines.tasks, cycles=cycles)


def cumulative_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that the kernel works in."""
    x = instruction.operands[0].type
    _, chunks = _cut(x, Lines(x.shape, instruction.attrs["axis"], context.target, SHORT_NAME[x.dtype]))
    return _HEAD + (round_chunks() + 1) * 8 if chunks > 1 else 0


def _cut(x: TensorType, lines: Lines) -> tuple[int, int]:
    """Elements of a chunk of a contiguous line, and how many there are: 1 where lines are not cut."""
    chunk = chunk_bytes() // x.dtype.itemsize
    few = lines.contiguous and 0 < lines.outer < _FEW_LINES
    return chunk, max(1, -(-lines.extent // chunk)) if few else 1


class Lines:
    """The lines of an array of `shape` along `axis`, elements of `dtype` that are the axis's stride apart.

    Where the axis is the last, a line is contiguous and lanes run along it; otherwise lanes run across
    neighbouring lines (*columns*), and a task is a block of them.
    """

    def __init__(self, shape: Shape, axis: int, target: Target, dtype: str) -> None:
        self.outer = math.prod(shape[:axis])
        self.extent = shape[axis]
        self.inner = math.prod(shape[axis + 1 :])
        #: Whether lines are contiguous.
        self.contiguous = self.inner == 1
        self.blocks = max(1, -(-self.inner // BLOCK_COLUMNS))
        #: Elements of a vector: no more than there are along the lanes.
        self.lanes = target.lanes(dtype)
        while self.lanes > max(self.extent if self.contiguous else self.inner, 1):
            self.lanes //= 2

    @property
    def tasks(self) -> int:
        """Lines, or blocks of columns."""
        return 0 if self.inner * self.extent == 0 else self.outer * self.blocks

    def columns(self, w: FunctionWriter, body: Callable[[Reg, Reg, Reg], None]) -> None:
        """Call ``body(outer, first, stop)`` for each task: columns `first` to `stop` of one outer index."""

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            outer = w.integer("udiv", index, self.blocks)
            block = w.sub(index, w.mul(outer, self.blocks))
            body(outer, *part_of(w, block, BLOCK_COLUMNS, self.inner))
            return ()

        w.loop(*_TASKS, 1, task)

    def across(
        self, w: FunctionWriter, first: Bound, stop: Bound, copies: int, body: Callable[[Reg, int, int], None]
    ) -> None:
        """Call ``body(column, copies, lanes)`` over columns: vectors side by side, then single ones, then
        elements."""

        def group(copies: int, lanes: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def run(column: Reg, _: list[Reg]) -> Sequence[Reg]:
                body(column, copies, lanes)
                return ()

            return run

        for count, lanes in dict.fromkeys(((copies, self.lanes), (1, self.lanes), (1, 1))):
            size = count * lanes
            done = w.add(first, w.and_(w.sub(stop, first), -size)) if size > 1 else stop
            w.loop(first, done, size, group(count, lanes))
            first = done


class _Writer:
    """Writes the kernel whose tasks are lines, or blocks of columns."""

    def __init__(self, instruction: Instruction, target: Target, declarations: Declarations) -> None:
        (x,) = instruction.operands
        self.w = MathsWriter(declarations)
        self.declarations = declarations
        self.dtype = SHORT_NAME[x.dtype]
        self.lines = Lines(x.shape, instruction.attrs["axis"], target, self.dtype)
        self.lanes = min(self.lines.lanes, _MAX_LANES)
        self.reverse: bool = instruction.attrs["reverse"]
        fold = instruction.op.reduction
        assert fold is not None
        self.fold = fold
        self.chunk, self.chunks = _cut(x.type, self.lines)
        #: Whether whole vectors may be stored past the cache, and whether those that are being written are.
        self.large = (
            self.lines.contiguous
            and not target.asks_for_lines
            and x.type.nbytes >= streamed_bytes()
            and self.lanes > 1
            and self.dtype != "bool"
            and (self.lines.extent % self.lanes == 0 or (self.lines.outer == 1 and not self.reverse))
        )
        self.past_cache = False
        #: Whether the lines that are written are asked for before.
        self.asks = target.asks_for_lines and not self.reverse and x.type.nbytes >= asked_bytes()

    def write(self, name: str) -> Code:
        """The code of ``@name(ptr %b0, ptr %b1, i64 %begin, i64 %end)``."""
        if self.lines.contiguous:
            self._streaming(lambda: self.w.loop(*_TASKS, 1, self._row))
        else:
            self.lines.columns(self.w, self._columns)
        self.w.ret()
        return [self.w.function(signature(name, 2), "nounwind")]

    def _identity(self, lanes: int) -> Reg:
        return constant(self.fold.identity(self.dtype), self.dtype, lanes)

    def combine(self, before: Reg, value: Reg) -> Reg:
        """`value` folded into what came before it."""
        result: Reg = self.fold.combine(self.w, before, value)
        return result

    def _streaming(self, body: Callable[[], Sequence[Reg] | None]) -> None:
        """Write `body`, twice where it may store past the cache: if the result is aligned it does."""
        w = self.w
        if not self.large:
            body()
            return
        aligned = w.aligned(["%b1"])

        def past() -> None:
            self.past_cache = True
            body()
            self.past_cache = False
            w.fence()

        w.when(aligned, past)
        w.when(w.not_(aligned), body)

    # -- contiguous lines -------------------------------------------------------------------------

    def _row(self, line: Reg, _: list[Reg]) -> Sequence[Reg]:
        extent = self.lines.extent
        self.stretch(self.w.mul(line, extent), extent, writes=True)
        return ()

    def stretch(self, start: Reg, count: int, *, writes: bool, ahead: Reg | None = None) -> Reg:
        """Fold `count` elements from `start` on; what all fold to (a scalar). What is written is folded after
        `ahead`, a scalar, too."""
        w, lanes = self.w, self.lanes
        whole = count // lanes
        rest = count - whole * lanes
        # backwards, what does not fill a vector is at the beginning and comes last
        first = rest if self.reverse else 0

        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(whole - 1, index) if self.reverse else index
            at = w.add(start, w.add(w.mul(position, lanes), first))
            return [self._vector(at, state[0], lanes, writes, ahead)]

        def single(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(rest - 1, index) if self.reverse else w.add(index, whole * lanes)
            return [self._vector(w.add(start, position), state[0], 1, writes, ahead)]

        (before,) = w.loop(0, whole, 1, step, [self._identity(lanes)])
        (last,) = w.loop(0, rest, 1, single, [w.extract(before, 0)])
        return last

    def _vector(self, at: Reg, before: Reg, lanes: int, writes: bool, ahead: Reg | None) -> Reg:
        """Fold one vector at element `at`; `before` and the result are splats of the fold so far."""
        w = self.w
        value = w.load(w.offset("%b0", self.dtype, at), self.dtype, lanes)
        step = 1
        while step < lanes:
            value = self.combine(self._shifted(value, step), value)
            step *= 2
        # the chain from vector to vector is this fold of splats alone
        total = value
        if lanes > 1:
            total = w.shuffle(value, None, [0 if self.reverse else lanes - 1] * lanes)
        if writes:
            value = self.combine(before, value)
            if ahead is not None:
                value = self.combine(w.splat(ahead, lanes), value)
            place = w.offset("%b1", self.dtype, at)
            if self.asks and lanes > 1:
                ask_for(w, self.dtype, place, 0, write=True)
            if self.past_cache and lanes > 1:
                w.store_past_cache(value, place)
            else:
                w.store(value, place)
        return self.combine(before, total)

    def _shifted(self, value: Reg, step: int) -> Reg:
        """Last lane of the group before, in each second group of `step` lanes; elsewhere the identity.

        (Lanes moved by `step` would do as well, but expand instructions, which LLVM makes of that, are slow.)
        """
        lanes = value.lanes
        picks = []
        for lane in range(lanes):
            place = lanes - 1 - lane if self.reverse else lane
            group = place // step
            source = group * step - 1
            source = lanes - 1 - source if self.reverse else source
            picks.append(source if group % 2 else lanes + lane)
        return self.w.shuffle(value, self._identity(lanes), picks)

    # -- columns ----------------------------------------------------------------------------------

    def _columns(self, outer: Reg, first: Reg, stop: Reg) -> None:
        w, lines = self.w, self.lines
        base = w.mul(outer, lines.extent * lines.inner)
        origin = (lines.extent - 1) * lines.inner if self.reverse else 0
        start = w.add(base, origin)
        stride = -lines.inner if self.reverse else lines.inner

        def rows(count: int, row: Reg, *, begins: bool) -> Sequence[Reg]:
            here = w.add(start, w.mul(row, stride))
            lines.across(
                w,
                first,
                stop,
                1 if count > 1 else _COPIES,
                lambda column, copies, lanes: self._block(
                    w.add(here, column), stride, count, copies, lanes, begins
                ),
            )
            return ()

        count = min(_ROWS, lines.extent)
        rows(count, constant(0, "i64"), begins=True)
        whole = lines.extent // count * count
        w.loop(count, whole, count, lambda row, _: rows(count, row, begins=False))
        w.loop(whole, lines.extent, 1, lambda row, _: rows(1, row, begins=False))

    def _block(self, at: Reg, stride: int, rows: int, copies: int, lanes: int, begins: bool) -> None:
        """Vectors of columns at element `at`, down some rows."""
        w = self.w
        for copy in range(copies):
            place = w.add(at, copy * lanes)
            total = self._identity(lanes)
            if not begins:
                total = w.load(w.offset("%b1", self.dtype, w.sub(place, stride)), self.dtype, lanes)
            for row in range(rows):
                here = w.add(place, row * stride)
                value = w.load(w.offset("%b0", self.dtype, here), self.dtype, lanes)
                total = self.combine(total, value)
                w.store(total, w.offset("%b1", self.dtype, here))


class _ChunkWriter(_Writer):
    """Writes the kernel of a few long lines: each in rounds of chunks, each round in two passes.

    Its workspace holds the number of the round's first chunk, over all lines, then whether the first pass has
    done all, and behind that a place for each of its chunks: what that folds to, and later what comes before
    it.
    """

    def write(self, name: str) -> Code:
        """The code of ``@name(ptr %b0, ptr %b1, ptr %b2, i64 %begin, i64 %end)`` and of its passes."""
        parts = [*self._pass(f"{name}_folds", writes=False), *self._pass(f"{name}_writes", writes=True)]
        self.w = w = MathsWriter(self.declarations)
        context_of(w, 3)

        def line(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.mul(number, self.chunks)

            def one_round(at: Reg, before: list[Reg]) -> Sequence[Reg]:
                w.store(w.add(begin, at), "%b2")
                w.store(constant(0, "i64"), self._done())
                count = w.min(w.sub(self.chunks, at), round_chunks())
                w.store(before[0], self._place(constant(0, "i64")))
                self._first(name, count)
                w.when(w.eq(w.load(self._done(), "i64"), 0), lambda: self._second(name, count, before[0]))
                return [w.load(self._place(count), self.dtype)]

            w.loop(0, self.chunks, round_chunks(), one_round, [self._identity(1)])
            return ()

        w.loop(0, self.lines.outer, 1, line)
        w.ret()
        return [*parts, w.function(signature(name, 3), "nounwind")]

    def _first(self, name: str, count: Reg) -> None:
        """The first pass, which a thread that is alone makes the only one."""
        w = self.w
        w.declare(THREADS, f"i64 @{THREADS}()")
        few = w.lt(w.result_of(THREADS, "i64", 1), _SHARED)
        w.when(few, lambda: w.run(f"{name}_folds_task", pointer("%context"), constant(0, "i64"), count))
        w.when(w.not_(few), lambda: self._run(f"{name}_folds", count))

    def _second(self, name: str, count: Reg, before: Reg) -> None:
        """The second pass: what comes before each chunk first, behind the last one what they all fold to."""
        w = self.w

        def place(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            at = self._place(index)
            value = w.load(at, self.dtype)
            w.store(state[0], at)
            return [self.combine(state[0], value)]

        (after,) = w.loop(0, count, 1, place, [before], nonempty=True)
        w.store(after, self._place(count))
        self._run(f"{name}_writes", count)

    def _run(self, part: str, count: Reg) -> None:
        run_tasks(self.w, part, count)

    def _done(self) -> str:
        """Pointer to the flag by which the first pass says that it has done all."""
        return self.w.offset("%b2", "i64", 1)

    def _place(self, index: Reg) -> str:
        return self.w.offset(self.w.offset("%b2", "u8", _HEAD), self.dtype, index)

    def _pass(self, name: str, *, writes: bool) -> Code:
        """The function of one pass over a range of the round's chunks, and its task."""
        self.w = w = MathsWriter(self.declarations)
        begin, end = _TASKS

        def folds() -> None:
            def chunk(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                self._chunk(index, lambda total: w.store(total, self._place(index)), writes=False)
                return ()

            w.loop(begin, end, 1, chunk)

        def both() -> None:
            def chunk(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                before = w.load(self._place(index), self.dtype)
                after = self._place(w.add(index, 1))
                self._chunk(
                    index,
                    lambda total: w.store(self.combine(before, total), after),
                    writes=True,
                    ahead=before,
                )
                return ()

            w.loop(begin, end, 1, chunk)
            w.store(constant(1, "i64"), self._done())

        def behind() -> None:
            def chunk(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                before = w.load(self._place(index), self.dtype)
                self._chunk(index, lambda total: None, writes=True, ahead=before)
                return ()

            w.loop(begin, end, 1, chunk)

        if writes:
            self._streaming(behind)
        else:
            # a task that is the whole round is alone
            first = w.integer("urem", w.load("%b2", "i64"), self.chunks)
            whole = w.eq(w.sub(end, begin), w.min(w.sub(self.chunks, first), round_chunks()))
            w.when(whole, lambda: self._streaming(both))
            w.when(w.not_(whole), folds)
        w.ret()
        return [w.function(signature(name, 3), "nounwind"), task_function(name, 3)]

    def _chunk(
        self, index: Reg, done: Callable[[Reg], None], *, writes: bool, ahead: Reg | None = None
    ) -> None:
        """Fold the round's chunk `index`, and give `done` what it folds to."""
        w, extent, last = self.w, self.lines.extent, self.chunks - 1
        number = w.add(w.load("%b2", "i64"), index)
        line = w.integer("udiv", number, self.chunks)
        inside = w.sub(number, w.mul(line, self.chunks))
        start = w.mul(line, extent)

        def stretch(first: Reg | int, count: int) -> None:
            done(self.stretch(w.add(start, first), count, writes=writes, ahead=ahead))

        # backwards, the first chunk is at the line's end, and the short one at its beginning
        first = w.mul(inside, self.chunk)
        if self.reverse:
            first = w.sub(extent - self.chunk, first)
        short = 0 if self.reverse else last * self.chunk
        w.when(w.lt(inside, last), lambda: stretch(first, self.chunk))
        w.when(w.ge(inside, last), lambda: stretch(short, extent - last * self.chunk))


def _flops(instruction: Instruction) -> int:
    return instruction.operands[0].type.size if is_real_floating(instruction.result.dtype) else 0


CUMULATIVE: Final = Lowering(
    (Kind.CUMULATIVE,),
    cumulative_kernel,
    workspace=cumulative_workspace,
    flops=_flops,
    why_scalar="each element needs the one before it",
)
