"""``associative_scan``: prefixes of an associative operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..array.joining import concatenate
from ..array.operands import copied_from
from ..array.rearranging import flip
from ..base.errors import ShapeError, TracejitError
from ..dispatch.dispatch import apply
from ..ir.registry import OPS
from ..ir.types import normalize_axis
from ..pytree import flatten, leaf_paths
from ..tensors.tensor import Tensor
from .carry import Flat, Tree, as_tensor, take_apart

_NAME = "associative_scan"


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes of `elems` along `axis` under the associative `fn`: e0, fn(e0, e1), fn(fn(e0, e1), e2).

    `elems` is a pytree of tensors with one size along `axis`. `fn` takes two such pytrees with fewer elements
    along it and combines them element by element, ``fn(a, fn(b, c)) == fn(fn(a, b), c)``; what it returns has
    their structure and shapes. `reverse` begins at the other end, with ``fn(later, earlier)``. `fn` is called
    on arrays, about twice as often as the logarithm of the size says, and all of it is array operations,
    where `scan` goes step by step. Results differ from its by rounding. Differentiable to any order.

    Example:
        >>> import tracejit as tj
        >>> tj.associative_scan(tj.multiply, tj.tensor([1.0, 2.0, 3.0, 4.0]))
        tensor([ 1.,  2.,  6., 24.])
        >>> def after(f, g):  # x -> a x + b, one map after another
        ...     return f[0] * g[0], f[1] * g[0] + g[1]
        >>> a, b = tj.tensor([0.5, 0.5, 2.0]), tj.tensor([1.0, 2.0, 3.0])
        >>> tj.associative_scan(after, (a, b))[1]
        tensor([1. , 2.5, 8. ])

    Raises ShapeError for sizes along `axis` that differ, naming the leaves, and where `fn` changes structure,
    shape or dtype; AxisError for an axis that is not there. Semantics: ``jax.lax.associative_scan``.
    """
    if not callable(fn):
        raise TracejitError(f"{_NAME}: expected a function, got {type(fn).__name__}")
    tree = take_apart(_NAME, "elems", elems)
    if not tree.leaves:
        raise ShapeError(f"{_NAME}: elems must hold at least one array")
    leaves = [as_tensor(leaf) for leaf in tree.leaves]
    for leaf, path in zip(leaves, tree.paths, strict=True):
        if not leaf.shape:
            raise ShapeError(f"{_NAME}: elems{path} is a scalar; it must have an axis to scan over")
    axes = [normalize_axis(_NAME, axis, len(leaf.shape)) for leaf in leaves]
    sizes = [leaf.shape[along] for leaf, along in zip(leaves, axes, strict=True)]
    if len(set(sizes)) > 1:
        each = ", ".join(f"elems{path} has {size}" for path, size in zip(tree.paths, sizes, strict=True))
        raise ShapeError(f"{_NAME}: sizes along axis {axis} must agree: {each}")
    turned = [flip(leaf, along) for leaf, along in zip(leaves, axes, strict=True)] if reverse else leaves
    prefixes = _prefixes(_flat(fn, tree), turned, axes)
    prefixes = [copied_from(leaf, prefix) for leaf, prefix in zip(leaves, prefixes, strict=True)]
    if reverse:
        prefixes = [flip(tensor, along) for tensor, along in zip(prefixes, axes, strict=True)]
    return tree.structure.unflatten(prefixes)


def _flat(fn: Callable[[Any, Any], Any], like: Tree) -> Flat:
    """`fn` of flat lists of leaves. Its calls raise where a result is not what the arguments were."""

    def combine(x: Sequence[Tensor], y: Sequence[Tensor]) -> list[Any]:
        combined = fn(like.structure.unflatten(x), like.structure.unflatten(y))
        structure = flatten(combined)[1]
        if structure != like.structure:
            raise ShapeError(
                f"{_NAME}: fn must return the structure of its arguments, {like.structure}, got {structure}"
            )
        tensors = [as_tensor(leaf) for leaf in take_apart(_NAME, "the result", combined).leaves]
        for before, after, path in zip(x, tensors, leaf_paths(combined), strict=True):
            if after.type != before.type:
                raise ShapeError(
                    f"{_NAME}: fn must return the shapes and dtypes of its arguments; result{path} is "
                    f"{after.type}, and was {before.type}"
                )
        return tensors

    return combine


def _prefixes(combine: Flat, elems: list[Tensor], axes: list[int]) -> list[Tensor]:
    """The inclusive prefixes of `elems`, recursively: the prefixes of combined pairs of neighbours are every
    second result, and each of the others takes one more element."""
    size = elems[0].shape[axes[0]]
    if size < 2:
        return elems
    pairs = combine(_every_second(elems, axes, 0, size - 1), _every_second(elems, axes, 1, size))
    odd = _prefixes(combine, pairs, axes)
    before = _stretch(odd, axes, 0, (size - 1) // 2)
    even = _every_second(elems, axes, 0, 1)
    if size > 2:
        more = combine(before, _every_second(elems, axes, 2, size))
        even = [concatenate([x, y], along) for x, y, along in zip(even, more, axes, strict=True)]
    return [_interleaved(x, y, along) for x, y, along in zip(even, odd, axes, strict=True)]


def _every_second(elems: list[Tensor], axes: list[int], start: int, stop: int) -> list[Tensor]:
    return [
        elem[(*[slice(None)] * along, slice(start, stop, 2))] for elem, along in zip(elems, axes, strict=True)
    ]


def _stretch(elems: list[Tensor], axes: list[int], start: int, stop: int) -> list[Tensor]:
    return [
        elem[(*[slice(None)] * along, slice(start, stop))] for elem, along in zip(elems, axes, strict=True)
    ]


def _interleaved(even: Tensor, odd: Tensor, axis: int) -> Tensor:
    """The elements of both in turn along `axis`."""
    shape = list(even.shape)
    shape[axis] += odd.shape[axis]
    steps = tuple([2 if i == axis else 1 for i in range(len(shape))])
    result = apply(OPS["full"], (), {"value": 0, "shape": tuple(shape), "dtype": even.dtype})
    for first, part in enumerate((even, odd)):
        start = tuple([first if i == axis else 0 for i in range(len(shape))])
        result = apply(OPS["update"], (result, part), {"start": start, "step": steps})
    return result  # type: ignore[no-any-return]
