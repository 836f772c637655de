"""Index reductions along one axis as kernels in the loop form: the place of the extremum, the first of
equals.

The nest is that of the extremum (`nest.schedule`). Where lanes run along the axis, the place is the least
index at which that is:

    for j in 0:n with %t = -inf { %x = load b0[j]  %s = fold max(%t, %x) } next %s as %m
    for y in 0:n with %p = n { %x = load b0[y]  %k = where(eq(%x, %m), index(y), n)  %q = fold min(%p, %k) }

Both are folds in any order, which `rfactor` writes in lanes with accumulators side by side. A longer line is
cut into blocks, and the first one that has the line's extremum is looked through, no other. Each begins where
the one before ends, or some elements earlier: all are of one size. Blocks of a long line that is alone are
tasks. Across other axes each lane keeps its best element and where that was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....ir.dtypes import INT64, SHORT_NAME, is_real_floating
from ....ir.graph import Function, Instruction, Value
from ....ir.ops.fusion import FOLD
from ....ir.registry import OPS, Kind
from ....ir.types import TensorType
from ...llvm.target import Target
from ...loops.affine import Affine, affine, variable
from ...loops.emit import emit_kernel
from ...loops.nodes import (
    SERIAL,
    Alloc,
    Carry,
    Compute,
    Constant,
    Fold,
    For,
    Let,
    Load,
    Operand,
    Store,
    unit_of,
)
from ...loops.nodes import Kernel as LoopKernel
from ...loops.passes import Step, scheduled
from ...loops.passes.rfactor import Factoring
from ...loops.phases import emit_phases, has_phases, workspace_bytes
from ...lowering.kernel import Kernel, empty_kernel, signature
from ...lowering.loop_nest import Memory, Nest, Write
from ...lowering.lowering import Lowering, LoweringContext
from ...nest.elements import index_of
from ...nest.maps import ScheduledLoops
from ...nest.reductions import columns
from ...nest.reductions.rows import streamed_last
from ...nest.schedule import schedule
from ...nest.tasks import task_count

#: The time to look through a vector, as a number of vectors that are folded; and to fold a block, and to
#: choose among blocks, as bytes that are. Measured on Zen 4: lines of 100 f64 and 300 f32 take 0.8 of the
#: time as one block that they do as two, lines of 1000 f64 as five 0.7 of that as one.
SEARCH_VECTORS: Final = 2.5
BLOCK_BYTES: Final = 448
CHOICE_BYTES: Final = 1280
#: The folds of extrema, and the comparisons that hold where an element is no better than the best one.
_FOLDS: Final = {"argmax": ("max", "le"), "argmin": ("min", "ge")}
#: The indices of a block, of the kept extremum of one, and of an element that is compared.
BLOCK, KEPT, ELEMENT = "g", "d", "y"


def arg_reduction_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The index of an extremum along an axis."""
    (x,) = instruction.operands
    what = f"arg-reduction {name}: {instruction.op.name} of {x.type} along axis {instruction.attrs['axis']}"
    if instruction.result.type.size == 0:
        return empty_kernel(name, 2, what)
    nest = nest_of(name, instruction, context.target)
    shortened = nest.limit_copies(context.parameters.copies)
    loops = loops_of(nest, instruction, context.target)
    pooled, described = has_phases(loops), ScheduledLoops(what, loops)
    code = emit_phases(loops, context.declarations) if pooled else None
    code = code or emit_kernel(loops, context.declarations, signature(name, 2))
    tasks = 1 if pooled else task_count(nest)
    return Kernel(name, code, described, tasks, nest.cycles, pooled=pooled, shortened=shortened)


