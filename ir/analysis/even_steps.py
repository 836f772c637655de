"""Steps of loops that count: by what their integers grow, and what they fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ..dataflow import increment
from ..dtypes import INT64, SHORT_NAME
from ..graph import Function, Instruction, Value
from ..registry import OPS, Kind
from .loop_arrays import is_array

#: Ops that fold numbers in any order, with the reduction that does so.
_FOLDS: Final = {
    "add": "sum", "logical_and": "all", "logical_or": "any", "maximum": "max", "minimum": "min",
    "mul": "prod",
}  # fmt: skip
_SUMS: Final = ("add", "sub", "neg")


def is_plain(step: Instruction) -> bool:
    """Whether `step` is an op of numbers that cannot fail, or changes no number."""
    if step.op.kind is Kind.VIEW:
        return step.operands[0].type.size == 1
    fails = step.op.name == "pow" and step.result.dtype.kind == "i"
    return step.op.kind is Kind.ELEMENTWISE and step.op.emit is not None and not fails


def slopes_of(body: Function, carries: int) -> dict[Value, int]:
    """The numbers by which values of `body` grow in each step, where they are known: 0 for what stays the
    same."""
    slopes: dict[Value, int] = {}
    for place, param in enumerate(body.params):
        slope = 0 if place >= carries or body.results[place] is param else increment(body, place)
        if slope is not None and not is_array(param):
            slopes[param] = slope
    constants: dict[Value, int] = {}
    for step in body.body:
        known = [slopes[operand] for operand in step.operands if operand in slopes]
        if step.op.kind is Kind.CREATION:
            slopes[step.result] = 0
            if step.op.name == "full" and step.result.dtype is INT64:
                constants[step.result] = int(step.attrs["value"])
        elif step.op.kind is not Kind.ELEMENTWISE or len(known) < len(step.operands):
            continue
        elif not any(known):
            slopes[step.result] = 0
        elif step.result.dtype is INT64:
            slope = _linear(step.op.name, known, [constants.get(operand) for operand in step.operands])
            if slope is not None:
                slopes[step.result] = slope
    return slopes


def _linear(name: str, slopes: Sequence[int], constants: Sequence[int | None]) -> int | None:
    """The slope of an op of values with `slopes`, of which some are `constants`; None where there is none."""
    if name in _SUMS:
        return slopes[0] + slopes[1] if name == "add" else sum(slopes[:-1]) - slopes[-1]
    if name != "mul":
        return None
    pairs = zip(constants, reversed(slopes), strict=True)
    products = [factor * slope for factor, slope in pairs if factor is not None]
    return products[0] if products else None


def fold_of(body: Function, param: Value, result: Value) -> Instruction | None:
    """The instruction that folds something of each step into `param`, whose next value is `result`, and which
    nothing else reads."""
    readers = Counter(operand for step in body.body for operand in step.operands)
    readers.update(body.results)
    fold = next((step for step in body.body if result in step.results), None)
    if fold is None or fold.op.name not in _FOLDS or readers[param] != 1 or readers[result] != 1:
        return None
    return fold if fold.operands.count(param) == 1 else None


def neutral(fold: Instruction) -> Any:
    """The number that `fold` changes nothing with."""
    if fold.op.name == "add" and fold.result.dtype.kind in "fc":
        return -0.0
    reduction = OPS[_FOLDS[fold.op.name]].reduction
    assert reduction is not None
    return reduction.identity(SHORT_NAME[fold.result.dtype])
