"""``cond`` and ``switch``: one of several functions, chosen when the program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.errors import DTypeError, ShapeError, TracejitError
from ..dispatch.dispatch import apply
from ..dispatch.regions import apply_with_regions
from ..ir.dtypes import BOOL, INT64, DType
from ..ir.registry import OPS
from ..ir.types import TensorType
from ..pytree import TreeDef, flatten
from ..state import STATE
from ..tensors.tensor import Tensor, as_array, wrap
from ..tracing.tracer import tracing
from .carry import SCALARS, Region, fitted, results_of, shared_captures, take_apart, traced

_MISSING: Any = object()


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _MISSING,
) -> Any:
    """``true_fun(*operands)`` where the scalar `pred` is true, else ``false_fun(*operands)``.

    Both functions must return the same structure of tensors, with the same shapes and dtypes; Python numbers
    adapt. Only the chosen one runs, in compiled code too. `pred` is a bool, or a number, true unless zero.
    `operand` is an older way to give a single operand.

    Example:
        >>> import tracejit as tj
        >>> f = tj.jit(lambda x: tj.cond(x.sum() > 0, lambda x: x, lambda x: -x, x))
        >>> f(tj.tensor([-1.0, -2.0]))
        tensor([1., 2.])

    Raises ShapeError or DTypeError where the results differ in structure or type, naming the leaf. Semantics:
    ``jax.lax.cond``.
    """
    operands = _with_operand("cond", operands, operand)
    for function in (true_fun, false_fun):
        if not callable(function):
            raise TracejitError(f"cond: expected functions for both branches, got {type(function).__name__}")
    condition = _scalar("cond", "pred", pred)
    if not isinstance(condition, Tensor):
        return _run(true_fun if condition else false_fun, "cond", operands)
    if STATE.tracer is None:
        return _run(true_fun if bool(condition) else false_fun, "cond", operands)
    if condition.dtype is not BOOL:
        condition = apply(OPS["ne"], (condition, 0), {})
    return _traced("cond", ("false_fun", "true_fun"), condition, (false_fun, true_fun), operands)


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _MISSING
) -> Any:
    """``branches[index](*operands)``; an `index` out of range counts as the nearest one in range.

    All branches must return the same structure of tensors, with the same shapes and dtypes. `operand` is an
    older way to give a single operand.

    Example:
        >>> import tracejit as tj
        >>> f = tj.jit(lambda i, x: tj.switch(i, [tj.sin, tj.cos, lambda x: x * x], x))
        >>> f(2, 3.0), f(7, 3.0)
        (tensor(9.), tensor(9.))

    Raises DTypeError for an index that is not an integer scalar, ShapeError or DTypeError where the results
    differ. Semantics: ``jax.lax.switch``.
    """
    operands = _with_operand("switch", operands, operand)
    functions = list(branches)
    if not functions or not all(map(callable, functions)):
        raise TracejitError("switch: expected a non-empty sequence of functions")
    position = _scalar("switch", "index", index)
    kind = position.dtype.kind if isinstance(position, Tensor) else np.asarray(position).dtype.kind
    if kind not in "iu":
        raise DTypeError(f"switch: the index must be an integer, got {_shown(position)}")
    if not isinstance(position, Tensor) or STATE.tracer is None:
        return _run(functions[min(max(int(position), 0), len(functions) - 1)], "switch", operands)
    if len(functions) == 1:
        return functions[0](*operands)
    if position.dtype is not INT64:
        position = apply(OPS["cast"], (position,), {"dtype": INT64})
    names = [f"branch {i}" for i in range(len(functions))]
    return _traced("switch", names, position, functions, operands)


def _with_operand(name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    """The operands, of which one may have been given by name."""
    if operand is _MISSING:
        return operands
    if operands:
        raise TracejitError(f"{name}: give operands by position or `operand` by name, not both")
    return (operand,)


def _shown(value: Any) -> str:
    return str(value.type) if isinstance(value, Tensor) else f"a Python {type(value).__name__}"


def _scalar(name: str, what: str, value: Any) -> Any:
    """A Python number as it is, anything else as a Tensor with one element and no dimensions."""
    if type(value) in SCALARS:
        return value
    tensor = value if isinstance(value, Tensor) else wrap(as_array(value))
    if tensor.shape != ():
        raise ShapeError(f"{name}: {what} must be a scalar, got {tensor.type}")
    return tensor


def _run(chosen: Callable[..., Any], name: str, operands: tuple[Any, ...]) -> Any:
    tree = take_apart(name, "the result", chosen(*operands))
    return tree.structure.unflatten(results_of(tree.leaves, flatten(operands)[0]))


def _traced(
    name: str,
    labels: Sequence[str],
    index: Tensor,
    functions: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
) -> Any:
    """Trace the branches, whose operands are captures like anything else that they use, and append the op."""
    parent = STATE.tracer
    assert parent is not None
    structures: list[TreeDef] = []
    paths: list[str] = []
    regions: list[Region] = []
    for label, function in zip(labels, functions, strict=True):

        def flat(function: Callable[..., Any] = function) -> list[Any]:
            tree = take_apart(name, "the result", function(*operands))
            structures.append(tree.structure)
            paths[:] = tree.paths
            return tree.leaves

        regions.append(traced(parent, flat, (), (), (), repeats=False))
        if structures[-1] != structures[0]:
            raise ShapeError(
                f"{name}: all branches must return the same structure; {labels[0]} returned {structures[0]}, "
                f"{label} {structures[-1]}"
            )
    for i, path in enumerate(paths):
        agree(name, labels, regions, i, path)
    holders, params = shared_captures([region.tracer for region in regions])
    bodies = tuple(
        [
            region.function(label.replace(" ", ""), mine)
            for region, label, mine in zip(regions, labels, params, strict=True)
        ]
    )
    results = apply_with_regions(OPS["switch"], [index, *holders], {}, bodies)
    return structures[0].unflatten(results)


def agree(name: str, labels: Sequence[str], regions: Sequence[Region], i: int, path: str) -> None:
    """Give result `i` of all branches one type, casting Python numbers. Raises where that cannot be."""
    types: list[TensorType] = [region.results[i].type for region in regions]
    strong = [type for type, region in zip(types, regions, strict=True) if not region.weak[i]]
    dtype: DType = strong[0].dtype if strong else max((type_.dtype for type_ in types), key=_width)
    target = TensorType(dtype, (strong or types)[0].shape)
    for label, type_, region in zip(labels, types, regions, strict=True):
        if type_ == target:
            continue
        casts = type_.shape == target.shape and region.weak[i] and _width(type_.dtype) <= _width(dtype)
        if not casts:
            first = labels[types.index(target)] if target in types else labels[0]
            where = f" at {path}" if path else ""
            message = (
                f"{name}: all branches must return the same types; {first} returned {target}{where}, {label} "
                f"{type_}"
            )
            raise DTypeError(message) if type_.shape == target.shape else ShapeError(message)
        with tracing(region.tracer):
            region.results[i] = fitted(wrap(region.results[i]), dtype)._data


def _width(dtype: DType) -> int:
    """Bools become integers, integers floats, floats complex numbers."""
    return "biufc".index(dtype.kind) if dtype.kind != "u" else 1
