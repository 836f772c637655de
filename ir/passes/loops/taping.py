"""Gradients of loop nests that write arrays, by a tape (Griewank and Walther, Evaluating Derivatives, 2008).

``rewind`` keeps what each step was given. That is the whole array where steps write elements of one:

    for i in range(1, n):          # forward                        # backward, from the last step
        y[i] = y[i - 1] * x[i]     tape[top] = y[i]; top += 1       top -= 1; y[i] = tape[top]
                                   y[i] = y[i - 1] * x[i]           x_bar[i] += y[i - 1] * y_bar[i]

So an array is *restored* by the backward steps, which undo each write by the element that it replaced. A
value of a step that its gradient reads is read again, or computed again from counters and elements, where the
arrays are as they were; else it is on the tape, too. Loops and branches inside have the same tape. What a
step keeps lies behind what the loops in it kept: the tape is a stack, of as many rows as the loops can have
steps in all.

All of it is ordinary IR: tapes are arrays that loops write in place, one for each type of row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ...analysis.affine import counted_by
from ...analysis.index_ranges import index_ranges, most_steps
from ...builder import Builder
from ...dtypes import INT64, is_differentiable
from ...graph import Function, Instruction, Substitution, Value
from ...ops.control_flow.counters import while_of_scan, with_step_number
from ...ops.control_flow.rewinding import WHILE_VJP, own_operands, rewound
from ...ops.creation import EMPTY
from ...registry import OPS, Kind, Strength
from ...types import TensorType
from ..algebra.cleanup import expand_regions
from .hoisted_reads import hoist_reads
from .reversed_steps import Reversal
from .reversed_values import NoTapeError, TapedNest

#: The largest size of all tapes of a gradient. They are reserved for the most steps that loops can have.
MAX_BYTES: Final = 1 << 34
#: Values of ops up to this cost are computed again. Where tapes have no bound, those of any cost are.
_MAX_COST: Final = 4.0


def tape_loops(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no op stands for its regions. A ``while_vjp`` whose
    steps write arrays is loops with tapes, where it is known how many steps they can have; another one is a
    ``rewind``."""
    if not any(instruction.op is WHILE_VJP for instruction in function.instructions()):
        return function
    function = expand_regions(function, WHILE_VJP)  # one may be in the region of another op
    b = Builder()
    b.params = list(function.params)
    table = Substitution()
    for original in function.body:
        instruction = table.apply(original)
        if instruction.op is not WHILE_VJP:
            b.body.append(instruction)
            continue
        b.location = instruction.location
        results = _taped(b, instruction)
        if results is None:
            results = rewound(b, instruction.regions, instruction.operands, instruction.attrs)
        for old, new in zip(original.results, results, strict=True):
            table[old] = new
    return Function(function.name, function.params, tuple(b.body), table.all(function.results))


def _taped(b: Builder, instruction: Instruction) -> Sequence[Value] | None:
    """The results of a ``while_vjp`` by loops with tapes; None where there are none."""
    own = own_operands(instruction.operands, instruction.attrs["carries"])
    if not any(step.op.kind.traits.updates_operand for step in instruction.regions[1].instructions()):
        return None  # steps make whole arrays anew, which a `rewind` keeps as they are
    start = len(b.body)
    loop = _whiles(b, instruction, own)
    defs = {result: step for step in b.body for result in step.results}
    condition, body = loop.regions
    loop = loop.replace(regions=(condition, hoist_reads(body, index_ranges(loop, defs))))
    steps = most_steps(loop, defs)
    try:
        for dearest in (_MAX_COST, math.inf):
            results = _with_tapes(b, instruction, loop, own, TapedNest(steps, dearest, set(), {}))
            if results is not None:
                return results
    except NoTapeError:
        pass
    del b.body[start:]
    return None


def _with_tapes(
    b: Builder, instruction: Instruction, loop: Instruction, own: int, nest: TapedNest
) -> Sequence[Value] | None:
    """The results of a ``while_vjp`` by tapes; None where these would be too large. The arrays of `nest`, and
    the sizes of its tapes, are found out first. Raises NoTapeError."""
    begin = len(b.body)
    while True:
        root = _Root(b, nest, instruction, loop, own).run()
        dropped, rows = nest.unread(), root.rows
        is_known = dropped <= nest.dropped and rows == nest.rows
        if is_known and sum([type_.nbytes * count for type_, count in rows.items()]) <= MAX_BYTES:
            return [root.cotangent(i) for i in root.wrt]
        del b.body[begin:]
        if is_known:
            return None
        nest = TapedNest(nest.steps, nest.dearest, dropped | nest.dropped, rows)


