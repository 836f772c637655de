"""Loops inside of loops whose steps do not depend on each other: maps, which are scans without carries.

    for i in range(n):                              counts = map(steps of the while loop, x)
        while ...

The steps of a map are elements of vectors, and shared among threads, where its loops are those of scalars.
Maps in such loops are one map of all their steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ...analysis.loop_arrays import is_array
from ...builder import Builder
from ...capabilities import cycles_of_step, steps_are_vectors
from ...dataflow import has_effect
from ...graph import Function, Instruction, Value
from ...ops.control_flow.definitions import SCAN
from ...registry import Kind
from ...transforms.batching import spread
from ..rewriting import Definitions

#: A map of less work is not worth the arrays that it reads and writes.
MIN_CYCLES: Final = 20_000.0
#: Vectors pay where a branch computes for so long with each element that it reads.
READ_CYCLES: Final = 20.0
#: Number of steps that a loop of unknown length is assumed to have.
UNKNOWN_STEPS: Final = 16.0


def is_map(instruction: Instruction) -> bool:
    """Whether `instruction` is a scan without carries."""
    return instruction.op.kind is Kind.SCAN and not instruction.attrs["carries"]


def can_run(step: Instruction) -> bool:
    """Whether `step` may run speculatively, in steps that would not have run it: a branch in which nothing
    can fail."""
    return step.op.kind not in (Kind.SCAN, Kind.WHILE) and all(
        inner.op.kind in (Kind.ELEMENTWISE, Kind.CREATION, Kind.VIEW)
        or (inner.op.kind is Kind.SWITCH and can_run(inner))
        for region in step.regions
        for inner in region.body
    )


def mapped_loop(
    b: Builder,
    loop: Instruction,
    operands: Sequence[Value],
    mapped: Sequence[bool],
    size: int,
    defs: Definitions,
) -> Sequence[Value] | None:
    """A loop or a branch for `size` steps at once, which are independent: its results, with an axis of steps
    in front. None where that is no vector code. `defs` has what makes the operands of `loop`."""
    if is_map(loop):
        return None if loop.attrs["reverse"] else _flattened(b, loop, operands, mapped, size)
    region = Function("step", loop.operands, (loop,), loop.results)
    large = any(many and is_array(operand) for operand, many in zip(loop.operands, mapped, strict=True))
    if large or has_effect(loop) or _mostly_reads(loop, defs) or not steps_are_vectors(region):
        return None
    return _map(b, loop, operands, mapped, size, defs)


def _mostly_reads(branch: Instruction, defs: Definitions) -> bool:
    """Whether a branch without loops, which numbers of steps decide, has little to compute for each element
    that it reads. Vectors would read them one by one, for both sides; and such a branch is foreseen."""
    if branch.op.kind is not Kind.SWITCH or not _counts(branch.operands[0], defs):
        return False
    steps = [step for region in branch.regions for step in region.instructions()]
    if any(step.op.kind in (Kind.SCAN, Kind.WHILE, Kind.REWIND) for step in steps):
        return False
    return cycles_of_step(branch) < READ_CYCLES * sum(step.op.kind is Kind.GATHER for step in steps)


def _counts(test: Value, defs: Definitions) -> bool:
    """Whether `test` is computed of integers and truth values that no array has."""
    pending = [test]
    for value in pending:  # it grows
        definition = defs.get(value)
        if value.dtype.kind not in "ib" or (
            definition is not None and definition.op.kind not in (Kind.ELEMENTWISE, Kind.CREATION, Kind.VIEW)
        ):
            return False
        if definition is not None:
            pending += [operand for operand in definition.operands if operand not in pending]
    return True


def _map(
    b: Builder,
    loop: Instruction,
    operands: Sequence[Value],
    mapped: Sequence[bool],
    size: int,
    defs: Definitions,
) -> Sequence[Value]:
    """A scan whose steps are `loop`, with the numbers among its operands."""
    body = Builder()
    body.location = loop.location
    values: dict[int, Value] = {}
    outer: list[Value] = []
    for many in (False, True):  # a scan takes what all steps share first
        for position, operand in enumerate(loop.operands):
            number = defs.get(operand)
            if mapped[position] is not many:
                continue
            if number is not None and number.op.name == "full" and not operand.shape:
                values[position] = body.repeat(number, ())[0]
                continue
            values[position] = body.parameter(operand.type, operand.hint)
            outer.append(operands[position])
    inner = tuple([values[position] for position in range(len(operands))])
    results = body.append(loop.op, inner, loop.attrs, regions=loop.regions)
    region = body.finish(f"each_{loop.op.name}", results)
    attrs = {"carries": 0, "slices": sum(mapped), "length": size, "reverse": False}
    return b.append(SCAN, tuple(outer), attrs, regions=(region,))


def _flattened(
    b: Any, inner: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """One map of all steps of the map `inner` in `size` steps."""
    length = inner.attrs["length"]
    first = len(operands) - inner.attrs["slices"]
    order = [i for i in range(first) if not mapped[i]]
    shared = len(order)
    order += [i for i in range(len(operands)) if i not in order]
    arguments: list[Value] = []
    for position in order:
        value, many = operands[position], mapped[position]
        if position < first and not many:
            arguments.append(value)
            continue
        if not many:
            value = spread(b, value, size)
        elif position < first:
            part = value.shape[1:]
            value = b.broadcast_to(b.reshape(value, shape=(size, 1, *part)), (size, length, *part))
        arguments.append(b.reshape(value, shape=(size * length, *value.shape[2:])))
    (body,) = inner.regions
    region = Function(body.name, tuple([body.params[i] for i in order]), body.body, body.results)
    attrs = {**inner.attrs, "slices": len(order) - shared, "length": size * length}
    results = b.append(inner.op, tuple(arguments), attrs, regions=(region,))
    return [b.reshape(result, shape=(size, length, *result.shape[1:])) for result in results]


def pays(arrays: Function) -> bool:
    """Whether the arrays that a loop became are worth it: but for maps of little work, they are."""
    maps = [step for step in arrays.body if is_map(step)]
    cycles = [cycles_of_step(step) * step.attrs["length"] * _unknown_steps(step.regions[0]) for step in maps]
    return not maps or math.fsum(cycles) >= MIN_CYCLES


def _unknown_steps(body: Function) -> float:
    unknown = any(instruction.op.kind is Kind.WHILE for instruction in body.instructions())
    return UNKNOWN_STEPS if unknown else 1.0
