"""The chains of operations by which the steps of a loop wait for each other, made short.

    min(min(above, last), corner)    min(min(above, corner), last)      one operation on `last`, not two

A step of scalar code takes as long as its longest chain from a carry to the next value of a carry; what is
not on it is computed beside it. So an operand that waits for the step before enters last.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from ....base.records import record
from ...analysis.loop_arrays import is_array
from ...builder import Builder
from ...capabilities import by_element
from ...dataflow import increment, read_counts
from ...dtypes import is_inexact
from ...graph import Function, Instruction, Value
from ...registry import OPS, Kind
from ..algebra.cleanup import dce
from ..rewriting import Definitions, Rule, rewrite
from .control_flow import map_regions

#: Ops whose operands may be taken in any order, with the same result; those of integers alone.
_ANY_ORDER: Final = ("minimum", "maximum")
_ANY_ORDER_OF_INTEGERS: Final = ("add", "mul")
_COMPARISONS: Final = ("lt", "gt")


@record(eq=False)
class CarryChains:
    """Dependences of a step on its carries: the values that wait for carries, and the values that the next
    carries wait for."""

    late: set[Value]
    awaited: set[Value]

    def on_chain(self, value: Value) -> bool:
        """Whether `value` is on a chain from a carry to the next value of one."""
        return value in self.late and value in self.awaited


def carry_chains(body: Function, carries: int) -> CarryChains:
    """The chains through a step with `body`. Counters are no chains, nor are arrays in memory."""
    chained = [
        i
        for i in range(carries)
        if not is_array(body.params[i])
        and body.results[i] is not body.params[i]
        and increment(body, i) is None
    ]
    late = {body.params[i] for i in chained}
    for step in body.body:
        if not late.isdisjoint(step.operands):
            late.update(result for result in step.results if not is_array(result))
    awaited = {body.results[i] for i in chained}
    for step in reversed(body.body):
        if not awaited.isdisjoint(step.results):
            awaited.update(step.operands)
    return CarryChains(late, awaited)


def step_chains(instruction: Instruction) -> CarryChains | None:
    """The carry chains of a loop that is compiled element by element, or None for any other instruction."""
    if instruction.op.kind not in (Kind.SCAN, Kind.WHILE) or not by_element(instruction):
        return None
    return carry_chains(instruction.regions[-1], instruction.attrs["carries"])


def shorten_carry_chains(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results, but for the sign of a zero that is the least or the
    greatest of several; in loops that are compiled element by element, carries enter minima, maxima and
    integer sums last."""
    if not function.has_control:
        return function
    body, changed = [], False
    for instruction in function.body:
        chains = step_chains(instruction)
        if chains is not None:
            step = _shortened(instruction.regions[-1], chains)
            if step is not instruction.regions[-1]:
                instruction = instruction.replace(regions=(*instruction.regions[:-1], step))
                changed = True
        body.append(instruction)
    if changed:
        function = Function(function.name, function.params, tuple(body), function.results)
    return map_regions(function, shorten_carry_chains)


def _shortened(body: Function, chains: CarryChains) -> Function:
    uses = read_counts(body)
    late = chains.late

    def chained(b: Builder, step: Instruction, defs: Definitions) -> Value | None:
        if not chains.on_chain(step.result):
            return None
        start = len(b.body)
        if step.op.name == "where":
            replacement = _choice(b, step, defs, uses, late)
        else:
            replacement = _ordered(b, step, defs, uses, late)
        if replacement is not None:
            for fresh in b.body[start:]:
                if not late.isdisjoint(fresh.operands):
                    late.update(fresh.results)
            chains.awaited.add(replacement)
            uses[replacement] = uses[step.result]
        return replacement

    names = (*_ANY_ORDER, *_ANY_ORDER_OF_INTEGERS, "where")
    rules: dict[str, tuple[Rule, ...]] = dict.fromkeys(names, (chained,))
    shortened = rewrite(body, rules)
    return body if shortened is body else dce(shortened)


def _ordered(
    b: Builder, step: Instruction, defs: Definitions, uses: Counter[Value], late: set[Value]
) -> Value | None:
    """``op(op(last, x), y)`` as ``op(last, op(x, y))``."""
    name = step.op.name
    if name in _ANY_ORDER_OF_INTEGERS and is_inexact(step.result.dtype):
        return None
    for position, value in enumerate(step.operands):
        inner, other = defs.get(value), step.operands[1 - position]
        if inner is None or inner.op is not step.op or uses[value] != 1 or other in late:
            continue
        waiting = [operand for operand in inner.operands if operand in late]
        if len(waiting) != 1:
            continue
        (last,) = waiting
        ready = inner.operands[1] if inner.operands[0] is last else inner.operands[0]
        first = _apply(b, name, ready, other)
        uses[first] += 1
        return _apply(b, name, last, first)
    return None


def _choice(
    b: Builder, step: Instruction, defs: Definitions, uses: Counter[Value], late: set[Value]
) -> Value | None:
    """The extremum of three, ``where(z < m, z, m)`` of ``m = where(y < x, y, x)``, which is what Python's
    ``min(x, y, z)`` is: a NaN `x` is the result, and NaN elsewhere is passed over."""
    outer = _extremum(step, defs)
    if outer is None:
        return None
    name, middle, z = outer
    inner = defs.get(middle)
    within = _extremum(inner, defs) if inner is not None else None
    if within is None or within[0] != name or uses[middle] != 2 or z in late:
        return None
    _, x, y = within
    if (x in late) == (y in late):
        return None
    if y in late:
        first = _least(b, name, x, z)
        uses[first] += 2
        return _least(b, name, first, y)
    better: Any = _apply(b, name, z, y)
    if is_inexact(y.dtype):
        better = _apply(b, "logical_or", better, _apply(b, "ne", y, y))
    other = _apply(b, "where", better, z, y)
    uses[other] += 2
    return _least(b, name, x, other)


def _extremum(step: Instruction, defs: Definitions) -> tuple[str, Value, Value] | None:
    """The comparison, x and y of ``where(y < x, y, x)``."""
    if step.op.name != "where":
        return None
    test, y, x = step.operands
    compare = defs.get(test)
    if compare is None or compare.op.name not in _COMPARISONS:
        return None
    name = compare.op.name
    if compare.operands == (x, y):
        name = "gt" if name == "lt" else "lt"
    elif compare.operands != (y, x):
        return None
    return name, x, y


def _least(b: Builder, comparison: str, x: Value, y: Value) -> Value:
    """``where(y < x, y, x)``."""
    return _apply(b, "where", _apply(b, comparison, y, x), y, x)


def _apply(b: Builder, name: str, *operands: Value) -> Value:
    return b.append(OPS[name], operands, {})[0]