class _Root(Reversal):
    """The loop nest in the Function that computes its gradient: all that is computed there can be read."""

    def __init__(self, b: Builder, nest: TapedNest, vjp: Instruction, loop: Instruction, own: int) -> None:
        params = tuple([Value(operand.type) for operand in loop.operands])
        inner = loop.replace(operands=params, results=tuple([Value(each.type) for each in loop.results]))
        nest.steps[inner] = nest.steps[loop]
        wrt = [i for i, param in enumerate(params) if is_differentiable(param.dtype)]
        super().__init__(
            nest,
            Function("loop", params, (inner,), inner.results),
            {},
            counters={},
            known=(),
            seeds=(),
            wrt=wrt,
            sums=(),
            strength=Strength.NONE,
        )
        self.b = b
        self.resolved = dict(zip(params, loop.operands, strict=True))
        self.resolved.update(zip(inner.results, inner.results, strict=True))
        self.strengths = dict.fromkeys(inner.results, Strength(vjp.attrs["strength"]))
        for i, value in zip(wrt, vjp.operands[own:], strict=True):
            self.cotangents[inner.results[i] if i < loop.attrs["carries"] else params[i]] = value

    def ran(self, loop: Instruction) -> None:
        """Append the loop that pushes, with tapes that are empty at first."""
        b: Any = self.b
        (child,) = self.children[loop]
        state: dict[TensorType, tuple[Value, Value]] = {}
        for type_ in child.types:
            tape = self.nest.tape(type_)
            (memory,) = b.append(EMPTY, (), {"shape": tape.shape, "dtype": tape.dtype})
            state[type_] = memory, b.full(value=0, shape=(), dtype=INT64)
        b.write(Substitution(dict(self.resolved)).apply(self.with_tapes(loop, state)))
        self.tapes = {type_: memory for type_, (memory, _) in state.items()}
        self.tops = {type_: top for type_, (_, top) in state.items()}


def _whiles(b: Builder, instruction: Instruction, own: int) -> Instruction:
    """The loop of a ``while_vjp``, which is not appended, with its loops as ``while`` loops whose steps are
    counted."""
    operands, attrs = instruction.operands[:own], {"carries": instruction.attrs["carries"]}
    condition, body = instruction.regions
    return _with_number(
        b,
        Instruction(
            OPS["while"],
            operands,
            attrs,
            tuple([Value(operand.type) for operand in operands[: attrs["carries"]]]),
            instruction.location,
            (condition, _with_whiles(body)),
        ),
    )


def _with_number(b: Builder, loop: Instruction) -> Instruction:
    """`loop`, with the number of the step as its last carry unless it counts anyway."""
    if counted_by(loop) is not None:
        return loop
    operands, attrs, regions = with_step_number(b, loop)
    results = (*loop.results, Value(TensorType(INT64, ()), "number"))
    return loop.replace(operands=operands, attrs=attrs, results=results, regions=regions)


def _with_whiles(function: Function) -> Function:
    """`function` with scans, in loops and branches as well, as ``while`` loops, whose steps are counted."""
    if not function.has_control:
        return function
    b = Builder()
    for step in function.body:
        b.location = step.location
        if step.op.kind is Kind.SCAN:
            scan = step
            operands, attrs, regions = while_of_scan(b, scan)
            results = (Value(TensorType(INT64, ()), "number"), *scan.results)
            step = Instruction(OPS["while"], operands, attrs, results, scan.location, regions)
        if step.op.kind is Kind.WHILE:
            condition, body = step.regions
            step = _with_number(b, step.replace(regions=(condition, _with_whiles(body))))
        elif step.op.kind is Kind.SWITCH:
            step = step.replace(regions=tuple(map(_with_whiles, step.regions)))
        b.body.append(step)
    return Function(function.name, function.params, tuple(b.body), function.results)
