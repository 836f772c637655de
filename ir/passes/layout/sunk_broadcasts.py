"""Sinking of broadcasts: large values are repeated behind the ops that read them, and inside of loops.

    exp(broadcast(x))             =  broadcast(exp(x))
    transpose(broadcast(x))       =  broadcast(transpose(x))      and slices, reshapes, concatenations
    sum(broadcast(x), 0)          =  n x                          for n copies along axis 0
    max(broadcast(x), 0)          =  x
    argmax(ravel(broadcast(x)))   =  the place of the first copy of x's largest element
    broadcast(x).T @ broadcast(y) =  n x.T y                      for n copies along the sum
    scan(broadcast(x))            =  a scan whose steps all read x

and the rules of `constant_lines` along a line of one repeated element, of `merged_lines` along one that was
merged, of `repeated_joins` and `implied_joins` for joins, of `repeated_gathers`, of `repeated_matrices` for
linear algebra, of `pieces` for sums and writes at places, and of `repeated_lines` for other ops on lines. A
nest of elements reads a broadcast where it lies, and so do products and convolutions. Everything else would
have it in memory, which there may not be enough of.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Final, TypeVar

import numpy as np

from ...builder import Builder
from ...graph import Function, Instruction, Substitution, Value
from ...ops.signal.fourier import has_pairs
from ...registry import OPS, Attrs, Kind, Op
from ...types import Shape
from ..algebra.cleanup import dce
from ..algebra.simplify import LINE_RULES
from ..rewriting import constant_of, defined_by
from . import LARGE, is_large_broadcast
from .constant_lines import along_constant_line
from .implied_joins import join_of_copies, join_of_update
from .merged_lines import running_fold, sorted_places
from .pieces import scatter_of_slices, sum_of_weights
from .repeated_axes import PLACES, CommonAxes, Line, cut_by, cut_together
from .repeated_gathers import GatherReader
from .repeated_joins import Join, JoinReader, join_of, same_slice
from .repeated_matrices import once_for_repeated_matrices

#: Folds that repeated elements do not change.
IDEMPOTENT: Final = ("max", "min", "nanmax", "all", "any")
_T = TypeVar("_T")
_LOOPS: Final = (Kind.SCAN, Kind.WHILE)


def sink_broadcasts(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: the same results, up to the rounding of sums of repeated
    elements; no dead code where it changed anything."""
    if not any(map(is_large_broadcast, function.body)):
        return function
    pass_ = _Sinking(function)
    sunk = pass_.run()
    return dce(sunk) if pass_.changed else function


def _spread(function: Function) -> set[Value]:
    """Values that only results are made of, by arithmetic and views: nests write those with the arithmetic
    inside."""
    read: set[Value] = set()
    spread: set[Value] = set()
    for instruction in reversed(function.body):
        arithmetic = instruction.op.kind is Kind.ELEMENTWISE or instruction.op.kind is Kind.VIEW
        if arithmetic and read.isdisjoint(instruction.results):
            spread.update(instruction.results)
        else:
            read.update(instruction.operands)
    return spread


