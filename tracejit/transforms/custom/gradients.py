"""What a user's rule gave as gradients, checked against the arguments they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...eager.tensor import Tensor, as_array, wrap
from ...ir.dtypes import DType, is_differentiable
from ...ir.errors import DTypeError, GradientError, ShapeError
from ...ir.records import record
from ...ir.types import Shape
from ...pytree import LEAVES, TreeDef, flatten
from ...state import STATE
from ...tape.engine import TENSOR_OPS


@record
class Leaf:
    """What is known of a leaf of the arguments; `dtype` is None where no gradient is wanted for it.

    A weak one is a Python number under a trace, which computes in the dtype of what it meets.
    """

    shape: Shape
    dtype: DType | None
    weak: bool


def leaf_of(value: Any) -> Leaf:
    """The Leaf of a tensor, an array or a number. Gradients are wanted for floating tensors."""
    if not isinstance(value, Tensor):
        return Leaf(np.shape(value), None, weak=False)
    weak = STATE.tracer is not None and value.is_traced and STATE.tracer.is_weak(value._data)
    return Leaf(value.shape, value.dtype if is_differentiable(value.dtype) else None, weak=weak)


def checked_gradients(
    source: str, structure: TreeDef, leaves: Sequence[Leaf], returned: Any
) -> list[Tensor | None]:
    """The gradients in `returned`, one per argument, as one per leaf of the arguments; None for zeros.

    `structure` is that of the tuple of arguments; `source` is what messages call the function they came from.
    """
    _, _, arguments = structure.shape
    if not isinstance(returned, (tuple, list)) or len(returned) != len(arguments):
        got = f"{len(returned)}" if isinstance(returned, (tuple, list)) else type(returned).__name__
        hint = "; write (gradient,) for one argument" if not isinstance(returned, (tuple, list)) else ""
        raise GradientError(
            f"{source} must return a tuple of {len(arguments)} gradients, one per argument, got {got}{hint}"
        )
    gradients: list[Any] = []
    for position, (shape, gradient) in enumerate(zip(arguments, returned, strict=True)):
        if shape is None and (gradient is None or type(gradient) in LEAVES):
            gradients.append(gradient)
            continue
        parts, theirs = flatten(gradient)
        where = f"{source} returned for argument {position}"
        gradients.extend(_fitted(shape, theirs.shape, iter(parts), where))
    return [
        _checked(source, i, leaf, gradient)
        for i, (leaf, gradient) in enumerate(zip(leaves, gradients, strict=True))
    ]


def _fitted(argument: Any, gradient: Any, parts: Iterator[Any], where: str) -> Iterator[Any]:
    """The parts of a gradient, in the order of the argument's leaves; a None stands for any tree."""
    none = ("none", None, ())
    if argument is None and gradient is None:
        yield next(parts)
    elif gradient == none:
        yield from [None] * _count(argument)
    elif (
        argument is None
        or gradient is None
        or argument[:2] != gradient[:2]
        or len(argument[2]) != len(gradient[2])
    ):
        expected, got = TreeDef(argument, _count(argument)), TreeDef(gradient, _count(gradient))
        raise GradientError(f"{where} a gradient of another structure: expected {expected}, got {got}")
    else:
        for inner, theirs in zip(argument[2], gradient[2], strict=True):
            yield from _fitted(inner, theirs, parts, where)


def _count(shape: Any) -> int:
    return 1 if shape is None else sum(map(_count, shape[2]))


def _checked(source: str, position: int, leaf: Leaf, gradient: Any) -> Tensor | None:
    if gradient is None or leaf.dtype is None:
        return None
    where = f"{source} returned for leaf {position} of the arguments"
    if type(gradient) in (bool, int, float, complex):
        gradient = np.asarray(gradient, leaf.dtype)
    if isinstance(gradient, (np.ndarray, np.generic)):
        gradient = wrap(as_array(gradient))
    if not isinstance(gradient, Tensor):
        raise GradientError(f"{where} {type(gradient).__name__}, expected a tensor or None")
    if gradient.shape != leaf.shape:
        raise ShapeError(f"{where} a gradient of shape {gradient.shape}, expected {leaf.shape}")
    if leaf.weak and is_differentiable(gradient.dtype):
        return TENSOR_OPS.cast(gradient, dtype=leaf.dtype)  # type: ignore[no-any-return]
    if gradient.dtype != leaf.dtype:
        raise DTypeError(f"{where} a gradient of dtype {gradient.dtype.name}, expected {leaf.dtype.name}")
    return gradient
