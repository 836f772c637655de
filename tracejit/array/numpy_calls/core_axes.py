"""The options ``axes=``, ``axis=`` and ``keepdims=`` of NumPy's generalized ufuncs, such as ``matmul``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...eager.tensor import Tensor
from ...ir.errors import ArgumentError, AxisError
from ..manipulation import expand_dims, moveaxis
from ..operands import as_tensor

__all__ = ["along_axes"]


def along_axes(function: Callable[..., Any], ufunc: np.ufunc, options: dict[str, Any]) -> Callable[..., Any]:
    """`function`, which works along the last axes as `ufunc` does, along those that `options` name.

    Takes ``axes``, ``axis`` and ``keepdims`` out of `options`.
    """
    axes, axis = options.pop("axes", None), options.pop("axis", None)
    keepdims = options.pop("keepdims", False)
    if axes is None and axis is None and not keepdims:
        return function
    name, signature = ufunc.__name__, ufunc.signature or ""
    *operands, result = [
        [label for label in group.strip("()").split(",") if label]
        for group in signature.replace("->", ";").replace("),(", ");(").split(";")
    ]
    if axes is not None and axis is not None:
        raise ArgumentError(f"{name}: axes and axis exclude each other")
    shares_one = all(len(labels) == 1 for labels in operands) and not result
    if (axis is not None or keepdims) and not shares_one:
        raise ArgumentError(f"{name}: axis and keepdims need operands with one axis each, not {signature}")
    if axes is None:
        axes = [-1 if axis is None else axis] * len(operands)
    places = [_as_tuple(name, entry) for entry in axes]
    if len(places) not in (len(operands), len(operands) + 1) or (len(places) == len(operands) and result):
        raise ArgumentError(f"{name}: axes must have an entry for each operand and result, got {axes!r}")

    def call(*inputs: Any) -> Tensor:
        tensors = [
            moveaxis(as_tensor(value), own, tuple(range(-len(own), 0)))
            for value, own in zip(inputs, places, strict=False)
        ]
        value: Tensor = function(*tensors)
        if keepdims:
            return expand_dims(value, places[len(places) - 1] if len(places) > len(inputs) else places[0])
        if len(places) == len(inputs) or not places[-1]:
            return value
        if len(places[-1]) > value.ndim:
            raise AxisError(f"{name}: axes names {len(places[-1])} axes of a result of rank {value.ndim}")
        return moveaxis(value, tuple(range(-len(places[-1]), 0)), places[-1])

    return call


def _as_tuple(name: str, entry: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, entry if isinstance(entry, (tuple, list)) else (entry,)))
    except TypeError:
        raise ArgumentError(f"{name}: axes must be integers or tuples of them, got {entry!r}") from None