class _Sinking:
    """Rewrites a Function; `lines` has the values that are repeated. The small ones among them
    may be factors of large ones."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.b = Builder()
        self.table = Substitution()
        self.defs: dict[Value, Instruction] = {}
        self.lines: dict[Value, Line] = {}
        self.joins: dict[Value, Join] = {}
        self.join_reader = JoinReader(self.b, self.joins, self.lines, _spread(function), self._emitted)
        self.gathers = GatherReader(self.b, self.joins, self.lines, self.defs, self._emitted)
        self.changed = False
        #: Instructions of the body that `_define` has noted.
        self.noted = 0

    def run(self) -> Function:
        b = self.b
        for original in self.function.body:
            instruction = self.table.apply(original)
            b.location = instruction.location
            results = self._sunk(instruction)
            if results is None and instruction.op.name == "broadcast":
                self.table[original.result] = self._aligned(instruction)
            elif results is None:
                b.body.append(instruction)
            else:
                self.changed = True
                for old, new in zip(original.results, results, strict=True):
                    self.table[old] = new
            self._define()
        return Function(
            self.function.name, self.function.params, tuple(b.body), self.table.all(self.function.results)
        )

    def _define(self) -> None:
        """Note the instructions that were appended since."""
        fresh = self.b.body[self.noted :]
        self.noted = len(self.b.body)
        for written in fresh:
            for result in written.results:
                self.defs[result] = written
            if written.op.name in ("broadcast", "reshape"):
                self._note(written)
            elif written.op.kind is Kind.CONCAT and written.result.type.size >= LARGE:
                join = join_of(written, self.lines)
                if join is not None:
                    self.joins[written.result] = join

    def _emitted(self, op: Op, operands: Sequence[Value], attrs: Attrs) -> Value:
        """The result of `op`, sunk."""
        self._define()
        (result,) = self.b.append(op, tuple(operands), attrs)
        sunk = self._sunk(self.b.body[-1])
        self._define()
        return result if sunk is None else sunk[0]

    def _aligned(self, broadcast: Instruction) -> Value:
        """The result of `broadcast`, from what it repeats with as many axes."""
        (source,), shape = broadcast.operands, broadcast.result.shape
        inner = self._plain(source)
        line = inner.value if inner is not None else source
        missing = (1,) * (len(shape) - len(line.shape))
        return self._repeat(self._reshaped(line, (*missing, *line.shape)), shape)

    def _note(self, view: Instruction) -> None:
        """Add the result of a broadcast, or of a reshape of what is repeated, to the `lines`."""
        (source,), result = view.operands, view.result
        inner = self.lines.get(source)
        if view.op.name == "reshape":
            cut = cut_by(inner, result.shape) if inner is not None else None
            if inner is not None and cut is not None:
                self.lines[result] = self._cut(inner, cut)
        elif source.type.ndim == result.type.ndim and constant_of(result, self.defs) is None:
            self.lines[result] = Line(source, result.shape, (1,) * len(result.shape))

    def _cut(self, line: Line, cut: CommonAxes) -> Line:
        return Line(self._reshaped(line.value, cut.sizes), cut.fine, cut.counts)

    def _plain(self, value: Value) -> Line | None:
        """The line that `value` repeats along axes of its own: of one number, too."""
        line = self.lines.get(value)
        if line is not None:
            return line if line.is_plain else None
        constant, ones = constant_of(value, self.defs), (1,) * len(value.shape)
        if constant is None or value.type.size < LARGE:
            return None
        return Line(self.b.full(value=constant, shape=ones, dtype=value.dtype), value.shape, ones)

    def _reshaped(self, value: Value, shape: Shape) -> Value:
        if value.shape == shape:
            return value
        if value in self.joins:
            return self._emitted(OPS["reshape"], (value,), {"shape": shape})
        view = defined_by(value, "reshape", self.defs)
        if view is not None:
            return self._reshaped(view.operands[0], shape)
        result: Value = self.b.reshape(value, shape=shape)
        self.defs[result] = self.b.body[-1]
        return result

    # -- each kind of instruction -----------------------------------------------------------------

    def _sunk(self, instruction: Instruction) -> tuple[Value, ...] | None:
        """The results of `instruction` from what its operands repeat; None where it stays as it is."""
        if instruction.op.name == "matmul" and len(instruction.result.shape) == 2:
            product = self._by_matrices(*instruction.operands)
            if product is not None:
                return (product,)
        op = instruction.op
        if op.name in ("reshape", "transpose", "slice") and instruction.result.type.size >= LARGE:
            constant = constant_of(instruction.operands[0], self.defs)
            if constant is not None:
                scalar = self.b.scalar(constant, instruction.result.dtype)
                return (self._repeat(scalar, instruction.result.shape),)
        if op.name == "gather":
            taken = self.gathers.read(instruction)
            return None if taken is None else (taken,)
        if op.kind is Kind.UPDATE:
            join = join_of_update(self._emitted, instruction, self.lines, self.joins, self.defs)
            if join is not None:
                self.joins[instruction.result] = join
            return None
        if not self.joins.keys().isdisjoint(instruction.operands):
            read = self.join_reader.read(instruction, self.defs)
            if read is not None:
                return (read,)
        if op.name == "matmul":
            product = self._contraction(instruction)
            return None if product is None else (product,)
        if self.lines.keys().isdisjoint(instruction.operands):
            return None
        if op.kind.traits.control:
            return self._control(instruction)
        if op.kind is Kind.LINALG:
            return once_for_repeated_matrices(self.b, instruction, self._plain, self.defs)
        if len(instruction.results) != 1 or op.effect or 0 in instruction.result.shape:
            return None
        result, line = None, self.lines.get(instruction.operands[0])
        if op.kind is Kind.ELEMENTWISE or op.kind is Kind.CONCAT:
            same = same_slice(instruction, self.lines) if op.kind is Kind.CONCAT else None
            if same is not None:
                return (self._repeat(same.value, instruction.result.shape),)
            result = self._together(instruction)
        elif op.name == "bincount":
            result = self._histogram(instruction)
        elif op.name == "convolve":
            result = self._convolution(instruction)
        elif op.kind is Kind.SCATTER:
            result = self._scatter(instruction)
        elif op.name == "searchsorted":
            result = self._search(instruction)
        elif line is not None and op.kind is Kind.REDUCTION:
            result = self._reduction(instruction, line)
        elif line is not None and op.kind.traits.along_axis:
            result = self._by_lines(instruction, line)
        elif line is not None and op.name in ("transpose", "slice", "reshape"):
            result = getattr(self, f"_{op.name}")(instruction, line)
        if result is None:
            result = self._by_rules(instruction)
        return None if result is None else (result,)

    def _by_rules(self, instruction: Instruction) -> Value | None:
        for rule in LINE_RULES.get(instruction.op.name, ()):
            result = rule(self.b, instruction, self.defs)
            if result is not None:
                return result
        return None

    def _repeat(self, value: Value, shape: Shape) -> Value:
        """`value`, of as many axes, repeated to `shape`."""
        return self.b.broadcast_to(value, shape)

    def _whole(self, value: Value, fine: Shape, shape: Shape) -> Value:
        """`value`, repeated along axes of `fine`, which are merged to `shape`."""
        return self._reshaped(self._repeat(value, fine), shape)

    def _together(self, instruction: Instruction) -> Value | None:
        """Arithmetic on operands that all repeat along some axes, or their concatenation along another."""
        shape, joins = instruction.result.shape, instruction.op.kind is Kind.CONCAT
        lines: dict[Value, Line] = {}
        for operand in instruction.operands:
            if constant_of(operand, self.defs) is not None:
                continue
            line = self._plain(operand) if joins else self.lines.get(operand)
            if line is None:
                return None
            lines[operand] = line
        if not lines:
            return None
        if joins:
            cuts = [CommonAxes(line.value.shape, line.fine, line.counts) for line in lines.values()]
        else:
            together = cut_together(list(lines.values()), shape)
            if together is None:
                return None
            cuts = together
        lines = dict(zip(lines, map(self._cut, lines.values(), cuts), strict=True))
        fine = shape if joins else cuts[0].fine
        axes = set(range(len(fine))) - {instruction.attrs.get("axis")}
        for line in lines.values():
            axes &= {axis for axis, repeated in enumerate(line.repeated) if repeated}
        if not axes:
            return None
        operands = []
        for operand in instruction.operands:
            part = lines.get(operand)
            whole = part.fine if part is not None else operand.shape if joins else fine
            sizes = _without(whole, axes)
            if part is not None:
                operands.append(
                    self._repeat(self._reshaped(part.value, _without(part.value.shape, axes)), sizes)
                )
            else:
                constant = constant_of(operand, self.defs)
                operands.append(self.b.full(value=constant, shape=sizes, dtype=operand.dtype))
        attrs = dict(instruction.attrs)
        if joins:
            attrs["axis"] -= sum(axis < attrs["axis"] for axis in axes)
        result = self._emitted(instruction.op, operands, attrs)
        among = tuple([1 if axis in axes else size for axis, size in enumerate(fine)])
        return self._whole(self._reshaped(result, among), fine, shape)

    def _reduction(self, instruction: Instruction, line: Line) -> Value | None:
        """Folds: what is repeated along other axes is folded once; of what is repeated along the folded ones,
        once as well, where the result follows from it."""
        op, repeated = instruction.op, line.repeated
        axes = tuple([axis for place in instruction.attrs["axes"] for axis in line.groups[place]])
        copies = math.prod(line.fine[axis] for axis in axes if repeated[axis])
        sums = op.name == "sum" and line.value.dtype.kind != "b"
        follows = sums or op.name in IDEMPOTENT
        if not follows and not any(own for axis, own in enumerate(repeated) if axis not in axes):
            return None
        value = line.value
        if not follows:
            value = self._repeat(
                value, tuple([line.fine[i] if i in axes else size for i, size in enumerate(value.shape)])
            )
        result = self._emitted(op, (value,), {**instruction.attrs, "axes": axes})
        if copies > 1 and sums:
            result = self._times(result, copies)
        fine = tuple([size for axis, size in enumerate(line.fine) if axis not in axes])
        return self._whole(result, fine, instruction.result.shape)

    def _times(self, value: Value, count: int) -> Value:
        """The sum of `count` copies of `value`; of integers, as it overflows."""
        dtype = value.dtype
        factor = self.b.scalar(np.array(count).astype(dtype).item(), dtype)
        return self._emitted(OPS["mul"], (value, self._repeat(factor, value.shape)), {})

    def _contraction(self, instruction: Instruction) -> Value | None:
        """Products: rows, columns and matrices that are repeated are multiplied once; so is what is repeated
        along the sum on both sides."""
        (x, y), shape = instruction.operands, instruction.result.shape
        left, right = self._plain(x), self._plain(y)
        rows, columns = list(x.shape), list(y.shape)
        if left is not None and left.repeated[-2]:
            rows[-2] = 1
        if right is not None and right.repeated[-1]:
            columns[-1] = 1
        terms = 0
        if left is not None and right is not None:
            for axis in range(len(shape) - 2):
                if left.repeated[axis] and right.repeated[axis]:
                    rows[axis] = columns[axis] = 1
            if left.repeated[-1] and right.repeated[-2] and x.dtype.kind != "b":
                terms = x.shape[-1]
                rows[-1] = columns[-2] = 1
        if tuple(rows) == x.shape and tuple(columns) == y.shape:
            return None
        x = self._repeat(left.value, tuple(rows)) if left is not None else x
        y = self._repeat(right.value, tuple(columns)) if right is not None else y
        if not terms:
            return self._repeat(self.b.matmul(x, y), shape)
        small = (*rows[:-1], columns[-1])
        product = self.b.mul(self._repeat(x, small), self._repeat(y, small))
        return self._repeat(self._times(product, terms), shape)

    def _by_matrices(self, x: Value, y: Value) -> Value | None:
        """A product whose rows or columns are merged axes, some of which are repeated, as one of many
        matrices before the merge: apart, what is merged would be in memory."""
        rows = self._merged(x)
        if rows is not None and rows.shape[-1] == x.shape[-1]:
            return self._reshaped(self._times_matrix(rows, y), (x.shape[0], y.shape[1]))
        columns = self._merged(y)
        if columns is None or columns.shape[0] != y.shape[0]:
            return None
        rank = len(columns.shape)
        perm = (*range(1, rank), 0)
        moved = self.b.transpose(self.lines[columns].value, perm=perm)
        rows = self._repeat(moved, tuple([columns.shape[axis] for axis in perm]))
        self._define()
        product = self._times_matrix(rows, self.b.transpose(x, perm=(1, 0)))
        merged = self._reshaped(product, (y.shape[1], x.shape[0]))
        return self.b.transpose(merged, perm=(1, 0))  # type: ignore[no-any-return]

    def _merged(self, value: Value) -> Value | None:
        """The repeated value of which `value` is a reshape."""
        reshape = defined_by(value, "reshape", self.defs)
        source = reshape.operands[0] if reshape is not None else None
        if source is None or source not in self.lines or not self.lines[source].is_plain:
            return None
        return source if source.type.size >= LARGE and len(source.shape) > 2 else None

    def _times_matrix(self, x: Value, y: Value) -> Value:
        """The product of each matrix of `x` with the one `y`."""
        batch = x.shape[:-2]
        alone = self._reshaped(y, (*[1] * len(batch), *y.shape))
        factor = self._repeat(alone, (*batch, *y.shape))
        return self._emitted(OPS["matmul"], (x, factor), {})

    def _convolution(self, instruction: Instruction) -> Value | None:
        """Convolutions of images that are repeated, by kernels that are, and of groups in which both are."""
        (x, w), whole = instruction.operands, instruction.result.shape
        images, kernels = self._plain(x), self._plain(w)
        groups = len(x.shape) == 5
        sizes = {x: list(x.shape), w: list(w.shape)}
        if images is not None and images.repeated[0]:
            sizes[x][0] = 1
        if kernels is not None and kernels.repeated[groups]:
            sizes[w][groups] = 1
        both = images is not None and kernels is not None and images.repeated[1] and kernels.repeated[0]
        if groups and both:
            sizes[x][1] = sizes[w][0] = 1
        if all(tuple(own) == value.shape for value, own in sizes.items()):
            return None
        lines = ((x, images), (w, kernels))
        operands = [
            value if line is None else self._repeat(line.value, tuple(sizes[value])) for value, line in lines
        ]
        return self._repeat(self._emitted(instruction.op, operands, instruction.attrs), whole)

    def _transpose(self, instruction: Instruction, line: Line) -> Value:
        perm = tuple([axis for place in instruction.attrs["perm"] for axis in line.groups[place]])
        fine, sizes = [tuple([own[axis] for axis in perm]) for own in (line.fine, line.value.shape)]
        kept = [axis for axis in perm if not line.repeated[axis]]
        value = self._reshaped(line.value, tuple([line.fine[axis] for axis in sorted(kept)]))
        if kept != sorted(kept):
            order = tuple([sorted(kept).index(axis) for axis in kept])
            value = self._emitted(instruction.op, (value,), {"perm": order})
        return self._whole(self._reshaped(value, sizes), fine, instruction.result.shape)

    def _slice(self, instruction: Instruction, line: Line) -> Value | None:
        """A slice along axes none of which is merged; along a merged one, whole copies and the ends."""
        attrs, shape = instruction.attrs, instruction.result.shape
        for place, group in enumerate(line.groups):
            ends = tuple([attrs[name][place] for name in ("start", "size", "step")])
            if len(group) > 1 and ends != (0, line.shape[place], 1):
                return self._slice_of_copies(instruction, line, place)
        parts, fine = [], []
        for place, group in enumerate(line.groups):
            part = tuple([attrs[name][place] for name in ("start", "size", "step")])
            merges = len(group) > 1
            for axis in group:
                own = line.value.shape[axis]
                parts.append((0, own, 1) if merges or own == 1 else part)
                fine.append(line.fine[axis] if merges else shape[place])
        ones = {axis for axis, own in enumerate(line.repeated) if own}
        kept = _without(parts, ones)
        start, size, step = zip(*kept, strict=True) if kept else ((), (), ())
        value = line.value
        if size != _without(value.shape, ones) or any(by != 1 for by in step):
            value = self._reshaped(value, _without(value.shape, ones))
            value = self._emitted(instruction.op, (value,), {"start": start, "size": size, "step": step})
            value = self._reshaped(value, tuple([part[1] for part in parts]))
        return self._whole(value, tuple(fine), shape)

    def _slice_of_copies(self, instruction: Instruction, line: Line, place: int) -> Value | None:
        join = join_of_copies(self._emitted, instruction, line, place)
        if join is None:
            return None
        if len(join.parts) == 1:
            return join.parts[0]
        self.joins[instruction.result] = join
        return None

    def _reshape(self, instruction: Instruction, line: Line) -> Value | None:
        """A reshape that merges no axis that is repeated with one that is not."""
        cut = cut_by(line, instruction.result.shape)
        if cut is None or len(cut.fine) != len(cut.counts):
            return None
        return self._repeat(self._reshaped(line.value, cut.sizes), instruction.result.shape)

    # -- ops on lines -----------------------------------------------------------------------------

    def _by_lines(self, instruction: Instruction, line: Line) -> Value | None:
        """Ops on each line along an axis: what is repeated along other axes is computed once; so is what is
        repeated along its own, where the result follows from the element."""
        op, attrs, b = instruction.op, instruction.attrs, self.b
        last = len(line.counts) - 1
        axis = attrs.get("axis", last)
        group = line.groups[axis]
        kept = [place for place in group if not line.repeated[place]]
        count, whole = math.prod(line.fine[place] for place in kept), line.shape[axis]
        if op.name in PLACES and count < whole:
            return self._place(instruction, line, group, kept)
        if op.name == "sort" and 1 < count < whole:
            ordered = _merged(line.value.shape, group, count)
            (value,) = b.append(op, (self._reshaped(line.value, ordered),), attrs)
            fine = (*line.fine[: group[0]], count, whole // count)
            return self._whole(self._reshaped(value, (*ordered, 1)), fine, instruction.result.shape)
        if 1 < count < whole:
            merged = self._merged_lines(instruction, line, group)
            if merged is not None:
                return merged
        fine, value, place = _merged(line.fine, group, whole), line.value, group[0]
        if count < whole and count > 1:
            value = self._repeat(
                value, tuple([line.fine[i] if i in group else size for i, size in enumerate(value.shape)])
            )
        value = self._reshaped(value, _merged(value.shape, group, 1 if count == 1 else whole))
        sizes = list(value.shape)
        if has_pairs(instruction):
            sizes[-1] = 2
        if count == 1 < whole:
            constant = self._repeat(value, tuple(sizes))
            follows = along_constant_line(b, instruction, constant, _along(sizes, place, whole), place)
            if follows is not None:
                return self._line_of(instruction, follows, fine, place)
        sizes[place] = whole
        if tuple(sizes) == fine:
            return None
        if "axis" in attrs:
            attrs = {**attrs, "axis": place}
        result = self._emitted(op, (self._repeat(value, tuple(sizes)),), attrs)
        return self._line_of(instruction, result, fine, place)

    def _merged_lines(self, instruction: Instruction, line: Line, group: range) -> Value | None:
        """Results along merged axes, some of which are repeated, that follow from what is not."""
        if instruction.op.name == "argsort":
            places, whole = sorted_places(self.b, line, group), instruction.result.shape[-1]
            return self._whole(places, (*line.fine[: group[0]], whole), instruction.result.shape)
        running = running_fold(self.b, self._emitted, instruction.op, line, group, instruction.attrs)
        if running is None:
            return None
        result = self._whole(running, line.fine, instruction.result.shape)
        self._define()
        self.lines[result] = Line(running, line.fine, line.counts)
        return result

    def _line_of(self, instruction: Instruction, result: Value, fine: Shape, place: int) -> Value:
        """`result`, of lines along the axis `place` of an operand with axes `fine`, repeated along others.
        Transforms between numbers and pairs have a last axis more or less."""
        if instruction.op.name in PLACES:
            fine = (*fine[:place], *fine[place + 1 :])
        else:
            fine = _along(fine, place, result.shape[place])
        fine = (*fine, *result.shape[len(fine) :])[: len(result.shape)]
        return self._whole(result, fine, instruction.result.shape)

    def _place(self, instruction: Instruction, line: Line, group: range, kept: Sequence[int]) -> Value:
        """The first place among merged axes: that of the first copy, along those that are repeated."""
        b, place = self.b, group[0]
        count = math.prod(line.fine[axis] for axis in kept)
        value = self._reshaped(line.value, _merged(line.value.shape, group, count))
        (number,) = b.append(instruction.op, (value,), {**instruction.attrs, "axis": place})
        result = number
        if kept:
            result, above = b.mul(number, 0), number
            for axis in reversed(kept):
                size, stride = line.fine[axis], math.prod(line.fine[axis + 1 : group[-1] + 1])
                following = b.floor_divide(above, size)
                result = b.add(result, b.mul(b.sub(above, b.mul(following, size)), stride))
                above = following
        fine = (*line.fine[:place], *line.fine[group[-1] + 1 :])
        return self._whole(result, fine, instruction.result.shape)

    def _search(self, instruction: Instruction) -> Value | None:
        """A search for values that are repeated, each once."""
        among, values = instruction.operands
        line = self.lines.get(values)
        if line is None:
            return self._search_among(instruction, self.lines[among], values)
        found = self._emitted(instruction.op, (among, line.value), instruction.attrs)
        return self._whole(found, line.fine, values.shape)

    def _search_among(self, instruction: Instruction, line: Line, values: Value) -> Value | None:
        """A search among elements each of which is repeated, and so among the elements."""
        cut = cut_by(line, line.shape)
        if cut is None or len(cut.fine) > 2 or cut.sizes[-1] != 1:
            return None
        copies, count = cut.fine[-1], math.prod(cut.fine[:-1])
        few = self._reshaped(line.value, (count,))
        (found,) = self.b.append(instruction.op, (few, values), instruction.attrs)
        return self._times(found, copies)

    def _histogram(self, instruction: Instruction) -> Value | None:
        """Counts, or sums of weights: what is repeated once, with the sums of the weights of all copies."""
        b, (places, *weights) = self.b, instruction.operands
        line = self.lines.get(places)
        if line is None:
            return sum_of_weights(self.b, instruction, self.lines[weights[0]])
        copies = math.prod(size for size, own in zip(line.fine, line.repeated, strict=True) if own)
        flat = (places.type.size // copies,)
        few = self._reshaped(line.value, flat)
        if not weights:
            (counts,) = b.append(instruction.op, (few,), instruction.attrs)
            return self._times(counts, copies)
        axes = tuple([axis for axis, own in enumerate(line.repeated) if own])
        total = self._emitted(OPS["sum"], (self._reshaped(weights[0], line.fine),), {"axes": axes})
        (sums,) = b.append(instruction.op, (few, self._reshaped(total, flat)), instruction.attrs)
        return sums

    def _scatter(self, instruction: Instruction) -> Value | None:
        """Writes of repeated slices, some slices at a time."""
        _, value, *indices = instruction.operands
        line, rank = self.lines.get(value), len(indices[0].shape)
        if line is None or value.type.size < LARGE:
            return None
        cut = cut_by(line, (indices[0].type.size, *value.shape[rank:]))
        return scatter_of_slices(self.b, instruction, self._cut(line, cut)) if cut is not None else None

    # -- control flow -----------------------------------------------------------------------------

    def _control(self, instruction: Instruction) -> tuple[Value, ...] | None:
        """Control flow whose regions read repeated values: they repeat them themselves."""
        attrs, operands = dict(instruction.attrs), instruction.operands
        if instruction.op.kind is Kind.SWITCH:
            first, last, shift = 1, len(operands), 1
        elif instruction.op.kind in _LOOPS:
            first, last, shift = attrs["carries"], len(operands), 0
        else:  # what a replay keeps of its states is memory
            first, last, shift = attrs["carries"], len(operands) - attrs["states"], 0
        slices = len(operands) - attrs.get("slices", 0)
        inner: dict[int, Value] = {}
        invariants, still = [], []
        for place in range(first, last):
            line = self._plain(operands[place])
            if line is None or operands[place].type.size < LARGE:
                inner[place] = operands[place]
            elif place < slices:
                inner[place] = line.value
            elif line.repeated[0]:
                inner[place] = self._reshaped(line.value, line.value.shape[1:])
                invariants.append(place)
            else:
                inner[place] = line.value
            if place >= slices and place not in invariants:
                still.append(place)
        if all(inner[place] is operands[place] for place in inner):
            return None
        before, behind = range(min(slices, last)), range(last, len(operands))
        order = [*before, *invariants, *still, *behind]
        given = [inner.get(place, operands[place]) for place in order]
        if "slices" in attrs:
            attrs["slices"] = len(still)
        params = [
            value.type.with_shape(value.shape[1:]) if place in still else value.type
            for place, value in zip(order, given, strict=True)
        ]
        regions = tuple(
            [_with_params(region, order[shift:], params[shift:], shift) for region in instruction.regions]
        )
        return self.b.append(instruction.op, tuple(given), attrs, regions=regions)


def _without(values: Sequence[_T], axes: Container[int]) -> tuple[_T, ...]:
    """`values` of the axes other than `axes`."""
    return tuple([value for axis, value in enumerate(values) if axis not in axes])


def _merged(sizes: Shape, group: range, size: int) -> Shape:
    """`sizes` with one axis of `size` in place of the axes of `group`."""
    return (*sizes[: group[0]], size, *sizes[group[-1] + 1 :])


def _along(sizes: Sequence[int], axis: int, size: int) -> Shape:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _with_params(region: Function, order: Sequence[int], types: Sequence[object], shift: int) -> Function:
    """`region` with its parameters in another order and of the `types` of what they repeat. A replay has
    regions that read fewer of its operands than others."""
    b = Builder()
    params: list[Value] = []
    table: dict[Value, Value] = {}
    count = len(region.params)
    for place, type_ in zip(order[:count], types[:count], strict=True):
        param = region.params[place - shift]
        if param.type == type_:
            params.append(param)
            continue
        value = Value(type_, param.hint)  # type: ignore[arg-type]
        params.append(value)
        table[param] = b.broadcast_to(value, param.shape)
    substitution = Substitution(table)
    body = [substitution.apply(instruction) for instruction in region.body]
    return Function(region.name, tuple(params), (*b.body, *body), substitution.all(region.results))
