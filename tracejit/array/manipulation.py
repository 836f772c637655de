"""Changes of shape, of the order of axes, and of dtype. Eagerly most results are views of the memory.

The rest of NumPy's array manipulation is in ``joining``, ``rearranging``, ``diagonals`` and ``searching``.
"""

from __future__ import annotations

import operator
from typing import Any

from ..ir.dtypes import as_dtype
from ..ir.errors import AxisError, ShapeError
from ..ir.types import (
    as_shape,
    broadcast_shapes,
    broadcastable,
    normalize_axes,
    normalize_axis,
    remove_axes,
    resolve_reshape,
)
from ..tensor import Tensor
from .operands import as_tensor, broadcast, cast, permuted, reshaped, run

__all__ = [
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "copy",
    "expand_dims",
    "flatten",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
]


def reshape(x: Any, shape: Any) -> Tensor:
    """The same elements in row-major order in `shape`, of which one size may be -1.

    Example:
        >>> import tracejit as tj
        >>> tj.reshape([1, 2, 3, 4], (2, -1))
        tensor([[1, 2],
                [3, 4]])

    Raises ShapeError. Semantics: ``numpy.reshape``.
    """
    x = as_tensor(x)
    return run("reshape", x, shape=resolve_reshape("reshape", x.shape, shape))


def ravel(x: Any) -> Tensor:
    """The elements in row-major order along one axis; a view where the memory allows.

    Example:
        >>> import tracejit as tj
        >>> tj.ravel([[1, 2], [3, 4]])
        tensor([1, 2, 3, 4])

    Semantics: ``numpy.ravel``.
    """
    x = as_tensor(x)
    return run("reshape", x, shape=(x.size,))


def flatten(x: Any) -> Tensor:
    """A copy of the elements in row-major order along one axis.

    Example:
        >>> import tracejit as tj
        >>> tj.flatten([[1, 2], [3, 4]])
        tensor([1, 2, 3, 4])

    Semantics: ``numpy.ndarray.flatten``.
    """
    return ravel(copy(x))


def transpose(x: Any, axes: Any = None) -> Tensor:
    """The axes in the order `axes`, or reversed if that is None.

    Example:
        >>> import tracejit as tj
        >>> tj.transpose([[1, 2], [3, 4]])
        tensor([[1, 3],
                [2, 4]])

    Raises AxisError. Semantics: ``numpy.transpose``.
    """
    x = as_tensor(x)
    if axes is None:
        return run("transpose", x, perm=tuple(range(x.ndim))[::-1])
    perm = tuple(normalize_axis("transpose", axis, x.ndim) for axis in axes)
    if sorted(perm) != list(range(x.ndim)):
        raise AxisError(
            f"transpose: axes {tuple(axes)} are not a permutation of the {x.ndim} axes of {x.shape}"
        )
    return run("transpose", x, perm=perm)


def permute_dims(x: Any, axes: Any) -> Tensor:
    """``transpose`` under the Array API's name.

    Example:
        >>> import tracejit as tj
        >>> tj.permute_dims(tj.ones((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)

    Raises AxisError. Semantics: the Array API's ``permute_dims``.
    """
    return transpose(x, axes)


def matrix_transpose(x: Any) -> Tensor:
    """The last two axes exchanged.

    Example:
        >>> import tracejit as tj
        >>> tj.matrix_transpose(tj.ones((5, 2, 3))).shape
        (5, 3, 2)

    Raises ShapeError below rank 2. Semantics: ``numpy.matrix_transpose``.
    """
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: expected rank 2 or more, got shape {x.shape}")
    return swapaxes(x, -1, -2)


