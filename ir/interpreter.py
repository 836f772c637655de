"""The interpreter: runs a Function op by op with the NumPy meaning of each record.

It is the oracle of every test, and the reference for what a compiled Function must compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import ShapeError
from ..base.records import record
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


@record
class InterpreterStep:
    """An instruction without regions that has run, for `interpret_watched`.

    Attributes:
        instruction: which.
        operands: arrays.
        results: arrays.
        rounds: for each instruction with regions around it, outermost first, how often its region had been
            entered before: the number of the step, in a loop.
    """

    instruction: Instruction
    operands: Sequence[Any]
    results: Sequence[Any]
    rounds: tuple[tuple[Instruction, int], ...]


def interpret_watched(
    function: Function,
    args: Sequence[Any],
    watch: Callable[[InterpreterStep], None],
    rounds: tuple[tuple[Instruction, int], ...] = (),
) -> list[np.ndarray[Any, Any]]:
    """Interpret `function`, calling `watch` after each instruction without regions, also inside loops and
    branches."""
    values: dict[Value, Any] = {
        param: np.asarray(arg) for param, arg in zip(function.params, args, strict=True)
    }
    with np.errstate(all="ignore"):
        for instruction in function.body:
            if instruction.op.regions is None:
                run_instruction(instruction, values)
                operands = [values[operand] for operand in instruction.operands]
                results = [values[result] for result in instruction.results]
                watch(InterpreterStep(instruction, operands, results, rounds))
            else:
                run_watched(instruction, values, watch, rounds)
    return [values[result] for result in function.results]


def run_watched(
    instruction: Instruction,
    values: dict[Value, Any],
    watch: Callable[[InterpreterStep], None],
    rounds: tuple[tuple[Instruction, int], ...] = (),
) -> None:
    """`run_instruction` of one with regions, which calls `watch` as `interpret_watched` does."""
    entered: dict[Function, int] = {}

    def call(region: Function, arrays: Sequence[Any]) -> list[Any]:
        count = entered[region] = entered.get(region, -1) + 1
        return interpret_watched(region, arrays, watch, (*rounds, (instruction, count)))

    run_instruction(instruction, values, call)


def run_instruction(
    instruction: Instruction, values: dict[Value, Any], call: Callable[..., Any] = interpret
) -> None:
    """Add the results of `instruction` to `values`, which has its operands; `call` runs regions."""
    operands = [values[operand] for operand in instruction.operands]
    regions = instruction.op.regions
    if regions is not None:
        outputs = list(regions.run(call, instruction.regions, operands, instruction.attrs))
    else:
        outcome = instruction.op.eval(*operands, **instruction.attrs)
        outputs = list(outcome) if len(instruction.results) > 1 else [outcome]
    for result, output in zip(instruction.results, outputs, strict=True):
        values[result] = np.asarray(output, result.dtype)
