"""Axis specifications of ``vmap``: trees of axes that stand in front of trees of tensors, and their errors.

A specification is an int, None (not mapped), or a container of such that is a prefix of the value's tree:
what it says of a container holds for every leaf inside. Semantics: ``jax.vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..ir.errors import AxisError, ShapeError, TracejitError
from ..ir.types import TensorType
from ..pytree import TreeDef, flatten

Axis = int | None


def check_axes(name: str, axes: Any) -> None:
    """Raise TracejitError unless the leaves of the specification are integers; None is one too."""
    for leaf in flatten(axes)[0]:
        if type(leaf) is not int:
            raise TracejitError(
                f"vmap: {name} must be an int, None, or containers of those, got {leaf!r} in {axes!r}"
            )


def axes_of_leaves(name: str, axes: Any, structure: TreeDef, what: str) -> list[Axis]:
    """The axis of each leaf of a value of `structure`. Raises ShapeError unless `axes` is a prefix of it."""
    leaves, prefix = flatten(axes)
    try:
        return list(_spread(prefix.shape, iter(leaves), structure.shape))
    except _NoPrefixError:
        raise ShapeError(
            f"vmap: {name} must be a tree prefix of {what}: got {name}={axes!r} for {structure}"
        ) from None


class _NoPrefixError(Exception):
    pass


def _spread(prefix: Any, leaves: Iterator[int], shape: Any) -> Iterator[Axis]:
    if prefix is None or prefix[0] == "none":
        axis = next(leaves) if prefix is None else None
        yield from [axis] * _leaf_count(shape)
        return
    if shape is None or prefix[:2] != shape[:2] or len(prefix[2]) != len(shape[2]):
        raise _NoPrefixError
    for entry, inner in zip(prefix[2], shape[2], strict=True):
        yield from _spread(entry, leaves, inner)


def _leaf_count(shape: Any) -> int:
    return 1 if shape is None else sum(map(_leaf_count, shape[2]))


def check_size(size: Any) -> int | None:
    """`axis_size` as an int, or None. Raises TracejitError."""
    if size is None:
        return None
    if isinstance(size, int) and size >= 0:
        return int(size)
    raise TracejitError(f"vmap: axis_size must be None or an integer that is not negative, got {size!r}")


def placed(label: str, what: Callable[[], str], axis: int, type: TensorType) -> int:
    """`axis` of `type` counted from the front. Raises AxisError where it is out of range."""
    rank = type.ndim
    if -rank <= axis < rank:
        return axis % rank
    least = axis + 1 if axis >= 0 else -axis
    raise AxisError(
        f"{label}: axis {axis} of {what()} needs a rank of at least {least}, but it is {type} of rank {rank}"
    )


def common_size(
    label: str,
    path: Callable[[int], str],
    axes: Sequence[int],
    types: Sequence[TensorType],
    size: int | None,
) -> int:
    """The one size of all mapped axes, and of `axis_size` where that is given. Raises ShapeError."""
    sizes = [type_.shape[axis] for axis, type_ in zip(axes, types, strict=True)]
    if size is None and not sizes:
        raise ShapeError(
            f"{label}: nothing is mapped: at least one of in_axes must not be None, or axis_size be given"
        )
    common: int = sizes[0] if size is None else size
    if any(size != common for size in sizes):
        lines = [
            f"  {path(i)} is {type}, of size {size} along axis {axis}"
            for i, (type, size, axis) in enumerate(zip(types, sizes, axes, strict=True))
        ]
        if size is not None:
            lines.insert(0, f"  axis_size is {size}")
        raise ShapeError("\n".join([f"{label}: the mapped axes must have one size, got", *lines]))
    return common
