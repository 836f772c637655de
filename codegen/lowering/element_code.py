"""Loops and branches that are compiled element by element, and so are not fused. Their state is so small that
compiled code holds it in registers, or is arrays in memory (`ir/analysis/loop_arrays.py`).

Every version of an array lies in the same place: what reads a version comes before what writes the next one.
Maps of loops of scalars are known here, too.
"""

from __future__ import annotations

import functools
import math
from typing import Final

from ...base.records import record
from ...ir.access import view_access
from ...ir.analysis.loop_arrays import MAX_ELEMENTS, is_array, step_of, written_arrays, written_versions
from ...ir.dtypes import BOOL, is_real_floating
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from . import small_matrices as small

#: Regions with more scalar operations than this are written over memory.
MAX_OPERATIONS: Final = 4000
#: The maximum number of operations of steps in lanes, where each operation is a vector's.
MAX_LANE_OPERATIONS: Final = 12_000
#: Operations that cost more than this have no more code, where there are many: they are called then.
CALLED: Final = 2.0
#: Values in memory with more elements than this are read at traced indices only.
MAX_STORED: Final = 1 << 12


@record
class Work:
    """Estimated work of a step: its time in cycles, and its code size in scalar operations."""

    cycles: float
    code: float


def is_small(instruction: Instruction) -> bool:
    """Whether a control flow instruction is written element by element."""
    return operations(instruction) is not None or is_lane_map(instruction)


def is_lane_map(instruction: Instruction) -> bool:
    """Whether `instruction` is a scan whose steps are lanes."""
    return lane_cycles(instruction) is not None


def lane_cycles(instruction: Instruction) -> float | None:
    """Estimate the cycles of a step in each lane, for a scan without carries whose steps factor or solve;
    None for anything else. A step of such a scan may have more elements in registers than others: as vectors
    in memory, it would be a kernel for each op and each step."""
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
    return cycles if code <= MAX_LANE_OPERATIONS else None


@functools.lru_cache(maxsize=64)  # passes ask the same of an instruction one after the other
def operations(instruction: Instruction) -> Work | None:
    """The work in the regions of a control flow instruction, None where it cannot be written."""
    arrays = written_arrays(instruction)
    if arrays is None:
        return None
    if instruction.op.kind is Kind.REWIND:
        held = [*instruction.results, *instruction.operands[: instruction.attrs["carries"]]]
        if any(is_array(value) for value in held):
            return None
    shift = 1 if instruction.op.kind is Kind.SWITCH else 0
    cycles = code = 0.0
    for region in instruction.regions:
        returned = {
            place: number - shift for place, number in arrays.items() if region in step_of(instruction)
        }
        inside = _region_operations(region, returned)
        if inside is None or code + inside.code > MAX_OPERATIONS:
            return None
        cycles, code = cycles + inside.cycles, code + inside.code
    return Work(cycles, code)


def cycles_of_step(instruction: Instruction) -> float:
    """Estimate the cycles of one step of a control flow instruction, with all steps of scans in it and one of
    each loop of unknown length."""
    cycles = 0.0
    for inner in (nested for region in instruction.regions for nested in region.body):
        if inner.op.kind.traits.control:
            cycles += cycles_of_step(inner) * (inner.attrs["length"] if inner.op.kind is Kind.SCAN else 1)
        else:
            cycles += _instruction_operations(inner, set()) or 0.0
    return cycles


def _region_operations(region: Function, returned: dict[int, int]) -> Work | None:
    """The work in `region`, whose results at the places in `returned` are the last versions of the parameters
    at the places behind them."""
    cycles = code = 0.0
    stored = {param for param in region.params if is_array(param)}
    #: The last version of each array that may be written, and of which array a value is a version.
    last = {region.params[origin]: region.params[origin] for origin in returned.values()}
    array = dict(zip(last, last, strict=True))
    for instruction in region.body:
        read = [operand for operand in instruction.operands if operand in array]
        if any(last[array[operand]] is not operand for operand in read):
            return None
        written = written_versions(instruction)
        if written is None or any(operand not in array for operand, _ in written):
            return None
        if len({array[operand] for operand in read}) != len(read) and written:
            return None
        for operand, result in written:
            array[result] = array[operand]
            last[array[operand]] = result
            stored.add(result)
        work = _work(instruction, stored, {result for _, result in written})
        if work is None:
            return None
        cycles, code = cycles + work.cycles, code + work.code
    for place, result in enumerate(region.results):
        if place in returned:
            if last[region.params[returned[place]]] is not result:
                return None
        elif result in stored:
            return None
    return Work(cycles, code)


def _work(instruction: Instruction, stored: set[Value], versions: set[Value]) -> Work | None:
    """The work of one instruction, which makes `versions` of arrays."""
    if instruction.op.kind.traits.control:
        small = all(result in versions or not is_array(result) for result in instruction.results)
        return operations(instruction) if small else None
    if versions:
        _, value, *indices = instruction.operands
        if is_array(value) or any(operand in stored for operand in (value, *indices)):
            return None
        return Work(5.0 * value.type.size, 5.0 * value.type.size)
    count = _instruction_operations(instruction, stored)
    return None if count is None else Work(count, _code_of(instruction, count))


def _code_of(instruction: Instruction, cycles: float) -> float:
    """Estimate the code size of an instruction that takes `cycles`."""
    called = instruction.op.kind is Kind.ELEMENTWISE and instruction.op.cost > CALLED
    return CALLED * instruction.result.type.size if called else cycles


_MOVES: Final = frozenset((Kind.CONCAT, Kind.UPDATE, Kind.VIEW, Kind.CREATION))


#: The kinds of op that steps in lanes may have.
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
    if kind is Kind.SCATTER:
        return size + 5.0 * instruction.operands[1].type.size if not read else None
    if kind is Kind.VIEW and read:
        return float(size) if view_access(instruction) is not None else None
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


#: The kinds of op that steps may have beside loops and branches.
_KINDS: Final = frozenset(
    (Kind.ELEMENTWISE, Kind.CREATION, Kind.VIEW, Kind.CONCAT, Kind.UPDATE, Kind.REDUCTION, Kind.CONTRACTION)
)


def is_scalar_map(instruction: Instruction) -> bool:
    """Whether `instruction` is a map whose steps have loops or branches, and write no arrays."""
    if (
        instruction.op.kind is not Kind.SCAN
        or instruction.attrs["carries"]
        or not instruction.attrs["length"]
    ):
        return False
    (body,) = instruction.regions
    slices = body.params[len(body.params) - instruction.attrs["slices"] :]
    if any(is_array(value) or not value.type.size for value in (*slices, *body.results)):
        return False
    return any(step.op.kind.traits.control for step in body.body) and runs_in_lanes(body)


def runs_in_lanes(body: Function) -> bool:
    """Whether all that `body` does can be done by lanes."""
    return all(operations(step) is not None for step in body.body if step.op.kind.traits.control) and all(
        _has_lanes(inner) for inner in body.instructions()
    )


def _has_lanes(instruction: Instruction) -> bool:
    kind = instruction.op.kind
    if any(is_array(result) for result in instruction.results) or instruction.op.effect:
        return False
    if kind is Kind.SCAN:
        return len(instruction.results) == instruction.attrs["carries"] and not instruction.attrs["slices"]
    if kind is Kind.GATHER:
        return is_array(instruction.operands[0])
    return kind in _KINDS or kind in (Kind.WHILE, Kind.SWITCH)