def arg_reduction_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes of the extrema of blocks that are tasks."""
    if instruction.result.type.size != 1:
        return 0
    extrema = extrema_of(nest_of("", instruction, context.target))
    return workspace_bytes([extrema]) if extrema.shared else 0


def nest_of(name: str, instruction: Instruction, target: Target) -> Nest:
    """The nest that folds the extremum, and stores its place."""
    (x,), axes = instruction.operands, (instruction.attrs["axis"],)
    results = (Value(TensorType(x.dtype, instruction.result.shape)),)
    op = OPS[_FOLDS[instruction.op.name][0]]
    fold = Instruction(op, (x,), {"axes": axes}, results, instruction.location)
    attrs = {"domain": x.shape, "axes": axes, "levels": (FOLD,)}
    nest = schedule(Function(name, (x,), (fold,), results), attrs, name, target)
    memory = nest.writes[0].memory
    nest.writes[:] = [Write(results[0], Memory(memory.buffer, "i64", memory.strides, memory.offset), True, 0)]
    return nest


def loops_of(nest: Nest, instruction: Instruction, target: Target) -> LoopKernel:
    """The kernel in the loop form."""
    sizes = instruction.operands[0].type.size, instruction.result.type.size
    if nest.row_lanes or len(nest.sizes) == nest.parallel:
        builder = _Builder(nest, instruction, target, None)
        by_line = nest.row_lanes or not nest.sizes
        steps = builder.schedule(target) if by_line else columns.schedule_of(nest)
        return scheduled(builder.kernel(sizes), steps)
    builder = _Builder(nest, instruction, target, Factoring(0, 1, 1, 1))
    return streamed_last(builder.kernel(sizes), columns.schedule_of(nest))


def extrema_of(nest: Nest) -> Alloc:
    """Memory for the extrema of the blocks that a line is cut into, as many as take least time: each is
    folded, and one is looked through. Columns are one. It is used where tasks share it."""
    extent, lanes, value = math.prod(nest.sizes[nest.parallel :]), nest.lanes, nest.members[0].value
    nbytes = lanes * value.dtype.itemsize

    def vectors(count: int) -> float:
        size = extent - (count - 1) * (extent // count)
        whole, rest = divmod(size, lanes)
        own = whole + whole % nest.unroll + 2 * (rest > 0)  # those that fill no group wait for each other
        overhead = (count * BLOCK_BYTES + (count > 1) * CHOICE_BYTES) / nbytes
        return count * own + overhead + own * SEARCH_VECTORS

    most = 1 + math.isqrt(extent // lanes) if nest.row_lanes else 1
    count = min(range(1, most + 1, 1 + most // 64), key=vectors)
    shared = count > 1 and nest.split is not None
    return Alloc("s1", SHORT_NAME[value.dtype], affine(count), shared)


class _Builder(columns.ColumnBuilder):
    """Builds the loops along lines, and those around them."""

    def __init__(
        self, nest: Nest, instruction: Instruction, target: Target, factoring: Factoring | None
    ) -> None:
        super().__init__(nest, target, factoring)
        (self.member,), self.origins = nest.members, instruction.origins
        ((self.memory,),) = [[m for m in self.member.operands if isinstance(m, Memory)]]
        self.extremum, self.no_better = _FOLDS[instruction.op.name]
        self.unit = unit_of(OPS[self.extremum], self.memory.dtype)
        self.dtype, self.is_float = self.memory.dtype, is_real_floating(self.member.value.dtype)
        #: Blocks, elements from one to the next, and elements of each.
        self.extrema, extent = extrema_of(nest), math.prod(nest.sizes[nest.parallel :])
        self.blocks = self.extrema.size.constant
        self.step = extent // self.blocks
        self.size = extent - (self.blocks - 1) * self.step
        #: The dtype of places: of columns as wide as elements, so that there are as many in a vector.
        width, most = 8 * self.member.value.dtype.itemsize, self.size
        width = min(width, 32) if nest.row_lanes else width
        self.place = f"i{max(width, 16 if most < 1 << 15 else 32 if most < 1 << 31 else 64)}"

    def schedule(self, target: Target) -> list[Step]:
        """The schedule of lines along which lanes run: they are tasks, or blocks of the only one are, and all
        loops along them are factored."""
        nest, steps = self.nest, list[Step]()
        if nest.parallel:
            steps.append(("parallelize", (index_of(0), 1)))
        elif self.extrema.shared and nest.split is not None:
            steps.append(("parallelize", (BLOCK, -(-self.blocks // nest.split.chunks))))
        if len(nest.sizes) == nest.parallel:
            return steps
        for index, dtype in ((self.dims[-1], self.dtype), (ELEMENT, self.place)):
            # masks in vectors are packed for narrower places, those in registers of their own are not
            most = nest.lanes if target.fast_masks else target.lanes(dtype)
            lanes = min(most, target.lanes(dtype), 1 << (self.size - 1).bit_length())
            several = min(nest.unroll, 1 << max(1, self.size // lanes).bit_length() - 1)
            steps.append(("rfactor", (index, lanes, several, nest.copies, self.size)))
        return steps

    def fold_stage(self, stage: int) -> None:
        """The place of the extremum of a line, by the name of the extremum in the nest."""
        at = self.index(self.memory)
        if len(self.nest.sizes) == self.nest.parallel:
            place = self.number(affine(0))
        else:
            place = self.along(at) if self.nest.row_lanes else self.of_column(at)
        self.names[self.member.value] = place

    # -- statements -------------------------------------------------------------------------------

    def computed(
        self, op: str, dtype: str, *operands: Operand, attrs: Mapping[str, Any] | None = None
    ) -> str:
        """The result of an op."""
        name = self.name("v")
        self.nodes.append(Compute(name, dtype, OPS[op], operands, attrs or {}, self.origins))
        return name

    def number(self, index: Affine, dtype: str = "i64") -> str:
        """An index as a value."""
        name = self.name("k")
        self.nodes.append(Let(name, dtype, index))
        return name

    def element(self, index: Affine, buffer: str = "") -> str:
        """An element, or the extremum of a block."""
        name = self.name("x")
        self.nodes.append(Load((name,), self.dtype, buffer or self.buffer(self.memory), index))
        return name

    def wide(self, place: str) -> str:
        """A place as the result has it."""
        return place if self.place == "i64" else self.computed("cast", "i64", place, attrs={"dtype": INT64})

    def loop(
        self, index: str, ends: tuple[int, int], write: Callable[..., Sequence[Operand]],
        *carried: tuple[str, Operand],
    ) -> list[str]:  # fmt: skip
        """A loop around what ``write(*values)`` builds, which returns the values that it hands on; each of
        `carried` is a dtype and a first value."""
        around, self.nodes, names = self.nodes, [], [self.name("t") for _ in carried]
        following, results = write(*names), [self.name("r") for _ in carried]
        handed = tuple([
            Carry(name, dtype, first, value, result)
            for name, (dtype, first), value, result in zip(names, carried, following, results, strict=True)
        ])  # fmt: skip
        first, stop = map(affine, ends)
        self.nodes = [*around, For(index, (first,), (stop,), 1, SERIAL, tuple(self.nodes), handed)]
        return results

    def fold(self, op: str, index: str, count: int, first: Constant, operand: Callable[[], Operand]) -> str:
        """A loop that folds `count` operands."""

        def folded(total: Operand) -> list[Operand]:
            name, value = self.name("f"), operand()
            self.nodes.append(Fold(name, first.dtype, OPS[op], total, value, self.origins))
            return [name]

        (result,) = self.loop(index, (0, count), folded, (first.dtype, first))
        return result

    # -- lines along which lanes run --------------------------------------------------------------

    def along(self, at: Affine) -> str:
        """The place in a line whose elements are `at` an index."""
        j, index = self.dims[-1], BLOCK
        if self.blocks == 1:
            return self.wide(self.found(at, self.best(at)))

        def of_block() -> str:
            return self.best(at.replaced(j, variable(BLOCK, self.step).plus(variable(j))))

        def stored() -> list[Operand]:
            extremum = of_block()
            self.nodes.append(Store(self.extrema.name, variable(BLOCK), (extremum,)))
            return []

        if self.extrema.shared:
            self.nodes.append(self.extrema)
            self.loop(BLOCK, (0, self.blocks), stored)
            index = KEPT

        def compared(best: str, first: str) -> list[Operand]:
            x = self.element(variable(KEPT), self.extrema.name) if self.extrema.shared else of_block()
            return self.better_of(x, best, first, index)

        carried = (self.dtype, self.unit), ("i64", Constant(0, "i64"))
        best, first = self.loop(index, (0, self.blocks), compared, *carried)
        begin = variable(f"%{first}", self.step)
        place = self.wide(self.found(at.replaced(j, begin.plus(variable(j))), best))
        return self.computed("add", "i64", self.number(begin), place)

    def best(self, at: Affine) -> str:
        """The extremum of a block whose elements are `at` an index."""
        return self.fold(self.extremum, self.dims[-1], self.size, self.unit, lambda: self.element(at))

    def found(self, at: Affine, best: str) -> str:
        """The first place of the extremum in a block whose elements are `at` an index."""
        j, y, none = self.dims[-1], variable(ELEMENT), unit_of(OPS["min"], self.place)

        def element() -> str:
            x = self.element(at.replaced(j, y))
            is_best = self.computed("eq", "bool", x, best)
            if self.is_float:  # where the extremum is a NaN, each NaN is
                is_best = self.computed("logical_or", "bool", is_best, self.computed("isnan", "bool", x))
            return self.computed("where", self.place, is_best, self.number(y, self.place), none)

        return self.fold("min", ELEMENT, self.size, none, element)

    # -- columns ----------------------------------------------------------------------------------

    def of_column(self, at: Affine) -> str:
        """The place in a column whose elements are `at` an index."""
        row = self.dims[-1]
        first = self.element(at.replaced(row, affine(0)))

        def compared(best: str, place: str) -> list[Operand]:
            return self.better_of(self.element(at), best, place, row)

        carried = (self.dtype, first), (self.place, Constant(0, self.place))
        _, place = self.loop(row, (1, self.nest.sizes[-1]), compared, *carried)
        return self.wide(place)

    def better_of(self, x: str, best: str, place: str, index: str) -> list[Operand]:
        """The better one of `x`, which is at an index, and the best one so far, and the place of that."""
        dtype = "i64" if self.nest.row_lanes else self.place
        wins = self.computed("logical_not", "bool", self.computed(self.no_better, "bool", x, best))
        if self.is_float:  # nothing is better than a NaN
            wins = self.computed("logical_and", "bool", wins, self.computed("eq", "bool", best, best))
        return [
            self.computed("where", self.dtype, wins, x, best),
            self.computed("where", dtype, wins, self.number(variable(index), dtype), place),
        ]


ARG_REDUCTION: Final = Lowering(
    (Kind.ARG_REDUCTION,), arg_reduction_kernel, workspace=arg_reduction_workspace
)
