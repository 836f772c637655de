"""Sinking of broadcasts: large values are repeated behind the ops that read them, and inside of loops.

    exp(broadcast(x))             =  broadcast(exp(x))
    transpose(broadcast(x))       =  broadcast(transpose(x))      and slices, reshapes, concatenations
    sum(broadcast(x), 0)          =  n x                          for n copies along axis 0
    max(broadcast(x), 0)          =  x
    cumsum(broadcast(x), 0)       =  [x, 2 x, 3 x, ...]
    broadcast(x).T @ broadcast(y) =  n x.T y                      for n copies along the sum
    scan(broadcast(x))            =  a scan whose steps all read x

and the rules of `repeated_lines` for ops on lines. A nest of elements reads a broadcast where it lies, and so
do products and convolutions. Everything else would have it in memory, which there may not be enough of.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....base.records import record
from ...builder import Builder
from ...dtypes import INT64
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from ...types import Shape
from ..algebra.cleanup import dce
from ..algebra.repeated_lines import LINE_RULES
from ..rewriting import constant_of, defined_by
from .factors import grouped, refined, wide

#: Elements from which on a value is large: smaller ones are cheap to have in memory.
LARGE: Final = 1 << 17
#: Folds that repeated elements do not change.
IDEMPOTENT: Final = ("max", "min", "nanmax", "all", "any")
#: Ops along a line of one element that is repeated: each result is that element.
_SAME_ALONG: Final = ("sort", "cummax", "cummin")
_ARG_REDUCTIONS: Final = ("argmax", "argmin")
_LOOPS: Final = (Kind.SCAN, Kind.WHILE)


def sink_broadcasts(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: the same results, up to the rounding of sums of repeated
    elements; no dead code where it changed anything."""
    if not any(_is_large_broadcast(instruction) for instruction in function.body):
        return function
    pass_ = _Sinking(function)
    sunk = pass_.run()
    return dce(sunk) if pass_.changed else function


def _is_large_broadcast(instruction: Instruction) -> bool:
    if instruction.op.name != "broadcast":
        return False
    whole, (source,) = instruction.result.type, instruction.operands
    return whole.size >= LARGE and source.type.size < whole.size


@record
class _Line:
    """A value by what it repeats: `value` has its rank, and size 1 along the axes that are repeated."""

    value: Value
    shape: Shape

    @property
    def repeated(self) -> tuple[bool, ...]:
        return tuple([own == 1 < size for own, size in zip(self.value.shape, self.shape, strict=True)])


