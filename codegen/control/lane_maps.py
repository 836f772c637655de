"""Scans without carries: steps do not depend on each other, so that they become lanes and tasks.

Each value of a step is a list of vectors, an element of as many steps as a vector has lanes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ..kernels.linalg.groups import BatchPart, GroupKernel
from ..kernels.linalg.lowering import message
from ..kernels.linalg.matrices import RegisterMatrix
from ..kernels.linalg.memory_matrix import LaneMatrix, Storage
from ..llvm.emitter import Reg, constant
from ..llvm.function import Code
from ..llvm.target import Target
from ..lowering.element_code import lane_cycles
from ..lowering.kernel import Kernel, empty_kernel
from ..lowering.lowering import LoweringContext
from .elements import Elements, ElementWriter


def lane_map_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """Kernel of a scan without carries; None for other scans, or where a step has no such code."""
    functions: Code = []
    plan = _plan(name, instruction, context.target, functions)
    if plan is None:
        return None
    if plan.batch == 0:
        buffers = len(instruction.operands) + len(instruction.results)
        return empty_kernel(name, buffers, f"{plan.description}: no steps")
    kernel = plan.kernel(context.target, context.declarations)
    kernel.code += functions
    return kernel


def lane_map_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that its kernel works in."""
    plan = _plan("", instruction, context.target, [])
    return 0 if plan is None or plan.batch == 0 else plan.workspace(context.target)


def _plan(name: str, instruction: Instruction, target: Target, functions: Code) -> GroupKernel | None:
    """Plan the kernel of a scan without carries, None where a step has no such code; functions that its code
    calls are added to `functions`."""
    cycles = lane_cycles(instruction)
    if cycles is None:
        return None
    (body,) = instruction.regions
    inner = [step for step in body.body if step.op.kind is Kind.LINALG]
    errors = tuple(dict.fromkeys(filter(None, map(message, inner))))

    def compute(storage: Storage, matrices: list[LaneMatrix]) -> tuple[Sequence[LaneMatrix], Sequence[Reg]]:
        writer = _LaneWriter(name, storage, target, errors)
        arguments: list[Elements] = [
            [element for row in matrix.elements for element in row]
            for matrix in matrices
            if isinstance(matrix, RegisterMatrix)
        ]
        results = writer.function(body, arguments)
        functions.extend(writer.functions)
        return [writer.column(elements) for elements in results], writer.masks

    invariants = len(instruction.operands) - instruction.attrs["slices"]
    parts = [_part(param, shared=i < invariants) for i, param in enumerate(body.params)]
    return GroupKernel(
        name, instruction.attrs["length"], parts, [_part(result) for result in body.results], compute,
        in_registers=True, cycles=cycles + 20.0 * len(parts),
        description=f"lanes {name}: {instruction.attrs['length']} steps of {len(body.body)} ops",
        errors=errors,
    )  # fmt: skip


def _part(value: Value, *, shared: bool = False) -> BatchPart:
    return BatchPart(math.prod(value.shape), 1, SHORT_NAME[value.dtype], shared=shared)


class _LaneWriter(ElementWriter):
    """Writes a step whose elements are vectors; what all steps share are scalars."""

    def __init__(self, name: str, storage: Storage, target: Target, errors: tuple[str, ...]) -> None:
        super().__init__(name, storage.w, target)
        self.lanes, self.messages = storage.lanes, errors
        #: Lanes where each message is to be raised.
        self.masks = [constant(False, "bool", storage.lanes) for _ in errors]

    def control(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        raise AssertionError("a step in lanes has no control flow")

    def fail_where(self, failed: Reg, message: str) -> None:
        place = self.messages.index(message)
        self.masks[place] = self.w.or_(self.masks[place], self.w.splat(failed, self.lanes))

    def packed(self, instruction: Instruction, rows: Sequence[Sequence[Reg]]) -> list[Reg]:
        return [self.emitted(instruction, self._alike(row)) for row in rows]

    def _alike(self, row: Sequence[Reg]) -> Sequence[Reg]:
        """Operands of an op: vectors, where one of them is."""
        if all(element.lanes == 1 for element in row):
            return row
        return [self.w.splat(element, self.lanes) for element in row]

    def column(self, elements: Elements) -> RegisterMatrix:
        """A value's elements as a column of vectors."""
        assert isinstance(elements, list)
        return RegisterMatrix(self.w, [[self.w.splat(element, self.lanes)] for element in elements])
