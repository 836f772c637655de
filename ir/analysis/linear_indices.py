"""Indices that grow by the same number in each step of a loop.

    for j in range(i * i, n, i):
        prime[j] = False              # i * i + i * step

Such an index lies inside in all steps if it does in the first and in the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..dataflow import increment
from ..dtypes import INT64
from ..graph import Function, Value
from ..ops.indexing import indexed_axes
from ..registry import Kind
from .index_ranges import UNKNOWN, Interval

_SUMS: Final = ("add", "sub", "neg")


def linear_indices(body: Function, carries: int, ranges: Mapping[Value, Interval]) -> dict[Value, int]:
    """The numbers by which the steps with `body` index arrays, also in branches, each with the size of the
    shortest axis that it goes along; those of which `ranges` do not tell already that they lie inside."""
    degrees = _degrees(body, carries)
    sizes = _indices(body, ranges)
    return {value: size for value, size in sizes.items() if degrees.get(value) is not None}


def _indices(function: Function, ranges: Mapping[Value, Interval]) -> dict[Value, int]:
    """All numbers that index arrays in a function, where they may lie outside."""
    sizes: dict[Value, int] = {}
    for step in function.body:
        if step.op.kind is Kind.SWITCH:
            for region in step.regions:
                operands = dict(zip(region.params, step.operands[1:], strict=True))
                for value, size in _indices(region, ranges).items():
                    if value in operands:
                        outer = operands[value]
                        sizes[outer] = min(size, sizes.get(outer, size))
        if not step.op.kind.traits.indexes_operand:
            continue
        source, indices = step.operands[0], step.operands[2 if step.op.kind is Kind.SCATTER else 1 :]
        for axis, index in zip(indexed_axes(len(indices), step.attrs["axes"]), indices, strict=True):
            size = source.shape[axis]
            low, high = ranges.get(index, UNKNOWN)
            if not index.shape and (low is None or high is None or low < -size or high >= size):
                sizes[index] = min(size, sizes.get(index, size))
    return sizes


def _degrees(body: Function, carries: int) -> dict[Value, int | None]:
    """The degrees of integers in the step number: 1 for those that grow evenly, 0 for invariant ones, None
    for others."""
    degrees: dict[Value, int | None] = {}
    for position, param in enumerate(body.params):
        number = param.dtype is INT64 and not param.shape
        changes = None if position < carries and increment(body, position) is None else position < carries
        degrees[param] = int(changes) if number and changes is not None else None
    for step in body.body:
        result = step.results[0]
        parts = [degrees.get(operand) for operand in step.operands]
        known = [part for part in parts if part is not None]
        if result.dtype is not INT64 or result.shape or len(known) < len(parts) or step.regions:
            continue
        if step.op.name == "full":
            degrees[result] = 0
        elif step.op.name in _SUMS:
            degrees[result] = max(known)
        elif step.op.name == "mul" and sum(known) < 2:
            degrees[result] = sum(known)
    return degrees
