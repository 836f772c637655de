"""Conversion of NumPy's arrays to tensors, and of tensors back to arrays.

A derivative by an array is an array, by a number NumPy's scalar, by a tensor a tensor. What an outer
derivative or a trace follows stays a tensor whatever it belongs to, as an array could not be followed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...pytree import LEAVES, flatten, tree_map
from ...state import STATE
from ...tensors.tensor import Tensor


def is_followed(tensor: Tensor) -> bool:
    """Whether a derivative or a trace follows `tensor`."""
    return tensor._requires_grad or STATE.tracer is not None


def holds_tensors(tree: Any) -> bool:
    """Whether there is a tensor in `tree`."""
    kind = type(tree)
    if kind is Tensor:
        return True
    if kind is np.ndarray or kind is float or kind is np.float64:
        return False
    return any(isinstance(leaf, Tensor) for leaf in flatten(tree)[0])


def plain(leaf: Any) -> Any:
    """A tensor that nothing follows as an array, of rank 0 as NumPy's scalar; other things as they are."""
    if not isinstance(leaf, Tensor) or is_followed(leaf):
        return leaf
    array = leaf._data
    return array if array.ndim else array[()]


def as_arrays(tree: Any) -> Any:
    """`tree`, with the tensors in it that nothing follows as arrays."""
    if type(tree) in LEAVES:
        return plain(tree)
    if type(tree) is tuple or type(tree) is list:
        return type(tree)([plain(part) if type(part) in LEAVES else as_arrays(part) for part in tree])
    return tree_map(plain, tree)


def values_of(tree: Any) -> Any:
    """`tree` with the values of its tensors, whether a derivative follows them or not. Traced ones stay."""
    return tree_map(_value, tree)


def _value(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or STATE.tracer is not None:
        return leaf
    array = leaf._data
    return array if array.ndim else array[()]


def as_given(derivative: Any, argument: Any) -> Any:
    """The `derivative` by `argument`, of whose structure it is: arrays where that has arrays."""
    if type(derivative) is Tensor:
        return _as_leaf(derivative, argument)
    return tree_map(_as_leaf, derivative, argument)


def _as_leaf(derivative: Any, argument: Any) -> Any:
    if isinstance(argument, Tensor) or not isinstance(derivative, Tensor) or is_followed(derivative):
        return derivative
    array = derivative._data
    return array if array.ndim or isinstance(argument, np.ndarray) else array[()]


def for_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which gives tensors, as one that gives arrays unless it is called with tensors."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        for argument in args:
            if isinstance(argument, Tensor):
                return result
        return as_arrays(result)

    return call
