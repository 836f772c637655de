"""Index reductions along one axis: the place of the extremum, the first of equals.

Each lane keeps its best element and where that was. Along the last axis several vectors are walked side by
side and what they found is compared at the end; of equals the smaller index stays. There all are taken for
numbers, and whether one is a NaN is noted on the side: such a line is looked through for it once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code, Declarations
from ...llvm.target import Target
from ...lowering.kernel import Kernel, signature
from ...lowering.lowering import Lowering, LoweringContext
from ...maths import MathsWriter
from .axis import Lines

#: Vectors walked side by side: one alone waits for its comparison at each step.
UNROLL: Final = 4


def arg_reduction_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The index of an extremum along an axis."""
    (x,) = instruction.operands
    writer = _Writer(instruction, context.target, context.declarations)
    code = writer.write(name)
    description = (
        f"arg-reduction {name}: {instruction.op.name} of {x.type} along axis {instruction.attrs['axis']}"
    )
    cycles = 4.0 * x.type.size / writer.lanes + x.type.nbytes / 8
    return Kernel(name, code, description, tasks=writer.lines.tasks, cycles=cycles)


class _Writer:
    def __init__(self, instruction: Instruction, target: Target, declarations: Declarations) -> None:
        (x,) = instruction.operands
        self.w = MathsWriter(declarations)
        self.dtype = SHORT_NAME[x.dtype]
        better = instruction.op.emit
        assert better is not None
        self.better = better
        #: Indices in lanes of the elements' width where they fit.
        short = x.shape[instruction.attrs["axis"]] < 1 << 31 and self.dtype not in ("f64", "i64", "u64")
        self.index = "i32" if short else "i64"
        self.lines = Lines(x.shape, instruction.attrs["axis"], target, self.dtype, self.index)
        self.lanes = self.lines.lanes

    def write(self, name: str) -> Code:
        if self.lines.contiguous:
            self.lines.rows(self.w, self._row)
        else:
            self.lines.columns(self.w, self._columns)
        self.w.ret()
        return [self.w.function(signature(name, 2), "nounwind")]

    def _load(self, at: Reg, lanes: int) -> Reg:
        return self.w.load(self.w.offset("%b0", self.dtype, at), self.dtype, lanes)

    # -- contiguous lines -------------------------------------------------------------------------

    def _row(self, line: Reg) -> None:
        w, lanes, extent = self.w, self.lanes, self.lines.extent
        start = w.mul(line, extent)
        copies = UNROLL
        while copies * lanes > extent:
            copies //= 2
        group = copies * lanes
        whole = extent // group * group

        def step(position: Reg, state: list[Reg]) -> Sequence[Reg]:
            at, where = w.add(start, position), w.splat(w.cast(position, self.index), lanes)
            values = [self._load(w.add(at, copy * lanes), lanes) for copy in range(copies)]
            out: list[Reg] = []
            for copy, value in enumerate(values):
                best, place = state[2 * copy : 2 * copy + 2]
                wins = self.better(w, value, best, numbers=True)
                out += [w.select(wins, value, best), w.select(wins, where, place)]
            return [*out, *self._nans(values, state[2 * copies :])]

        values = [self._load(w.add(start, copy * lanes), lanes) for copy in range(copies)]
        state = [reg for value in values for reg in (value, constant(0, self.index, lanes))]
        none = [constant(False, "bool", lanes)] if values[0].is_float else []
        state = w.loop(group, whole, group, step, [*state, *self._nans(values, none)])
        candidates = []
        for copy in range(copies):
            place = w.add(w.add(state[2 * copy + 1], w.ramp(lanes, self.index)), copy * lanes)
            candidates.append((state[2 * copy], place))
        while len(candidates) > 1:
            candidates = [
                self._better_of(a, b) for a, b in zip(candidates[::2], candidates[1::2], strict=True)
            ]
        best, place = self._across_lanes(*candidates[0])

        def single(position: Reg, state: list[Reg]) -> Sequence[Reg]:
            best, place = state
            value = self._load(w.add(start, position), 1)
            wins = self.better(w, value, best)
            return [w.select(wins, value, best), w.select(wins, w.cast(position, self.index), place)]

        _, last = w.loop(whole, extent, 1, single, [best, place])
        result = w.offset("%b1", "i64", line)
        w.store(w.cast(last, "i64"), result)
        for nans in state[2 * copies :]:
            some = w.ne(w.mask_bits(nans), 0)
            w.when(some, lambda: w.store(self._first_nan(start, constant(whole, "i64"), copies), result))

    def _nans(self, values: list[Reg], flags: list[Reg]) -> list[Reg]:
        """`flags`, the lanes that held a NaN so far (nothing for integers), with those of `values`.

        LLVM makes one comparison of the tests of two vectors.
        """
        w = self.w
        for first in range(0, len(values) if flags else 0, 2):
            pair = [w.isnan(value) for value in values[first : first + 2]]
            flags = [w.or_(flags[0], pair[0] if len(pair) == 1 else w.or_(*pair))]
        return flags

    def _first_nan(self, start: Reg, stop: Reg, copies: int) -> Reg:
        """Position of the first NaN, counted from `start`; it is before `stop`."""
        w, lanes = self.w, self.lanes

        def hits(position: Reg) -> tuple[Reg, Reg]:
            """Whether there is one in a group, and a bit for each of its elements."""
            mask = constant(0, "i64")
            for copy in range(copies):
                value = self._load(w.add(w.add(start, position), copy * lanes), lanes)
                mask = w.or_(mask, w.shl(w.mask_bits(w.isnan(value)), copy * lanes))
            return w.ne(mask, 0), mask

        position, mask = w.until(constant(0, "i64"), stop, copies * lanes, hits)
        return w.add(position, w.trailing_zeros(mask))

    def _better_of(self, a: tuple[Reg, Reg], b: tuple[Reg, Reg]) -> tuple[Reg, Reg]:
        """The better of two finds; where neither beats the other, that with the smaller index."""
        w = self.w
        loses, wins = self.better(w, a[0], b[0]), self.better(w, b[0], a[0])
        takes = w.or_(wins, w.and_(w.not_(loses), w.lt(b[1], a[1])))
        return w.select(takes, b[0], a[0]), w.select(takes, b[1], a[1])

    def _across_lanes(self, best: Reg, place: Reg) -> tuple[Reg, Reg]:
        """The best of the lanes of one find, by halves."""
        w = self.w
        while best.lanes > 2:
            half = best.lanes // 2
            low, high = range(half), range(half, best.lanes)
            parts = [
                (w.shuffle(best, None, numbers), w.shuffle(place, None, numbers)) for numbers in (low, high)
            ]
            best, place = self._better_of(*parts)
        if best.lanes == 2:
            pairs = [(w.extract(best, lane), w.extract(place, lane)) for lane in range(2)]
            best, place = self._better_of(*pairs)
        return best, place

    # -- columns ----------------------------------------------------------------------------------

    def _columns(self, outer: Reg, first: Reg, stop: Reg) -> None:
        w, lines = self.w, self.lines
        base = w.mul(outer, lines.extent * lines.inner)
        results = w.mul(outer, lines.inner)

        def group(column: Reg, copies: int, lanes: int) -> None:
            self._group(w.add(base, column), w.add(results, column), copies, lanes)

        lines.across(w, first, stop, UNROLL, group)

    def _group(self, start: Reg, result: Reg, copies: int, lanes: int) -> None:
        """Neighbouring columns that begin at element `start`."""
        w, lines = self.w, self.lines
        state: list[Reg] = []
        for copy in range(copies):
            state += [self._load(w.add(start, copy * lanes), lanes), constant(0, self.index, lanes)]

        def step(row: Reg, state: list[Reg]) -> Sequence[Reg]:
            at = w.add(start, w.mul(row, lines.inner))
            where = w.splat(w.cast(row, self.index), lanes)
            out: list[Reg] = []
            for copy in range(copies):
                best, place = state[2 * copy : 2 * copy + 2]
                value = self._load(w.add(at, copy * lanes), lanes)
                wins = self.better(w, value, best)
                out += [w.select(wins, value, best), w.select(wins, where, place)]
            return out

        state = w.loop(1, lines.extent, 1, step, state)
        for copy in range(copies):
            place = w.cast(state[2 * copy + 1], "i64")
            w.store(place, w.offset("%b1", "i64", w.add(result, copy * lanes)))


ARG_REDUCTION: Final = Lowering((Kind.ARG_REDUCTION,), arg_reduction_kernel)
