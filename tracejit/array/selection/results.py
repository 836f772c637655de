"""Results of compiled calls whose length depends on values.

Compiled code gives an array of the greatest length with the selected elements in front, and their number;
`CutArray` is the container of the two in the structure of the results. Made anew of what a call has computed,
it is the array of just the selected elements; under a trace it is a `Selection` again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.graph import Value
from ...pytree import register_pytree_node
from ...tensors.tensor import Tensor, wrap
from .masked_selection import Selection
from .positions import compact, prefix


class CutArray:
    """The first `count` slices of `padded` along `axis`."""

    __slots__ = ("axis", "count", "padded")

    def __init__(self, axis: int, padded: Any, count: Any) -> None:
        self.axis, self.padded, self.count = axis, padded, count

    def __repr__(self) -> str:
        return f"CutArray(axis={self.axis}, padded={self.padded!r}, count={self.count!r})"


def in_front(x: Selection) -> CutArray:
    """The elements of `x` in front of an array that has room for all, and their number."""
    return CutArray(x._first, *compact(x))


def _cut(axis: int, parts: Any) -> Any:
    """The selected elements; while `parts` are neither tensors nor arrays, the container of these."""
    padded, count = parts
    if not isinstance(padded, (Tensor, np.ndarray)):
        return CutArray(axis, padded, count)
    extent = padded.shape[axis]
    if isinstance(padded, Tensor) and isinstance(padded._data, Value):
        return prefix(axis, padded, count)
    number = int(count)
    if number == extent:
        return padded
    part = (*[slice(None)] * axis, slice(0, number))
    few = 2 * number <= extent  # these do not keep the memory of all
    if isinstance(padded, Tensor) and not padded._requires_grad:  # and nobody else has it
        array = padded._data[part]
        return wrap(array.copy() if few else array)
    return padded[part].copy() if few else padded[part]


register_pytree_node(CutArray, lambda cut: ((cut.padded, cut.count), cut.axis), _cut)