def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged.

    Example:
        >>> import tracejit as tj
        >>> tj.swapaxes(tj.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)

    Raises AxisError. Semantics: ``numpy.swapaxes``.
    """
    x = as_tensor(x)
    perm = list(range(x.ndim))
    first, second = normalize_axis("swapaxes", axis1, x.ndim), normalize_axis("swapaxes", axis2, x.ndim)
    perm[first], perm[second] = second, first
    return run("transpose", x, perm=tuple(perm))


def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """The axes `source` (an int or several) moved to the places `destination`; the others keep their order.

    Example:
        >>> import tracejit as tj
        >>> tj.moveaxis(tj.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)

    Raises AxisError. Semantics: ``numpy.moveaxis``.
    """
    x = as_tensor(x)
    origins, places = _axis_list(source, x.ndim), _axis_list(destination, x.ndim)
    if len(origins) != len(places) or len(set(origins)) < len(origins) or len(set(places)) < len(places):
        raise AxisError(
            f"moveaxis: source {source} and destination {destination} must be distinct and as many"
        )
    perm = [axis for axis in range(x.ndim) if axis not in origins]
    for place, origin in sorted(zip(places, origins, strict=True)):
        perm.insert(place, origin)
    return permuted(x, perm)


def _axis_list(axes: Any, rank: int) -> list[int]:
    given = axes if isinstance(axes, (tuple, list)) else (axes,)
    return [normalize_axis("moveaxis", axis, rank) for axis in given]


def squeeze(x: Any, axis: Any = None) -> Tensor:
    """Without the axes of size 1: all of them, or those named by `axis`.

    Example:
        >>> import tracejit as tj
        >>> tj.squeeze(tj.ones((1, 3, 1))).shape
        (3,)

    Raises ShapeError where a named axis has another size. Semantics: ``numpy.squeeze``.
    """
    x = as_tensor(x)
    if axis is None:
        return run("reshape", x, shape=tuple(size for size in x.shape if size != 1))
    axes = normalize_axes("squeeze", axis, x.ndim)
    if any(x.shape[one] != 1 for one in axes):
        raise ShapeError(f"squeeze: cannot remove axis {axis} of {x.shape}: its size is not 1")
    return run("reshape", x, shape=remove_axes(x.shape, axes))


def expand_dims(x: Any, axis: Any) -> Tensor:
    """With new axes of size 1 at the places `axis` (an int or a tuple) of the result.

    Example:
        >>> import tracejit as tj
        >>> tj.expand_dims([1, 2], 0)
        tensor([[1, 2]])

    Raises AxisError. Semantics: ``numpy.expand_dims``.
    """
    x = as_tensor(x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = normalize_axes("expand_dims", axis, x.ndim + count)
    sizes = iter(x.shape)
    shape = tuple(1 if place in axes else next(sizes) for place in range(x.ndim + count))
    return run("reshape", x, shape=shape)


def broadcast_to(x: Any, shape: Any) -> Tensor:
    """Repeated along new leading axes and axes of size 1, to `shape`. Eagerly a read-only view.

    Example:
        >>> import tracejit as tj
        >>> tj.broadcast_to([1, 2], (2, 2))
        tensor([[1, 2],
                [1, 2]])

    Raises ShapeError. Semantics: ``numpy.broadcast_to``.
    """
    x = as_tensor(x)
    target = as_shape("broadcast_to", shape)
    if not broadcastable(x.shape, target):
        raise ShapeError(f"broadcast_to: {x.shape} does not broadcast to {target}")
    return run("broadcast", x, shape=target)


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """All `arrays` broadcast to their common shape.

    Example:
        >>> import tracejit as tj
        >>> tj.broadcast_arrays([1, 2], [[3], [4]])
        (tensor([[1, 2],
                [1, 2]]), tensor([[3, 3],
                [4, 4]]))

    Raises ShapeError. Semantics: ``numpy.broadcast_arrays``.
    """
    tensors = [as_tensor(one) for one in arrays]
    if not tensors:
        return ()
    shape = broadcast_shapes("broadcast_arrays", *(one.shape for one in tensors))
    return tuple(broadcast(one, shape) for one in tensors)


def _each(convert: Any, arrays: tuple[Any, ...]) -> Any:
    results = tuple(convert(as_tensor(one)) for one in arrays)
    return results[0] if len(results) == 1 else results


def atleast_1d(*arrays: Any) -> Any:
    """Each array with rank 1 or more; a tuple for several.

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_1d(1.5)
        tensor([1.5000])

    Semantics: ``numpy.atleast_1d``.
    """
    return _each(lambda x: reshaped(x, x.shape or (1,)), arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Each array with rank 2 or more, new axes first; a tuple for several.

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_2d([1, 2])
        tensor([[1, 2]])

    Semantics: ``numpy.atleast_2d``.
    """
    return _each(lambda x: reshaped(x, (1,) * (2 - x.ndim) + x.shape), arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Each array with rank 3 or more: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1).

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_3d([1, 2]).shape
        (1, 2, 1)

    Semantics: ``numpy.atleast_3d``.
    """

    def deepen(x: Tensor) -> Tensor:
        if x.ndim < 2:
            return reshaped(x, (1, x.size, 1))
        return reshaped(x, (*x.shape, 1)) if x.ndim == 2 else x

    return _each(deepen, arrays)


def astype(x: Any, dtype: Any, *, copy: bool = True) -> Tensor:
    """`x` converted to `dtype`; with ``copy=False``, itself where it has that dtype.

    Example:
        >>> import tracejit as tj
        >>> tj.astype([1.7, -1.7], int)
        tensor([ 1, -1])

    Raises DTypeError. Semantics: ``numpy.ndarray.astype``. Gradients pass between floating dtypes.
    """
    return cast(as_tensor(x), as_dtype(dtype), copy=copy)


def copy(x: Any) -> Tensor:
    """A copy of `x`, through which gradients flow.

    Example:
        >>> import tracejit as tj
        >>> tj.copy([1.0, 2.0])
        tensor([1., 2.])

    Semantics: ``numpy.copy``.
    """
    x = as_tensor(x)
    return cast(x, x.dtype, copy=True)


def method_shape(sizes: tuple[Any, ...]) -> Any:
    """The argument of a method that takes sizes one by one or as one tuple."""
    if len(sizes) == 1:
        only = sizes[0]
        return only if isinstance(only, (tuple, list)) else (operator.index(only),)
    return sizes
