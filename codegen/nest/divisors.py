"""Divisors that a whole row, a whole column or a whole map shares, and that are inverted once
(`maths/divisors.py`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ...ir.graph import Value
from ..lowering.loop_nest import Member, Memory, Nest

#: Divisions by one number that pay for its inverse.
MIN_USES: Final = 8


def pays(nest: Nest, *, wide_tables: bool) -> bool:
    """Whether the nest's elements are divided so: there are some to each divisor, and the machine has the
    instructions."""
    elements = math.prod(nest.sizes[nest.parallel :]) // (nest.lanes if nest.row_lanes else 1)
    return elements >= MIN_USES and wide_tables


def shared_in_map(nest: Nest, wide_tables: bool) -> list[Memory]:
    """Divisors of a map's elements that do not vary along the lanes, where inverting them pays: the machine
    has the instructions with its `wide_tables`."""
    dim = nest.vector_dim
    if dim is None or len(nest.sizes) > nest.parallel or not wide_tables:
        return []
    if nest.sizes[dim] < MIN_USES * nest.lanes:
        return []
    operands = dict.fromkeys(member.operands[1] for member in nest.members if is_division(member))
    return [
        operand for operand in operands
        if isinstance(operand, Memory) and operand.buffer is not None and operand.strides[dim] == 0
    ]  # fmt: skip


def is_division(member: Member) -> bool:
    """Whether `member` divides floats for which there are two parts."""
    return member.instruction.op.quotient and str(member.value.dtype) in ("float32", "float64")


def divisors(members: Sequence[Member]) -> set[Value]:
    """The values that the full-level ones of `members` divide by."""
    operands = (member.operands[1] for member in members if is_division(member) and not member.row_level)
    return {value for value in operands if isinstance(value, Value)}
