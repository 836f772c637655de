"""Which control flow instructions have state so small that compiled code holds it in registers: their regions
are written element by element, and so are not fused."""

from __future__ import annotations

import math
from typing import Final

from ...dtypes import BOOL, is_real_floating
from ...graph import Function, Instruction, Value
from ...ops.linalg import small
from ...records import record
from ...registry import Kind

#: Values with more elements are better off as vectors in memory.
MAX_ELEMENTS: Final = 16
#: Regions with more scalar operations than this are written over memory.
MAX_OPERATIONS: Final = 4000
#: Operations that cost more than this have no more code, where there are many: they are called then.
CALLED: Final = 2.0
#: Values in memory with more elements than this are read at traced indices only.
MAX_STORED: Final = 1 << 12


@record
class Work:
    """What is done in a step, in about the cycles that it takes, and in scalar operations of code."""

    cycles: float
    code: float


def is_small(instruction: Instruction) -> bool:
    """Whether a control flow instruction is written element by element."""
    return operations(instruction) is not None or is_lane_map(instruction)


def is_lane_map(instruction: Instruction) -> bool:
    """Whether `instruction` is a scan whose steps are lanes."""
    return lane_cycles(instruction) is not None


def lane_cycles(instruction: Instruction) -> float | None:
    """About the cycles of a step in each lane; None of what is no scan without carries whose steps factor or
    solve. A step of those has more elements in registers than others: as vectors in memory, it would be a
    kernel for each op and each step."""
    if instruction.op.kind is not Kind.SCAN or instruction.attrs["carries"]:
        return None
    (body,) = instruction.regions
    invariants = len(body.params) - instruction.attrs["slices"]
    stored = [*body.params[invariants:], *body.results]
    if (
        all(step.op.kind is not Kind.LINALG for step in body.body)
        or any(value.dtype is BOOL or not 0 < value.type.size <= small.MAX_IN_REGISTERS for value in stored)
        or not any(is_real_floating(value.dtype) for value in stored)
        or any(param.type.size > small.MAX_IN_REGISTERS for param in body.params)
    ):
        return None
    cycles = code = 0.0
    for step in body.body:
        work = (
            _instruction_operations(step, set(), small.MAX_IN_REGISTERS)
            if step.op.kind in _IN_LANES
            else None
        )
        if work is None or step.op.effect:
            return None
        cycles, code = cycles + work, code + _code_of(step, work)
    return cycles if code <= MAX_OPERATIONS else None


def operations(instruction: Instruction) -> Work | None:
    """The work in the regions of a control flow instruction, None where it cannot be written."""
    held = [*instruction.results[: instruction.attrs.get("carries", len(instruction.results))]]
    if instruction.op.kind is Kind.REWIND:
        held = [*instruction.results, *instruction.operands[: instruction.attrs["carries"]]]
    if any(value.type.size > MAX_ELEMENTS for value in held):
        return None
    cycles = code = 0.0
    for region in instruction.regions:
        inside = _region_operations(region)
        if inside is None or code + inside.code > MAX_OPERATIONS:
            return None
        cycles, code = cycles + inside.cycles, code + inside.code
    return Work(cycles, code)


def cycles_of_step(instruction: Instruction) -> float:
    """About the cycles of one step of a control flow instruction, with all steps of scans in it and one of
    each loop of unknown length."""
    cycles = 0.0
    for inner in (nested for region in instruction.regions for nested in region.body):
        if inner.op.kind.traits.control:
            cycles += cycles_of_step(inner) * (inner.attrs["length"] if inner.op.kind is Kind.SCAN else 1)
        else:
            cycles += _instruction_operations(inner, set()) or 0.0
    return cycles


def _region_operations(region: Function) -> Work | None:
    cycles = code = 0.0
    stored = {param for param in region.params if param.type.size > MAX_ELEMENTS}
    for instruction in region.body:
        if instruction.op.kind.traits.control:
            small = all(result.type.size <= MAX_ELEMENTS for result in instruction.results)
            inside = operations(instruction) if small else None
            if inside is None:
                return None
            cycles, code = cycles + inside.cycles, code + inside.code
            continue
        count = _instruction_operations(instruction, stored)
        if count is None:
            return None
        cycles, code = cycles + count, code + _code_of(instruction, count)
    if any(result in stored for result in region.results):
        return None
    return Work(cycles, code)


def _code_of(instruction: Instruction, cycles: float) -> float:
    """How much code an instruction of so many cycles is."""
    called = instruction.op.kind is Kind.ELEMENTWISE and instruction.op.cost > CALLED
    return CALLED * instruction.result.type.size if called else cycles


_MOVES: Final = frozenset((Kind.CONCAT, Kind.UPDATE, Kind.VIEW, Kind.CREATION))


#: What steps in lanes may do.
_IN_LANES: Final = _MOVES | {Kind.ELEMENTWISE, Kind.REDUCTION, Kind.CONTRACTION, Kind.LINALG}


def _instruction_operations(
    instruction: Instruction, stored: set[Value], limit: int = MAX_ELEMENTS
) -> float | None:
    """The operations of an instruction on values of at most `limit` elements; None where it has no code."""
    kind, size = instruction.op.kind, max([result.type.size for result in instruction.results], default=0)
    if size > limit:
        return None
    read = [operand for operand in instruction.operands if operand in stored]
    if kind is Kind.GATHER:
        return None if any(operand in stored for operand in instruction.operands[1:]) else 4.0 * size
    if any(operand.type.size > MAX_STORED for operand in read):
        return None
    if kind in _MOVES:
        return 0.1 * size
    if kind is Kind.ELEMENTWISE:
        fits = instruction.op.emit is not None and all(
            x.dtype.kind in instruction.op.emit_kinds for x in instruction.operands
        )
        return instruction.op.cost * size if fits else None
    if kind is Kind.LINALG:
        largest = max(value.type.size for value in (*instruction.operands, *instruction.results))
        fits = largest <= limit and small.fits_registers(instruction)
        return small.cycles(instruction) * math.prod(instruction.operands[0].shape[:-2]) if fits else None
    if kind is Kind.REDUCTION:
        return (
            float(instruction.operands[0].type.size)
            if instruction.operands[0].type.size <= 4 * limit
            else None
        )
    if kind is Kind.CONTRACTION:
        return (
            float(size * instruction.operands[0].shape[-1])
            if instruction.operands[0].shape[-1] <= limit
            else None
        )
    return None
