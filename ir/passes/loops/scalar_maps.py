"""Maps of loops of scalars: scans without carries whose steps may be lanes, as they write no arrays."""

from __future__ import annotations

from typing import Final

from ...graph import Function, Instruction
from ...registry import Kind
from .register_state import is_array, operations

#: What steps may do beside loops and branches.
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
