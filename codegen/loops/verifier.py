"""Verifier of the loop form. A kernel is valid if

1. each index, symbol, buffer and value is named once on the way to where it is used, and before that;
2. operands have the dtypes that their op, store or loop asks for;
3. every access is within its buffer: for all values of symbols, for the ranges of loops, and where the
   conditions hold under which it runs (`If`, `Fail`, and the guard of the access);
4. no two parts of a ``tasks`` loop access one element that one of them writes;
5. a loop of lanes has at most as many iterations as lanes, which are a power of two, hands on what one
   reduction folds alone, and no lane of it reads what another one writes; so do copies that take turns;
6. `Alloc` takes no more memory than a kernel may have.

Bounds follow from affine forms: an index is greatest where the names in it are, from the innermost on. Where
a value stands in an index, its range follows from those that it is chosen from: indices, and numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np

from ...base.errors import TracejitError
from ...ir.dtypes import BY_NAME, SHORT_NAME
from ...ir.registry import OPS, check_attrs
from ...ir.types import TensorType
from .accesses import Access, Facts, accesses_of, called, entered, iterations_apart
from .affine import Affine, Ranges, affine
from .intrinsics import INTRINSICS
from .nodes import (
    INTERLEAVED,
    LANES,
    TASKS,
    Accumulate,
    Aligned,
    Alloc,
    Call,
    Carry,
    Compute,
    Condition,
    Constant,
    Fail,
    Fold,
    For,
    Holds,
    If,
    InRange,
    Invert,
    Kernel,
    Let,
    Load,
    Node,
    Operand,
    Prefetch,
    Quotient,
    Store,
    Total,
    While,
)
from .printer import head_of
from .rewriting import folding_op


class LoopFormError(TracejitError):
    """A kernel in the loop form is not valid.

    Attributes:
        problem: what is wrong, in a line.
        node: where, None where it is the kernel's head.
    """

    def __init__(self, kernel: str, problem: str, node: Node | None = None) -> None:
        self.problem, self.node = problem, node
        line = "" if node is None else f"\n  {head_of(node)}"
        super().__init__(f"kernel {kernel}: {problem}{line}")


def verify_kernel(kernel: Kernel) -> None:
    """Raise LoopFormError unless `kernel` is valid."""
    _Verifier(kernel).run()


#: Bytes of memory of its own that a kernel may have: what does not fit its stack is in a scratch block
#: (`llvm.scratch`), which has to fit the second cache.
OWN_BYTES: Final = 1 << 22

#: The least and the greatest number that a value is; and those that loops around hand on, which it may be,
#: too, and of which nothing else is known.
Span: TypeAlias = "tuple[float, float, frozenset[str]]"
_ANYTHING: Final[Span] = -math.inf, math.inf, frozenset()


class _Known(Facts):
    """Names and facts at a place of the kernel, and the dtypes of values."""

    def __init__(self, ranges: Ranges, values: dict[str, str], facts: tuple[InRange, ...]) -> None:
        super().__init__(ranges, facts)
        self.values = values

    def inner(self) -> _Known:
        return _Known(self.ranges, dict(self.values), self.facts)

    def where(self, facts: Sequence[InRange]) -> _Known:
        return _Known(self.ranges, dict(self.values), (*self.facts, *facts))


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        #: The dtype and the size of each buffer, and whether it may be written.
        self.buffers: dict[str, tuple[str, Affine, bool]] = {}
        self.own_bytes = 0
        #: Memory of the kernel's own that all tasks share.
        self.shared: set[str] = set()
        #: The spans of integers that are chosen from others.
        self.spans: dict[str, Span] = {}
        #: The statement that is checked, None for the kernel's head.
        self.statement: Node | None = None

    def fail(self, problem: str) -> NoReturn:
        raise LoopFormError(self.kernel.name, problem, self.statement)

    def run(self) -> None:
        ranges = Ranges(self.kernel.symbols)
        for buffer in self.kernel.buffers:
            self.declare(buffer.name, buffer.dtype, buffer.size, ranges, out=buffer.out)
        self.block(self.kernel.body, _Known(ranges, {}, ()))

    def declare(self, name: str, dtype: str, size: Affine, ranges: Ranges, *, out: bool) -> None:
        if name in self.buffers:
            self.fail(f"{name} is declared twice")
        self.names(size, ranges)
        self.buffers[name] = dtype, size, out

    def names(self, expression: Affine, ranges: Ranges) -> None:
        for name in expression.names:
            if name not in ranges.bounds:
                what = "no integer" if name[0] == "%" else "no symbol, and no index of a loop around"
                self.fail(f"{name} is {what} ({expression})")

    # -- statements -------------------------------------------------------------------------------

    def block(self, nodes: Sequence[Node], known: _Known) -> _Known:
        """Check `nodes`; what is known at their end."""
        around = self.statement
        for node in nodes:
            self.statement = node
            if isinstance(node, Fail):
                self.condition(node.unless, known)
                if not isinstance(node.unless, str):
                    known.facts = (*known.facts, *node.unless)
            else:
                self.node(node, known)
        self.statement = around
        return known

    def node(self, node: Node, known: _Known) -> None:
        if isinstance(node, Let):
            self.names(node.index, known.ranges)
            least = known.ranges.least(node.index), known.ranges.least(node.index.scaled(-1))
            ends = [-math.inf if end is None else end for end in least]
            self.define(node.name, node.dtype, known, (ends[0], -ends[1], frozenset()))
        elif isinstance(node, Holds):
            self.condition(node.conditions, known)
            self.define(node.name, "bool", known)
        elif isinstance(node, (Load, Store)):
            self.access(node, known)
        elif isinstance(node, (Compute, Fold, Invert, Quotient)):
            self.computed(node, known)
        elif isinstance(node, (Accumulate, Total)):
            self.compensated(node, known)
        elif isinstance(node, Prefetch):
            self.names(node.index, known.ranges)
            if node.buffer not in self.buffers:
                self.fail(f"there is no buffer {node.buffer}")
        elif isinstance(node, For):
            self.loop(node, known)
        elif isinstance(node, While):
            inner = self.carry(node.carried, known, known.inner())
            inner = self.block(node.body, inner)
            self.typed(node.condition, "bool", inner, "the condition of a while loop")
            self.handed_on(node.carried, known, inner)
        elif isinstance(node, If):
            self.condition(node.condition, known)
            facts = node.condition if isinstance(node.condition, tuple) else ()
            self.block(node.then, known.where(facts))
            self.block(node.otherwise, known.inner())
        elif isinstance(node, Alloc):
            self.alloc(node, known)
        elif isinstance(node, Call):
            self.call(node, known)

    def define(self, name: str, dtype: str, known: _Known, span: Span = _ANYTHING) -> None:
        if name in known.values:
            self.fail(f"%{name} is defined twice")
        known.values[name] = dtype
        if dtype == "i64":  # it may stand in indices
            self.spans[name] = span
            least, greatest, among = span
            ends = [
                (affine(int(end)),) if abs(end) < math.inf and not among else () for end in (least, greatest)
            ]
            known.ranges = known.ranges.within(f"%{name}", *ends)

    def chosen(self, operands: Sequence[Operand]) -> Span:
        """The span of a value that is one of `operands`."""
        spans = [
            (operand.value, operand.value, frozenset[str]()) if isinstance(operand, Constant)
            else self.spans.get(operand, _ANYTHING)
            for operand in operands
        ]  # fmt: skip
        least, greatest, among = zip(*spans, strict=True)
        return min(least), max(greatest), frozenset().union(*among)

    def dtype_of(self, operand: Operand, known: _Known) -> str:
        if isinstance(operand, Constant):
            if not _is_number_of(operand.value, operand.dtype):
                self.fail(f"{operand.value!r} is no number of {operand.dtype}")
            return operand.dtype
        if operand not in known.values:
            self.fail(f"%{operand} is not defined")
        return known.values[operand]

    def typed(self, operand: Operand, dtype: str, known: _Known, what: str) -> None:
        own = self.dtype_of(operand, known)
        if own != dtype:
            self.fail(f"{what} must be {dtype}, got {own}")

    def computed(self, node: Compute | Fold | Invert | Quotient, known: _Known) -> None:
        span = _ANYTHING
        if isinstance(node, Compute):
            types = tuple(TensorType(BY_NAME[self.dtype_of(x, known)], ()) for x in node.operands)
            if node.op.emit is None:
                self.fail(f"%{node.name}: {node.op.name} computes no single element")
            try:
                check_attrs(node.op, node.attrs)
                (result,) = node.op.infer(types, node.attrs)
            except TracejitError as error:
                self.fail(str(error))
            own = SHORT_NAME[result.dtype]
            if own != node.dtype:
                self.fail(f"%{node.name} must be {own}, which is what {node.op.name} gives, got {node.dtype}")
            if node.op is OPS["where"]:
                span = self.chosen(node.operands[1:])
        elif isinstance(node, Fold):
            if node.op.reduction is None:
                self.fail(f"%{node.name}: {node.op.name} is no reduction")
            if node.op.reduction.idempotent:
                span = self.chosen((node.accumulator, node.operand))
            for operand in (node.accumulator, node.operand):
                self.typed(operand, node.dtype, known, f"an operand of the fold %{node.name}")
        elif isinstance(node, Invert):
            self.typed(node.divisor, node.dtype, known, "a divisor")
            self.define(f"{node.name}'", node.dtype, known)  # no number: `Quotient` alone takes it
            return
        else:
            self.typed(node.operand, node.dtype, known, "a dividend")
            if f"{node.inverse}'" not in known.values:
                self.fail(f"%{node.inverse} is no inverse of a divisor")
        self.define(node.name, node.dtype, known, span)

    def compensated(self, node: Accumulate | Total, known: _Known) -> None:
        if BY_NAME[node.dtype].kind != "f":
            self.fail(f"sums of {node.dtype} are exact")
        operands = (node.total, node.error, *((node.operand,) if isinstance(node, Accumulate) else ()))
        for operand in operands:
            self.typed(operand, node.dtype, known, "a sum, and what rounding took off it,")
        for name in node.names if isinstance(node, Accumulate) else (node.name,):
            self.define(name, node.dtype, known)

    def condition(self, condition: Condition, known: _Known) -> None:
        if isinstance(condition, str):
            self.typed(condition, "bool", known, "a condition")
        elif isinstance(condition, Aligned):
            for buffer, index in (*condition.places, *itertools.chain(*condition.apart)):
                if buffer not in self.buffers:
                    self.fail(f"there is no buffer {buffer}")
                self.names(index, known.ranges)
        else:
            for check in condition:
                self.names(check.index, known.ranges)
                if check.count is not None:
                    self.names(check.count, known.ranges)

    def alloc(self, node: Alloc, known: _Known) -> None:
        size = node.size.number
        if size is None:
            self.fail(f"{node.name}: the size of memory of its own must be a number, got {node.size}")
        self.declare(node.name, node.dtype, node.size, known.ranges, out=True)
        if node.shared:
            self.shared.add(node.name)
            return
        self.own_bytes += size * BY_NAME[node.dtype].itemsize
        if self.own_bytes > OWN_BYTES:
            self.fail(f"{node.name}: {self.own_bytes} bytes of its own; a kernel has {OWN_BYTES}")

    def call(self, node: Call, known: _Known) -> None:
        if node.callee not in INTRINSICS:
            self.fail(f"there is no instruction {node.callee}")
        intrinsic = INTRINSICS[node.callee]
        expected = intrinsic.expected(node.sizes)
        if expected:
            self.fail(f"{node.callee} expects the sizes {expected}; got {', '.join(map(str, node.sizes))}")
        count = len(intrinsic.places(node.sizes))
        if len(node.places) != count:
            self.fail(f"{node.callee} expects {count} places, got {len(node.places)}")
        dtypes = {self.inside(access, known, (), written=written) for access, written in called(node)}
        if len(dtypes) > 1:
            self.fail(f"{node.callee} expects elements of one dtype, got {', '.join(sorted(dtypes))}")

    # -- accesses ---------------------------------------------------------------------------------

    def access(self, node: Load | Store, known: _Known) -> None:
        written = isinstance(node, Store)
        count = len(node.values if isinstance(node, Store) else node.names)
        self.condition(node.guard, known)
        if node.mask is not None:
            self.typed(node.mask, "bool", known, "a mask")
        dtype = self.inside((node.buffer, node.index, count), known, node.guard, written=written)
        if isinstance(node, Load):
            if dtype != node.dtype:
                self.fail(f"{node.buffer} has elements of {dtype}, not {node.dtype}")
            for name in node.names:
                self.define(name, dtype, known)
        else:
            for value in node.values:
                self.typed(value, dtype, known, f"what is stored to {node.buffer}")

    def inside(self, access: Access, known: _Known, guard: Sequence[InRange], *, written: bool) -> str:
        """Check that `access` is within its buffer; the dtype of that."""
        buffer, index, count = access
        if buffer not in self.buffers:
            self.fail(f"there is no buffer {buffer}")
        dtype, size, out = self.buffers[buffer]
        if written and not out:
            self.fail(f"{buffer} is no result, and is stored to")
        self.names(index, known.ranges)
        where = known.where(guard)
        if not where.at_least(index):
            self.fail(f"{buffer}[{index}] may be before the buffer")
        if not where.at_least(size.plus(index, -1).plus(-count)):
            elements = f"its {count} elements from there on " if count > 1 else ""
            self.fail(f"{buffer}[{index}] {elements}may be behind the buffer, which has {size}")
        return dtype

    # -- loops ------------------------------------------------------------------------------------

    def carry(self, carried: Sequence[Carry], known: _Known, inner: _Known) -> _Known:
        for carry in carried:
            self.typed(carry.first, carry.dtype, known, f"the first value of %{carry.name}")
            self.define(carry.name, carry.dtype, inner, (math.inf, -math.inf, frozenset([carry.name])))
        return inner

    def handed_on(self, carried: Sequence[Carry], known: _Known, inner: _Known) -> None:
        for carry in carried:
            self.typed(carry.following, carry.dtype, inner, f"the next value of %{carry.name}")
        for carry in carried:
            least, greatest, among = self.chosen((carry.first, carry.following))
            self.define(carry.result, carry.dtype, known, (least, greatest, among - {carry.name}))

    def loop(self, node: For, known: _Known) -> None:
        for bound in (*node.lo, *node.hi):
            self.names(bound, known.ranges)
        if node.index in known.ranges.bounds or node.index in self.buffers:
            self.fail(f"the index {node.index} has the name of another one, or of a buffer")
        if node.step < 1:
            self.fail(f"the loop over {node.index} must step forward, got {node.step}")
        inner = known.inner()
        inner.ranges = entered(node, known.ranges)
        inner = self.carry(node.carried, known, inner)
        if node.kind == TASKS:
            if node.carried or node.step != 1:
                self.fail(f"the tasks {node.index} hand nothing on, and are counted one by one")
            self.apart(node, known)
        if node.kind == LANES:
            self.lanes(node, known)
        if node.kind == INTERLEAVED:
            self.copies(node)
        self.handed_on(node.carried, known, self.block(node.body, inner))

    def lanes(self, node: For, known: _Known) -> None:
        if node.width < 1 or node.width & (node.width - 1):
            self.fail(f"the lanes {node.index} must be a power of two, got {node.width}")
        if node.lo != (affine(0),) or node.step != 1:
            self.fail(f"the lanes {node.index} must be counted from 0, one by one")
        if not any(known.at_least(affine(node.width).plus(hi, -1)) for hi in node.hi):
            self.fail(f"the loop over {node.index} may have more iterations than its {node.width} lanes")
        self.folds(node)
        self.apart(node, known)

    def folds(self, loop: For) -> None:
        """Check that what `loop` hands on is folded by one reduction."""
        for carry in loop.carried:
            op = folding_op(loop.body, carry.name, carry.following)
            if op is None or op.reduction is None:
                self.fail(f"%{carry.name}: {loop.kind} hand on what a fold makes of it, and nothing else")

    def copies(self, node: For) -> None:
        """Check the copies of `node`, which take turns."""
        self.folds(node)
        spans = [hi.plus(lo, -1).number for hi in node.hi for lo in node.lo]
        count = -(-spans[0] // node.step) if len(spans) == 1 and spans[0] is not None else 0
        if node.carried and (count < 1 or count & (count - 1)):
            self.fail(f"copies {node.index} that are folded in pairs must be a power of two")

    def apart(self, loop: For, known: _Known) -> None:
        """Check that no two iterations of `loop`, or parts of it, access an element that one of them
        writes."""
        accesses = list(accesses_of(loop.body))
        for mine, theirs in itertools.product(accesses, repeat=2):
            if not mine.written or mine.buffer != theirs.buffer or self.local(mine.buffer, loop):
                continue
            if not iterations_apart(loop, mine, theirs, known.ranges, known.facts):
                what = "write" if theirs.written else "access"
                self.fail(
                    f"{loop.kind} {loop.index} may {what} one element twice: {mine.buffer}[{mine.index}]"
                    f" and {theirs.buffer}[{theirs.index}]"
                )

    def local(self, buffer: str, loop: For) -> bool:
        """Whether each iteration of `loop` has memory of its own by the name `buffer`. Tasks have: slots are
        of one call."""
        return (
            loop.kind == TASKS
            and buffer not in self.shared
            and all(own.name != buffer for own in self.kernel.buffers)
        )


def _is_number_of(value: Any, dtype: str) -> bool:
    """Whether `value` is one of the numbers of `dtype`; integers are floats, too."""
    kind, value = BY_NAME[dtype].kind, value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float)):
        return False
    if kind == "b":
        return value in (0, 1)
    if kind in "iu":
        least, most = np.iinfo(BY_NAME[dtype]).min, np.iinfo(BY_NAME[dtype]).max
        return bool(least <= value <= most and value == int(value))
    return True
