"""The interpreter: runs a Function op by op with the NumPy meaning of each record.

It is the oracle of every test, and the reference for what a compiled Function must compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import ShapeError
from .graph import Function, Instruction, Value


def interpret(function: Function, args: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The results of `function` on arrays `args`, one per parameter.

    Raises ShapeError when the arguments do not have the parameters' types.
    """
    if len(args) != len(function.params):
        raise ShapeError(f"@{function.name}: expected {len(function.params)} arguments, got {len(args)}")
    values: dict[Value, Any] = {}
    for param, arg in zip(function.params, args, strict=True):
        array = np.asarray(arg)
        if array.shape != param.shape or array.dtype != param.dtype:
            raise ShapeError(
                f"@{function.name}: parameter %{param.hint} is {param.type}, got {array.dtype} {array.shape}"
            )
        values[param] = array
    with np.errstate(all="ignore"):
        for instruction in function.body:
            run_instruction(instruction, values)
    return [values[result] for result in function.results]


def run_instruction(instruction: Instruction, values: dict[Value, Any]) -> None:
    """Add the results of `instruction` to `values`, which has its operands."""
    operands = [values[operand] for operand in instruction.operands]
    regions = instruction.op.regions
    if regions is not None:
        outputs = list(regions.run(interpret, instruction.regions, operands, instruction.attrs))
    else:
        outcome = instruction.op.eval(*operands, **instruction.attrs)
        outputs = list(outcome) if len(instruction.results) > 1 else [outcome]
    for result, output in zip(instruction.results, outputs, strict=True):
        values[result] = np.asarray(output, result.dtype)