class _Sinking:
    """Rewrites a Function; `lines` has the values that are repeated. The small ones among them
    may be factors of large ones."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.b = Builder()
        self.table = Substitution()
        self.defs: dict[Value, Instruction] = {}
        self.lines: dict[Value, _Line] = {}
        self.changed = False

    def run(self) -> Function:
        b = self.b
        for original in self.function.body:
            instruction = self.table.apply(original)
            b.location = instruction.location
            start = len(b.body)
            results = self._sunk(instruction)
            if results is None and instruction.op.name == "broadcast":
                self.table[original.result] = self._aligned(instruction)
            elif results is None:
                b.body.append(instruction)
            else:
                self.changed = True
                for old, new in zip(original.results, results, strict=True):
                    self.table[old] = new
            self._define(start)
        return Function(
            self.function.name, self.function.params, tuple(b.body), self.table.all(self.function.results)
        )

    def _define(self, start: int) -> None:
        """Note the instructions of the body from number `start` on."""
        for written in self.b.body[start:]:
            for result in written.results:
                self.defs[result] = written
            if written.op.name == "broadcast":
                self._note(written)

    def _aligned(self, broadcast: Instruction) -> Value:
        """The result of `broadcast`, from what it repeats with as many axes."""
        (source,), shape = broadcast.operands, broadcast.result.shape
        inner = self.lines.get(source)
        line = inner.value if inner is not None else source
        missing = (1,) * (len(shape) - len(line.shape))
        return self._repeat(self._reshaped(line, (*missing, *line.shape)), shape)

    def _note(self, broadcast: Instruction) -> None:
        """Add the result of `broadcast` to the `lines`."""
        (source,), result = broadcast.operands, broadcast.result
        if source.type.ndim == result.type.ndim and constant_of(result, self.defs) is None:
            self.lines[result] = _Line(source, result.shape)

    def _reshaped(self, value: Value, shape: Shape) -> Value:
        if value.shape == shape:
            return value
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
        if self.lines.keys().isdisjoint(instruction.operands):
            return None
        op = instruction.op
        if op.kind.traits.control:
            return self._control(instruction)
        if len(instruction.results) != 1 or op.effect:
            return None
        if op.kind in (Kind.ELEMENTWISE, Kind.CONCAT):
            result = self._together(instruction)
        elif op.kind is Kind.REDUCTION:
            result = self._reduction(instruction, self.lines[instruction.operands[0]])
        elif op.name == "matmul":
            result = self._contraction(instruction)
        elif op.name in ("transpose", "slice", "reshape"):
            line = self.lines[instruction.operands[0]]
            result = getattr(self, f"_{op.name}")(instruction, line)
        else:
            result = self._along_repeats(instruction)
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

    def _together(self, instruction: Instruction) -> Value | None:
        """Arithmetic on operands that all repeat along some axes, or their concatenation along another."""
        shape = instruction.result.shape
        parts: list[_Line | Value] = []
        axes = set(range(len(shape))) - {instruction.attrs.get("axis")}
        for operand in instruction.operands:
            line = self.lines.get(operand)
            constant = constant_of(operand, self.defs)
            if constant is not None:
                parts.append(operand)
                continue
            if line is None:
                return None
            axes &= {axis for axis, repeated in enumerate(line.repeated) if repeated}
            parts.append(line)
        if not axes or not any(isinstance(part, _Line) for part in parts):
            return None
        operands = []
        for part in parts:
            sizes = tuple([1 if axis in axes else size for axis, size in enumerate(part.shape)])
            if isinstance(part, _Line):
                operands.append(self._repeat(part.value, sizes))
            else:
                constant = constant_of(part, self.defs)
                operands.append(self.b.full(value=constant, shape=sizes, dtype=part.dtype))
        (result,) = self.b.append(instruction.op, tuple(operands), instruction.attrs)
        return self._repeat(result, shape)

    def _reduction(self, instruction: Instruction, line: _Line) -> Value | None:
        """Folds: what is repeated along other axes is folded once; of what is repeated along the folded ones,
        once as well, where the result follows from it."""
        op, axes = instruction.op, instruction.attrs["axes"]
        copies = math.prod(line.shape[axis] for axis in axes if line.repeated[axis])
        sums = op.name == "sum" and line.value.dtype.kind != "b"
        follows = sums or op.name in IDEMPOTENT
        if not follows and not any(own for axis, own in enumerate(line.repeated) if axis not in axes):
            return None
        value = line.value
        if not follows:
            value = self._repeat(
                value, tuple([line.shape[i] if i in axes else size for i, size in enumerate(value.shape)])
            )
        (result,) = self.b.append(op, (value,), instruction.attrs)
        if copies > 1 and sums:
            result = self._times(result, copies)
        return self._repeat(result, instruction.result.shape)

    def _times(self, value: Value, count: int) -> Value:
        """The sum of `count` copies of `value`; of integers, as it overflows."""
        dtype = value.dtype
        factor = np.array(count).astype(dtype).item()
        result: Value = self.b.mul(value, self.b.scalar(factor, dtype))
        return result

    def _contraction(self, instruction: Instruction) -> Value | None:
        """Products: rows, columns and matrices that are repeated are multiplied once; so is what is repeated
        along the sum on both sides."""
        (x, y), shape = instruction.operands, instruction.result.shape
        left, right = (self.lines.get(operand) for operand in (x, y))
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
        start = len(self.b.body)
        perm = (*range(1, rank), 0)
        moved = self.b.transpose(self.lines[columns].value, perm=perm)
        rows = self._repeat(moved, tuple([columns.shape[axis] for axis in perm]))
        self._define(start)
        product = self._times_matrix(rows, self.b.transpose(x, perm=(1, 0)))
        merged = self._reshaped(product, (y.shape[1], x.shape[0]))
        return self.b.transpose(merged, perm=(1, 0))  # type: ignore[no-any-return]

    def _merged(self, value: Value) -> Value | None:
        """The repeated value of which `value` is a reshape."""
        reshape = defined_by(value, "reshape", self.defs)
        source = reshape.operands[0] if reshape is not None else None
        if source is None or source not in self.lines or source.type.size < LARGE or len(source.shape) < 3:
            return None
        return source

    def _times_matrix(self, x: Value, y: Value) -> Value:
        """The product of each matrix of `x` with the one `y`."""
        start, batch = len(self.b.body), x.shape[:-2]
        alone = self._reshaped(y, (*[1] * len(batch), *y.shape))
        factor = self._repeat(alone, (*batch, *y.shape))
        self._define(start)
        product: Value = self.b.matmul(x, factor)
        sunk = self._sunk(self.b.body[-1])
        return product if sunk is None else sunk[0]

    def _transpose(self, instruction: Instruction, line: _Line) -> Value:
        moved = self.b.transpose(line.value, perm=instruction.attrs["perm"])
        return self._repeat(moved, instruction.result.shape)

    def _slice(self, instruction: Instruction, line: _Line) -> Value:
        attrs, shape = instruction.attrs, line.value.shape
        start, size, step = (
            tuple([own if width != 1 else other for own, width in zip(attrs[name], shape, strict=True)])
            for name, other in (("start", 0), ("size", 1), ("step", 1))
        )
        # an axis of one element that is sliced away altogether
        size = tuple([min(own, whole) for own, whole in zip(size, instruction.result.shape, strict=True)])
        part = self.b.slice(line.value, start=start, size=size, step=step)
        return self._repeat(part, instruction.result.shape)

    def _reshape(self, instruction: Instruction, line: _Line) -> Value | None:
        """A reshape that merges no axis that is repeated with one that is not."""
        shape = instruction.result.shape
        fine = refined((wide(line.shape), wide(shape)))
        if fine is None:
            return None
        own = [repeated for repeated, size in zip(line.repeated, line.shape, strict=True) if size != 1]
        groups, merged = grouped(fine, wide(line.shape)), grouped(fine, wide(shape))
        assert groups is not None
        assert merged is not None
        repeated = [own[place] for place, group in enumerate(groups) for _ in group]
        if any(len({repeated[axis] for axis in group}) > 1 for group in merged):
            return None
        along = iter([repeated[group[0]] for group in merged])
        sizes = tuple([1 if size == 1 or next(along) else size for size in shape])
        return self._repeat(self._reshaped(line.value, sizes), shape)

    def _along_repeats(self, instruction: Instruction) -> Value | None:
        """Ops on lines along which one element is repeated, whose results follow from it."""
        (operand, *_), attrs, name = instruction.operands, instruction.attrs, instruction.op.name
        line = self.lines.get(operand)
        axis = attrs.get("axis", len(operand.shape) - 1)
        if name == "searchsorted":
            return self._search(instruction)
        if line is None or not line.repeated[axis]:
            return None
        shape = instruction.result.shape
        if name in _ARG_REDUCTIONS:
            (result,) = self.b.append(instruction.op, (line.value,), attrs)
            return self._repeat(result, shape)
        if name in _SAME_ALONG:
            return self._repeat(line.value, shape)
        if name == "argsort":
            return self.b.iota(shape=shape, axis=axis, dtype=INT64)  # type: ignore[no-any-return]
        if name == "cumsum" and line.value.dtype.kind != "b":
            count = self.b.iota(shape=shape, axis=axis, dtype=INT64)
            count = self.b.sub(shape[axis], count) if attrs["reverse"] else self.b.add(count, 1)
            factor = self.b.cast(count, dtype=line.value.dtype)
            return self.b.mul(self._repeat(line.value, shape), factor)  # type: ignore[no-any-return]
        return None

    def _search(self, instruction: Instruction) -> Value | None:
        """A search for values that are repeated, each once."""
        among, values = instruction.operands
        line = self.lines.get(values)
        if line is None:
            return None
        (found,) = self.b.append(instruction.op, (among, line.value), instruction.attrs)
        return self._repeat(found, values.shape)

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
            line = self.lines.get(operands[place])
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
