"""Loops whose steps do not depend on each other, traced as operations on arrays.

This happens where the loop is traced, so that gradients, too, are those of the operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array.indexing.writing import before
from ..array.operands import run
from ..dispatch.regions import apply_with_regions, replay
from ..ir.builder import Builder
from ..ir.graph import Function, Value
from ..ir.passes.array_loops.conversion import loops_to_arrays
from ..ir.passes.array_loops.counted_loops import count_loops, most_steps
from ..ir.passes.array_loops.rounded_products import may_be_product
from ..ir.registry import Attrs, Op
from ..ir.types import TensorType
from ..state import STATE
from ..tape.views import chain_of
from ..tensors.tensor import Tensor
from ..tracing.regions import RegionTracer
from ..tracing.tracer import Tracer


def apply_loop(
    op: Op, operands: Sequence[Tensor], attrs: Attrs, regions: tuple[Function, ...]
) -> list[Tensor]:
    """Append a loop to the running trace, as operations on arrays where it, or a loop in it, can be such.

    A loop inside of another one waits for that."""
    tracer = STATE.tracer
    if _repeats(tracer):
        return apply_with_regions(op, operands, attrs, regions)
    function = _function_of(tracer, op, operands, attrs, regions)
    rewritten = loops_to_arrays(count_loops(function))
    if rewritten is function:
        return apply_with_regions(op, operands, attrs, regions)
    taken = _rounded(tracer, operands)
    results = replay(rewritten, taken, located=True)
    others = (*operands, *taken)
    return [_apart(result, (*others, *results[:place])) for place, result in enumerate(results)]


def most_steps_of(
    op: Op, operands: Sequence[Tensor], attrs: Attrs, regions: tuple[Function, ...]
) -> int | None:
    """A number of steps that a ``while`` has at most, None where no such is known."""
    function = _function_of(STATE.tracer, op, operands, attrs, regions)
    (*numbers, loop) = function.body
    return most_steps(loop, {number.result: number.attrs["value"] for number in numbers})


def _rounded(tracer: Tracer, operands: Sequence[Tensor]) -> list[Tensor]:
    """`operands`, of which no sum in the loop takes over the rounding of a product of arrays."""
    defs = {result: instruction for instruction in tracer.body for result in instruction.results}
    return [
        run("rounded", operand)
        if isinstance(operand._data, Value) and may_be_product(operand._data, defs)
        else operand
        for operand in operands
    ]


def _apart(result: Tensor, others: Sequence[Tensor]) -> Tensor:
    """`result`, which may be one of the `others` or a view, as an array of its own: results of loops are."""
    if any(result is other for other in others):
        copy: Tensor = run("copy", result)
        return copy
    return result if chain_of(result) is None else before(result, keep=False)


def _repeats(tracer: Tracer | None) -> bool:
    """Whether what `tracer` has traced is in the body of a loop."""
    while tracer is not None:
        if isinstance(tracer, RegionTracer) and tracer.repeats:
            return True
        tracer = tracer.parent
    return False


def _function_of(
    tracer: Tracer, op: Op, operands: Sequence[Tensor], attrs: Attrs, regions: tuple[Function, ...]
) -> Function:
    """The loop as a Function of its operands, in which those that are constants are so."""
    numbers = {
        instruction.result: instruction
        for instruction in tracer.body
        if instruction.op.name == "full" and instruction.result.shape == ()
    }
    b = Builder()
    b.location = tracer.location
    params = [b.parameter(TensorType(operand.dtype, operand.shape)) for operand in operands]
    values: list[Value] = []
    for operand, param in zip(operands, params, strict=True):
        number = numbers.get(operand._data) if isinstance(operand._data, Value) else None
        values.append(param if number is None else b.repeat(number, ())[0])
    return b.finish("loop", b.append(op, tuple(values), attrs, regions=regions))
