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

from typing import Final

from ....builder import Builder
from ....graph import Function, Instruction, Substitution, Value
from ....registry import Kind
from ...algebra.cleanup import dce
from ...algebra.simplify import LINE_RULES
from ...rewriting import constant_of
from .. import LARGE, is_large_broadcast
from .arithmetic import together
from .axis_ops import by_lines, reduction
from .contractions import contraction, convolution, product_of_merged
from .control_flow import control
from .implied_joins import join_of_update
from .places import histogram, scatter, search
from .repeated_gathers import GatherReader
from .repeated_joins import JoinReader, same_slice
from .repeated_matrices import once_for_repeated_matrices
from .repeated_values import RepeatedValues
from .views import reshaped, sliced, transposed

#: Views of what is repeated, by the names of ops.
VIEWS: Final = {"transpose": transposed, "slice": sliced, "reshape": reshaped}


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
    """Rewrites a Function, of which `repeats` has the values that are repeated. The small ones among them may
    be factors of large ones."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.table = Substitution()
        self.repeats = repeats = RepeatedValues(Builder(), self._sunk)
        self.join_reader = JoinReader(
            repeats.b, repeats.joins, repeats.lines, _spread(function), repeats.emit
        )
        self.gathers = GatherReader(repeats.b, repeats.joins, repeats.lines, repeats.defs, repeats.emit)
        self.changed = False

    def run(self) -> Function:
        b = self.repeats.b
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
            self.repeats.define()
        return Function(
            self.function.name, self.function.params, tuple(b.body), self.table.all(self.function.results)
        )

    def _aligned(self, broadcast: Instruction) -> Value:
        """The result of `broadcast`, from what it repeats with as many axes."""
        (source,), shape = broadcast.operands, broadcast.result.shape
        inner = self.repeats.plain(source)
        line = inner.value if inner is not None else source
        missing = (1,) * (len(shape) - len(line.shape))
        return self.repeats.repeat(self.repeats.reshaped(line, (*missing, *line.shape)), shape)

    def _sunk(self, instruction: Instruction) -> tuple[Value, ...] | None:
        """The results of `instruction` from what its operands repeat; None where it stays as it is."""
        repeats = self.repeats
        if instruction.op.name == "matmul" and len(instruction.result.shape) == 2:
            product = product_of_merged(repeats, *instruction.operands)
            if product is not None:
                return (product,)
        op = instruction.op
        if op.name in VIEWS and instruction.result.type.size >= LARGE:
            constant = constant_of(instruction.operands[0], repeats.defs)
            if constant is not None:
                scalar = repeats.b.scalar(constant, instruction.result.dtype)
                return (repeats.repeat(scalar, instruction.result.shape),)
        if op.name == "gather":
            taken = self.gathers.read(instruction)
            return None if taken is None else (taken,)
        if op.kind is Kind.UPDATE:
            join = join_of_update(repeats.emit, instruction, repeats.lines, repeats.joins, repeats.defs)
            if join is not None:
                repeats.joins[instruction.result] = join
            return None
        if not repeats.joins.keys().isdisjoint(instruction.operands):
            read = self.join_reader.read(instruction, repeats.defs)
            if read is not None:
                return (read,)
        if op.name == "matmul":
            product = contraction(repeats, instruction)
            return None if product is None else (product,)
        if repeats.lines.keys().isdisjoint(instruction.operands):
            return None
        if op.kind.traits.control:
            return control(repeats, instruction)
        if op.kind is Kind.LINALG:
            return once_for_repeated_matrices(repeats.b, instruction, repeats.plain, repeats.defs)
        if len(instruction.results) != 1 or op.effect or 0 in instruction.result.shape:
            return None
        result, line = None, repeats.lines.get(instruction.operands[0])
        if op.kind is Kind.ELEMENTWISE or op.kind is Kind.CONCAT:
            same = same_slice(instruction, repeats.lines) if op.kind is Kind.CONCAT else None
            if same is not None:
                return (repeats.repeat(same.value, instruction.result.shape),)
            result = together(repeats, instruction)
        elif op.name == "bincount":
            result = histogram(repeats, instruction)
        elif op.name == "convolve":
            result = convolution(repeats, instruction)
        elif op.kind is Kind.SCATTER:
            result = scatter(repeats, instruction)
        elif op.name == "searchsorted":
            result = search(repeats, instruction)
        elif line is not None and op.kind is Kind.REDUCTION:
            result = reduction(repeats, instruction, line)
        elif line is not None and op.kind.traits.along_axis:
            result = by_lines(repeats, instruction, line)
        elif line is not None and op.name in VIEWS:
            result = VIEWS[op.name](repeats, instruction, line)
        if result is None:
            result = self._by_rules(instruction)
        return None if result is None else (result,)

    def _by_rules(self, instruction: Instruction) -> Value | None:
        for rule in LINE_RULES.get(instruction.op.name, ()):
            result = rule(self.repeats.b, instruction, self.repeats.defs)
            if result is not None:
                return result
        return None
