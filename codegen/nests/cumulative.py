"""Running folds along one axis.

Along the last axis a vector is folded in itself, in steps that double (Sklansky 1960), and then with what
came before it: sums are grouped in that fixed way. Where there are few lines, each is cut into chunks, and
these are taken in rounds that fit the cache: a first task per chunk finds what it folds to, a second one
writes its running folds from where the chunks before it end. No result depends on the number of threads.

Along other axes a vector of totals is folded with some rows of memory in turn, which are written as it goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction
from ...ir.types import TensorType
from ..emitter import Reg, constant
from ..loops import FunctionWriter
from ..target import Target
from .axis import Lines
from .kernel import PARALLEL_FOR, Kernel, signature, task_function

#: Bytes of a chunk of a line: it stays in the second-level cache until it is read again.
CHUNK_BYTES: Final = 1 << 17
#: Chunks in one round, and so tasks: enough for some cores, and what they read stays in the last-level cache.
ROUND: Final = 16
#: Bytes of the workspace before the places of chunks.
_HEAD: Final = 64
#: There are few lines where they are fewer than this.
_FEW_LINES: Final = 4
#: Rows of columns that are walked with their totals in registers, and vectors side by side.
_ROWS: Final = 8
_COPIES: Final = 4


def cumulative_kernel(
    name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
) -> Kernel:
    """Running folds along an axis."""
    (x,) = instruction.operands
    if x.type.size == 0:
        w = FunctionWriter(declarations)
        w.line("ret void")
        return Kernel(
            name, w.function(signature(name, 2), "nounwind"), f"cumulative {name}: nothing", tasks=0
        )
    writer = _Writer(instruction, target, declarations)
    cycles = x.type.size * (1.0 if writer.lanes > 1 else 4.0) + x.type.nbytes / 4
    what = f"cumulative {name}: {instruction.op.name} of {x.type} along axis {instruction.attrs['axis']}"
    if writer.chunks > 1:
        text = _ChunkWriter(instruction, target, declarations).write(name)
        return Kernel(name, text, f"{what}, in {writer.chunks} chunks", cycles=cycles, pooled=True)
    return Kernel(name, writer.write(name), what, tasks=writer.lines.tasks, cycles=cycles)


def cumulative_workspace(instruction: Instruction, target: Target) -> int:
    """Bytes that the kernel works in."""
    x = instruction.operands[0].type
    _, chunks = _cut(x, Lines(x.shape, instruction.attrs["axis"], target, SHORT_NAME[x.dtype]))
    return _HEAD + ROUND * 8 if chunks > 1 else 0


def _cut(x: TensorType, lines: Lines) -> tuple[int, int]:
    """Elements of a chunk of a contiguous line, and how many there are: 1 where lines are not cut."""
    chunk = CHUNK_BYTES // x.dtype.itemsize
    few = lines.contiguous and 0 < lines.outer < _FEW_LINES
    return chunk, max(1, -(-lines.extent // chunk)) if few else 1


class _Writer:
    """Writes the kernel whose tasks are lines, or blocks of columns."""

    def __init__(self, instruction: Instruction, target: Target, declarations: dict[str, str]) -> None:
        (x,) = instruction.operands
        self.w = FunctionWriter(declarations)
        self.declarations = declarations
        self.dtype = SHORT_NAME[x.dtype]
        self.lines = Lines(x.shape, instruction.attrs["axis"], target, self.dtype)
        self.lanes = self.lines.lanes
        self.reverse: bool = instruction.attrs["reverse"]
        fold = instruction.op.reduction
        assert fold is not None
        self.fold = fold
        self.chunk, self.chunks = _cut(x.type, self.lines)

    def write(self, name: str) -> str:
        """The text of ``@name(ptr %b0, ptr %b1, i64 %begin, i64 %end)``."""
        if self.lines.contiguous:
            self.lines.rows(self.w, self._row)
        else:
            self.lines.columns(self.w, self._columns)
        self.w.line("ret void")
        return self.w.function(signature(name, 2), "nounwind")

    def _identity(self, lanes: int) -> Reg:
        return constant(self.fold.identity(self.dtype), self.dtype, lanes)

    def combine(self, before: Reg, value: Reg) -> Reg:
        """`value` folded into what came before it."""
        result: Reg = self.fold.combine(self.w, before, value)
        return result

    # -- contiguous lines -------------------------------------------------------------------------

    def _row(self, line: Reg) -> None:
        extent = self.lines.extent
        start = self.w.mul(line, extent)
        self.stretch(start, extent, self._identity(self.lanes), writes=True)

    def stretch(self, start: Reg, count: int, before: Reg, *, writes: bool) -> Reg:
        """Fold `count` elements from `start` on, after `before` (a splat); what all fold to (a scalar)."""
        w, lanes = self.w, self.lanes
        whole = count // lanes
        rest = count - whole * lanes
        # backwards, what does not fill a vector is at the beginning and comes last
        first = rest if self.reverse else 0

        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(whole - 1, index) if self.reverse else index
            at = w.add(start, w.add(w.mul(position, lanes), first))
            return [self._vector(at, state[0], lanes, writes)]

        def single(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            position = w.sub(rest - 1, index) if self.reverse else w.add(index, whole * lanes)
            return [self._vector(w.add(start, position), state[0], 1, writes)]

        (before,) = w.loop(0, whole, 1, step, [before])
        (last,) = w.loop(0, rest, 1, single, [w.extract(before, 0)])
        return last

    def _vector(self, at: Reg, before: Reg, lanes: int, writes: bool) -> Reg:
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
            w.store(self.combine(before, value), w.offset("%b1", self.dtype, at))
        return self.combine(before, total)

    def _shifted(self, value: Reg, step: int) -> Reg:
        """In each second group of `step` lanes the last lane of the group before; elsewhere nothing.

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

    Its workspace holds the number of the round's first chunk, over all lines, and behind it a place for each
    of its chunks: what that folds to, and later what comes before it.
    """

    def write(self, name: str) -> str:
        """The text of ``@name(ptr %b0, ptr %b1, ptr %b2, i64 %begin, i64 %end)`` and of its passes."""
        parts = [self._pass(f"{name}_folds", writes=False), self._pass(f"{name}_writes", writes=True)]
        self.w = w = FunctionWriter(self.declarations)
        w.allocas.append("  %context = alloca [3 x ptr]")
        for i in range(3):
            w.line(f"store ptr %b{i}, ptr {w.offset('%context', 'i64', i)}")

        def line(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            begin = w.mul(number, self.chunks)

            def one_round(at: Reg, before: list[Reg]) -> Sequence[Reg]:
                w.store(w.add(begin, at), "%b2")
                count = w.min(w.sub(self.chunks, at), ROUND)
                self._run(f"{name}_folds", count)
                after = w.loop(0, count, 1, self._place_totals, before, nonempty=True)
                self._run(f"{name}_writes", count)
                return after

            w.loop(0, self.chunks, ROUND, one_round, [self._identity(1)])
            return ()

        w.loop(0, self.lines.outer, 1, line)
        w.line("ret void")
        return "\n".join([*parts, w.function(signature(name, 3), "nounwind")])

    def _run(self, part: str, count: Reg) -> None:
        self.w.line(f"call void @{PARALLEL_FOR}(ptr @{part}_task, ptr %context, {count}, i64 1)")

    def _place(self, index: Reg) -> str:
        return self.w.offset(self.w.offset("%b2", "u8", _HEAD), self.dtype, index)

    def _place_totals(self, index: Reg, before: list[Reg]) -> Sequence[Reg]:
        """What comes before a chunk in place of what it folds to."""
        place = self._place(index)
        found = self.w.load(place, self.dtype)
        self.w.store(before[0], place)
        return [self.combine(before[0], found)]

    def _pass(self, name: str, *, writes: bool) -> str:
        """The function of one pass over a range of the round's chunks, and its task."""
        self.w = w = FunctionWriter(self.declarations)
        extent, last = self.lines.extent, self.chunks - 1

        def chunk(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            number = w.add(w.load("%b2", "i64"), index)
            line = w.assign(f"udiv {number}, {self.chunks}", "i64")
            inside = w.sub(number, w.mul(line, self.chunks))
            start = w.mul(line, extent)

            def stretch(first: Reg | int, count: int) -> None:
                before = w.load(self._place(index), self.dtype) if writes else self._identity(1)
                total = self.stretch(w.add(start, first), count, w.splat(before, self.lanes), writes=writes)
                if not writes:
                    w.store(total, self._place(index))

            # backwards, the first chunk is at the line's end, and the short one at its beginning
            first = w.mul(inside, self.chunk)
            if self.reverse:
                first = w.sub(extent - self.chunk, first)
            short = 0 if self.reverse else last * self.chunk
            w.when(w.lt(inside, last), lambda: stretch(first, self.chunk))
            w.when(w.ge(inside, last), lambda: stretch(short, extent - last * self.chunk))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, chunk)
        w.line("ret void")
        return f"{w.function(signature(name, 3), 'nounwind')}\n{task_function(name, 3)}"
