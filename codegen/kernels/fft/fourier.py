"""Kernels of discrete Fourier transforms, and the choice of an instruction's kernel."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from ....ir.content import attributes
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import Kernel, empty_kernel
from ...lowering.lowering import Lowering, LoweringContext
from .plan import TransformPlan
from .two_steps import TwoStepWriter, two_step_bytes
from .writer import TransformWriter


def fourier_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """The transforms along an axis; None where NumPy has to do them."""
    plan = TransformPlan(instruction, context.target)
    (x,) = instruction.operands
    head = f"fourier {name}: {instruction.op.name} of {x.type} along axis {instruction.attrs['axis']}"
    if x.type.size == 0:
        return empty_kernel(name, 2, head)
    if not plan.fits:
        steps = plan.two_steps()
        if steps is None:
            return None
        code = TwoStepWriter(plan, steps, context.declarations).write(name)
        how = f"in {steps.height} rows of {steps.width}, {plan.description}"
        return Kernel(name, code, f"{head}, {how}", cycles=2.0 * plan.cycles, pooled=True, slowdown=2.0)
    code = TransformWriter(plan, FunctionWriter(context.declarations), name).write()
    return Kernel(
        name, code, f"{head}: {plan.description}", tasks=plan.tasks, cycles=plan.cycles, slowdown=2.0
    )


def fourier_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that the kernel works in."""
    plan = TransformPlan(instruction, context.target)
    if instruction.operands[0].type.size == 0:
        return 0
    if not plan.fits:
        steps = plan.two_steps()
        return 0 if steps is None else two_step_bytes(plan, steps)
    if plan.on_stack:
        return 0
    return plan.buffer_bytes * plan.tasks


def fourier_overwrites(instruction: Instruction, context: LoweringContext) -> Collection[tuple[int, int]]:
    """Whether the result may be written over the operand."""
    return [(0, 0)] if TransformPlan(instruction, context.target).in_place else ()


def _flops(instruction: Instruction) -> int:
    """The usual count: 5 n log2(n) for complex transforms of n elements, half of it for real ones."""
    (x,), result, attrs = instruction.operands, instruction.result, instruction.attrs
    size = attrs.get("n", x.shape[attrs["axis"]])
    numbers = max(x.type.size, result.type.size)
    return int(2.5 * numbers * math.log2(max(size, 2)))


def _content(instruction: Instruction, context: LoweringContext) -> str:
    """Text that is equal for instructions with equal kernels."""
    types = f"{instruction.operands[0].type} {instruction.result.type}"
    return f"{instruction.op.name} {attributes(instruction.attrs)} {types}"


FOURIER: Final = Lowering(
    (Kind.FOURIER,),
    fourier_kernel,
    workspace=fourier_workspace,
    overwrites=fourier_overwrites,
    content=_content,
    flops=_flops,
    arithmetic="A Fourier transform",
)
