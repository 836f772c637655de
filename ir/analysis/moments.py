"""Sums of squared distances from a mean: what a variance is made of.

The two passes over memory that it takes, one for the mean and one for the distances, are one where the second
sum is taken about a number near the mean, which a few elements give (`codegen/nest/reductions/moments.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...base.records import record
from ..access import resolve
from ..graph import Function, Instruction, Value

#: Relative distance of a factor from one over the number of elements, by rounding to f32.
_ROUNDING = 1e-6


@record
class Moment:
    """A sum of squared distances from a mean: the sum of the elements, and the mean."""

    total: Value
    mean: Value


def second_moments(region: Function) -> dict[Value, Moment]:
    """Find the sums of (x - mean)^2 in `region`, by their results. The mean is the sum of x over the same
    axes, divided by the number of elements."""
    defs = region.defs
    moments: dict[Value, Moment] = {}
    for instruction in region.body:
        if instruction.op.name == "sum" and instruction.result.dtype.kind == "f":
            moment = _moment(instruction, defs)
            if moment is not None:
                moments[instruction.result] = moment
    return moments


def _moment(second: Instruction, defs: Mapping[Value, Instruction]) -> Moment | None:
    square = defs.get(second.operands[0])
    if square is None or not (
        square.op.name == "square" or (square.op.name == "mul" and square.operands[0] is square.operands[1])
    ):
        return None
    distance = defs.get(square.operands[0])
    if distance is None or distance.op.name != "sub":
        return None
    x, mean = distance.operands[0], resolve(distance.operands[1], defs)[0]
    division = defs.get(mean)
    if division is None or division.op.name not in ("mul", "div"):
        return None
    operands = [resolve(operand, defs)[0] for operand in division.operands]
    for position, total in enumerate(operands):
        first, number = defs.get(total), defs.get(operands[1 - position])
        if first is None or number is None or number.op.name != "full":
            continue
        if first.op.name != "sum" or first.operands[0] is not x or first.attrs != second.attrs:
            continue
        count = math.prod(x.shape[axis] for axis in first.attrs["axes"])
        factor = float(number.attrs["value"])
        if division.op.name == "div":
            factor = 1 / factor if position == 0 and factor else 0.0
        if abs(factor * count - 1) < _ROUNDING:
            return Moment(total, mean)
    return None
