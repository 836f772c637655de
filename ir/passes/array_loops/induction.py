"""Counters of loops: carries to which each step adds the same number."""

from __future__ import annotations

from ...dataflow import increment, invariant
from ...dtypes import INT64
from ...graph import Function, Instruction, Value
from ...records import record
from .affine import Affine, AffineValues


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
