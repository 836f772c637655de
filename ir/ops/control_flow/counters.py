"""Scans as ``while`` loops, whose steps are counted by a carry."""

from __future__ import annotations

from typing import Any

from ...builder import Builder, inline
from ...dtypes import INT64
from ...graph import Function, Instruction, Value
from ...registry import Attrs
from ...types import TensorType


def while_of_scan(b: Any, scan: Instruction) -> tuple[tuple[Value, ...], Attrs, tuple[Function, Function]]:
    """The operands, attributes and regions of a ``while`` that does what `scan` does.

    Its carries are the number of the step, those of the scan, and its stacked results; its invariants are
    those of the scan, and its slices as they are stacked.
    """
    count, length, (body,) = scan.attrs["carries"], scan.attrs["length"], scan.regions
    first_slice = len(scan.operands) - scan.attrs["slices"]
    stacks = [result.type for result in scan.results[count:]]
    start = b.full(value=0, shape=(), dtype=INT64)
    zeros = [b.full(value=0, shape=type.shape, dtype=type.dtype) for type in stacks]
    operands = (start, *scan.operands[:count], *zeros, *scan.operands[count:])
    types = [operand.type for operand in operands]
    hints = ["number", *[param.hint for param in body.params[:count]], *[""] * len(stacks)]
    hints += [param.hint for param in body.params[count:]]
    test: Any = Builder()
    params = [test.parameter(type, hint) for type, hint in zip(types, hints, strict=True)]
    condition = test.finish("condition", [test.lt(params[0], test.scalar(length, INT64))])
    step: Any = Builder()
    params = [step.parameter(type, hint) for type, hint in zip(types, hints, strict=True)]
    number, written = params[0], params[1 + count : 1 + count + len(stacks)]
    at = step.sub(step.scalar(length - 1, INT64), number) if scan.attrs["reverse"] else number
    others = params[1 + count + len(stacks) :]
    slices = [step.gather(whole, at) for whole in others[first_slice - count :]]
    results = inline(step, body, [*params[1 : 1 + count], *others[: first_slice - count], *slices])
    step.location = scan.location
    rows = [
        step.scatter(whole, row, at, mode="set") for whole, row in zip(written, results[count:], strict=True)
    ]
    following = step.add(number, step.scalar(1, INT64))
    region = step.finish(body.name, [following, *results[:count], *rows])
    return operands, {"carries": 1 + count + len(stacks)}, (condition, region)


def with_step_number(b: Any, loop: Instruction) -> tuple[tuple[Value, ...], Attrs, tuple[Function, Function]]:
    """The operands, attributes and regions of a ``while`` like `loop`, with a last carry more, which is the
    number of the step."""
    count, (condition, body) = loop.attrs["carries"], loop.regions
    start = b.full(value=0, shape=(), dtype=INT64)
    operands = (*loop.operands[:count], start, *loop.operands[count:])
    number = Value(TensorType(INT64, ()), "number")
    test = (*condition.params[:count], Value(number.type), *condition.params[count:])
    step: Any = Builder()
    following = step.add(number, step.scalar(1, INT64))
    region = Function(
        body.name,
        (*body.params[:count], number, *body.params[count:]),
        (*body.body, *step.body),
        (*body.results, following),
    )
    return (
        operands,
        {"carries": count + 1},
        (Function(condition.name, test, condition.body, condition.results), region),
    )
