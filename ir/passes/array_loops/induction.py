"""Counters of loops: carries to which each step adds the same number."""

from __future__ import annotations

from ...dataflow import invariant
from ...dtypes import INT64
from ...graph import Function, Instruction, Value
from ...records import record
from .affine import Affine, AffineValues


def increment(body: Function, carry: int) -> int | None:
    """What each step with `body` adds to a carry, if that is one number."""
    param, result = body.params[carry], body.results[carry]
    step = next((step for step in body.body if result in step.results), None)
    if param.shape or param.dtype is not INT64 or step is None or step.op.name not in ("add", "sub"):
        return None
    x, y = step.operands
    other = y if x is param else x if y is param and step.op.name == "add" else None
    number = next((instruction for instruction in body.body if other in instruction.results), None)
    if number is None or number.op.name != "full":
        return None
    value = int(number.attrs["value"])
    return -value if step.op.name == "sub" else value


def loop_forms(scan: Instruction, outer: AffineValues, body: Function | None = None) -> AffineValues:
    """The affine forms of what a step of `scan` computes, with its `body` or another one of the same
    parameters; `outer` has those of its operands."""
    body = body or scan.regions[0]
    count, first_slice = scan.attrs["carries"], len(scan.operands) - scan.attrs["slices"]
    forms: dict[Value, Affine] = {}
    for position, (param, operand) in enumerate(zip(body.params, scan.operands, strict=True)):
        form = outer.of(operand) if position < first_slice else None
        if form is None:
            continue
        if position >= count:
            if form.number is not None:
                forms[param] = form
            continue
        each = increment(body, position)
        if each is not None:
            forms[param] = Affine(form.constant, each, (), form.scalars)
    defs = {result: step for step in body.body for result in step.results}
    return AffineValues(defs, forms, invariant(body, body.params[count:first_slice]))


@record
class Counter:
    """A carry to which each step of a while loop adds one, and what it is compared with in the condition."""

    carry: int
    bound: Value


def counted_by(loop: Instruction) -> Counter | None:
    """The counter of a while loop that goes on as long as it is less than what no step changes."""
    condition, body = loop.regions
    count = loop.attrs["carries"]
    test = next((step for step in condition.body if step.results[0] is condition.results[0]), None)
    if test is None or test.op.name != "lt" or test.operands[0] not in condition.params[:count]:
        return None
    carry = condition.params.index(test.operands[0])
    same = invariant(condition, condition.params[count:])
    if test.operands[1] not in same or test.operands[1].dtype is not INT64 or increment(body, carry) != 1:
        return None
    return Counter(carry, test.operands[1])
