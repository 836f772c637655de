"""Arguments that repeat their elements: arrays with strides of 0, as `np.broadcast_to` gives.

Compiled code reads plain memory, and a plain copy of such an argument may be larger than all memory. So where
it would be large, the argument is passed with one element along these axes, to a variant of the Function that
repeats it where it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.interface import REPEATED_BYTES
from ..ir.builder import Builder, inline
from ..ir.graph import Function, Value
from ..ir.types import TensorType

Array = np.ndarray[Any, Any]
#: The axes along which arguments repeat one element, by the arguments' positions.
Repeats = Mapping[int, tuple[int, ...]]


def repeats_of(arrays: Sequence[Array], params: Sequence[Value]) -> Repeats:
    """The axes along which `arrays` repeat elements, of those whose copies would be large."""
    repeats = {}
    for position, (array, param) in enumerate(zip(arrays, params, strict=True)):
        axes = large_repeats(array)
        if axes and array.shape == param.shape:
            repeats[position] = axes
    return repeats


def large_repeats(array: Array) -> tuple[int, ...]:
    """The axes along which `array` repeats elements; none where a copy would not be large."""
    if 0 not in array.strides or array.nbytes < REPEATED_BYTES:
        return ()
    lines = enumerate(zip(array.shape, array.strides, strict=True))
    return tuple([axis for axis, (size, stride) in lines if size > 1 and not stride])


def distinct(array: Array, axes: Collection[int]) -> Array:
    """`array` with one element along `axes`."""
    if not axes:
        return array
    return array[tuple([slice(1) if axis in axes else slice(None) for axis in range(array.ndim)])]


def once(arrays: Sequence[Array], repeats: Repeats) -> list[Array]:
    """`arrays` with one element along the axes of `repeats`."""
    result = list(arrays)
    for position, axes in repeats.items():
        result[position] = distinct(arrays[position], axes)
    return result


def repeating(function: Function, repeats: Repeats) -> Function:
    """`function` of arguments that have one element along the axes of `repeats`, where it repeats them."""
    builder = Builder()
    operands = []
    for position, param in enumerate(function.params):
        axes = repeats.get(position, ())
        shape = tuple([1 if axis in axes else size for axis, size in enumerate(param.shape)])
        operand = builder.parameter(TensorType(param.dtype, shape), param.hint)
        operands.append(builder.broadcast(operand, shape=param.shape) if axes else operand)
    return builder.finish(function.name, inline(builder, function, operands))
