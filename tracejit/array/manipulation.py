"""Changes of shape, of the order of axes, and of dtype. Eagerly most results are views of the memory.

The rest of NumPy's array manipulation is in ``joining``, ``rearranging``, ``diagonals`` and ``assembly``.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from ..arguments.errors import checks_itself, named
from ..arguments.plain_calls import plain_call_of
from ..base.errors import ArgumentError, AxisError
from ..dispatch.eager_functions import EagerFunction
from ..ir.dtypes import as_dtype, is_complex
from ..ir.registry import OPS
from ..ir.types import (
    Shape,
    broadcast_shapes,
    normalize_axes,
    normalize_axis,
)
from ..provided import ELEMENT_ORDER
from ..tensors.tensor import Tensor
from .indexing.access import getitem
from .memory_order import axes_in_memory, in_memory_order, noted_order
from .operands import (
    as_tensor,
    broadcast,
    cast,
    converted,
    given_as,
    given_as_array,
    new_axis,
    tensor_argument,
    warn_of_lost_parts,
)
from .view_calls import (
    BROADCAST,
    MATRIX_TRANSPOSE,
    RAVEL,
    RESHAPE,
    REVERSED,
    SQUEEZE,
    SQUEEZE_AXES,
    SWAPAXES,
    TRANSPOSE,
)


@named("astype")
def _cast(x: Any, dtype: Any) -> Tensor:
    x = as_tensor(x)
    return given_as(x, converted(x, dtype, copy=True))


_CAST: Final = EagerFunction(OPS["cast"], _cast)


@named("copy")
def _copy(x: Any) -> Tensor:
    return given_as_array(cast(as_tensor(x), as_tensor(x).dtype, copy=True))


COPY: Final = EagerFunction(OPS["copy"], _copy)


def _in_order(x: Any, shape: Any, order: str, copy: bool | None = None) -> Tensor:
    """The elements of `x` in `order`, in `shape`; the module for that loads at first use."""
    module = ELEMENT_ORDER()
    return module.reshape_in_order(x, shape, order, copy)  # type: ignore[no-any-return]


#: The order that plain calls have; by its identity they are known.
ROWS: Final = "C"


@checks_itself
def reshape(x: Any, shape: Any, order: str = ROWS, copy: bool | None = None) -> Tensor:
    """Give the elements a new `shape` in row-major order; one size may be -1.

    With `order` ``F`` the first axis is the fastest one, in `x` and in the result. The result is a view where
    it can be; a copy in any case if `copy`, an error where it cannot be a view if `copy` is False.

    Example:
        >>> import tracejit as tj
        >>> tj.reshape([1, 2, 3, 4], (2, -1)).tolist()
        [[1, 2], [3, 4]]

    Raises ShapeError. Semantics: ``numpy.reshape``.
    """
    if order is ROWS and copy is None:
        return RESHAPE.run(x, shape)  # type: ignore[no-any-return]
    return _in_order(x, shape, order, copy)


def raveled(x: Tensor) -> Tensor:
    """The elements of `x` in row-major order."""
    return RAVEL.run(x, ROWS)  # type: ignore[no-any-return]


@plain_call_of(Tensor, raveled, "ravel")
def ravel(x: Any, order: str = "C") -> Tensor:
    """The elements in row-major order along one axis; a view where they lie so in memory.

    With `order` ``F`` in column-major order.

    Example:
        >>> import tracejit as tj
        >>> tj.ravel([[1, 2], [3, 4]])
        tensor([1, 2, 3, 4])

    Semantics: ``numpy.ravel``.
    """
    if order != "C":
        x = _in_order(x, -1, order)
    return raveled(x if type(x) is Tensor else tensor_argument("ravel", x))


def flatten(x: Any, order: str = "C") -> Tensor:
    """A copy of the elements along one axis, in row-major order, or with `order` ``F`` in column-major order.

    Example:
        >>> import tracejit as tj
        >>> tj.flatten([[1, 2], [3, 4]])
        tensor([1, 2, 3, 4])

    Semantics: ``numpy.ndarray.flatten``.
    """
    return ravel(copy(x)) if order == "C" else copy(_in_order(x, -1, order))


@checks_itself
def transpose(x: Any, axes: Any = None) -> Tensor:
    """The axes in the order `axes`, or reversed if that is None.

    Example:
        >>> import tracejit as tj
        >>> tj.transpose([[1, 2], [3, 4]]).tolist()
        [[1, 3], [2, 4]]

    Raises AxisError. Semantics: ``numpy.transpose``.
    """
    return REVERSED.run(x) if axes is None else TRANSPOSE.run(x, axes)  # type: ignore[no-any-return]


def permute_dims(x: Any, axes: Any = None) -> Tensor:
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
    return MATRIX_TRANSPOSE.run(x)  # type: ignore[no-any-return]


@checks_itself
def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Exchange two axes.

    Example:
        >>> import tracejit as tj
        >>> tj.swapaxes(tj.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)

    Raises AxisError. Semantics: ``numpy.swapaxes``.
    """
    return SWAPAXES.run(x, axis1, axis2)  # type: ignore[no-any-return]


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
    perm = _moved(x.ndim, origins, places)
    return x if perm is None else TRANSPOSE.run(x, perm)  # type: ignore[no-any-return]


def _axis_list(axes: Any, rank: int) -> tuple[int, ...]:
    entries = axes if isinstance(axes, (tuple, list)) else (axes,)
    return tuple([normalize_axis("moveaxis", axis, rank) for axis in entries])


@functools.lru_cache(maxsize=4096)
def _moved(rank: int, origins: Shape, places: Shape) -> Shape | None:
    """The order of the axes where `origins` go to `places`; None where that is the one they have."""
    perm = [axis for axis in range(rank) if axis not in origins]
    for place, origin in sorted(zip(places, origins, strict=True)):
        perm.insert(place, origin)
    return None if perm == list(range(rank)) else tuple(perm)


@checks_itself
def squeeze(x: Any, axis: Any = None, dim: Any = None) -> Tensor:
    """Remove axes of size 1: all of them, or those named by `axis`, which PyTorch calls `dim`.

    Example:
        >>> import tracejit as tj
        >>> tj.squeeze(tj.ones((1, 3, 1))).shape
        (3,)

    Raises ShapeError where a named axis has another size. Semantics: ``numpy.squeeze``.
    """
    axis = axis if dim is None else dim
    return SQUEEZE.run(x) if axis is None else SQUEEZE_AXES.run(x, axis)  # type: ignore[no-any-return]


@checks_itself
def expand_dims(x: Any, axis: Any = None, dim: Any = None) -> Tensor:
    """Insert axes of size 1 at the places `axis` (an int or a tuple) of the result.

    Example:
        >>> import tracejit as tj
        >>> tj.expand_dims([1, 2], 0)
        tensor([[1, 2]])

    Raises AxisError. Semantics: ``numpy.expand_dims``.
    """
    if type(axis) is int and type(x) is Tensor and -x.ndim - 1 <= axis <= x.ndim:
        return getitem(x, new_axis(axis % (x.ndim + 1)))
    if hasattr(x, "apply_selected") and type(axis) is int:
        return x[new_axis(normalize_axis("expand_dims", axis, x.ndim + 1))]  # type: ignore[no-any-return]
    x = tensor_argument("expand_dims", x)
    axis = axis if dim is None else dim
    if axis is None:
        raise ArgumentError("expand_dims: axis must be an integer or a tuple of integers, got None")
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = normalize_axes("expand_dims", axis, x.ndim + count)
    sizes = iter(x.shape)
    shape = tuple([1 if place in axes else next(sizes) for place in range(x.ndim + count)])
    return given_as_array(RESHAPE.run(x, shape))


def broadcast_to(x: Any, shape: Any) -> Tensor:
    """Repeated along new leading axes and axes of size 1, to `shape`. Eagerly a read-only view.

    Example:
        >>> import tracejit as tj
        >>> tj.broadcast_to([1, 2], (2, 2))
        tensor([[1, 2],
                [1, 2]])

    Raises ShapeError. Semantics: ``numpy.broadcast_to``.
    """
    return BROADCAST.run(x, shape)  # type: ignore[no-any-return]


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
    tensors = [as_tensor(array) for array in arrays]
    if not tensors:
        return ()
    shape = broadcast_shapes("broadcast_arrays", *(tensor.shape for tensor in tensors))
    return tuple(given_as_array(broadcast(tensor, shape)) for tensor in tensors)


def astype(x: Any, dtype: Any, *, copy: bool = True) -> Tensor:
    """`x` converted to `dtype`; with ``copy=False``, itself where it has that dtype.

    Example:
        >>> import tracejit as tj
        >>> tj.astype([1.7, -1.7], int)
        tensor([ 1, -1])

    Raises DTypeError, and warns with NumPy's ComplexWarning where imaginary parts are lost. Semantics:
    ``numpy.ndarray.astype``. Gradients pass between floating dtypes.
    """
    dtype = as_dtype(dtype)
    if type(x) is Tensor:
        own = x.dtype
        if is_complex(own):
            warn_of_lost_parts(own, dtype)
        if copy and own is not dtype:
            return _CAST.run(x, dtype)  # type: ignore[no-any-return]
    x = as_tensor(x)
    result = converted(x, dtype, copy=copy)
    return result if result is x else given_as(x, result)


_AS_IT_LIES: Final = "K"


@checks_itself
def copy(x: Any, order: str = _AS_IT_LIES) -> Tensor:
    """A copy of `x`, through which gradients flow; `order` is that of its elements in memory.

    Example:
        >>> import tracejit as tj
        >>> tj.copy([1.0, 2.0])
        tensor([1., 2.])

    Semantics: ``numpy.copy``.
    """
    if order is _AS_IT_LIES:
        return COPY.run(x)  # type: ignore[no-any-return]
    x = as_tensor(x)
    axes = axes_in_memory("copy", order, x.ndim, x)
    if x.is_traced:
        return noted_order(COPY.run(x), axes)
    ordered = in_memory_order(x, axes)
    return COPY.run(x) if ordered is x else ordered


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """`x` with `axis` moved before the one at `start`; ``moveaxis`` is easier to read.

    Example:
        >>> import tracejit as tj
        >>> tj.rollaxis(tj.ones((3, 4, 5)), 2).shape
        (5, 3, 4)

    Raises AxisError. Semantics: ``numpy.rollaxis``.
    """
    x = as_tensor(x)
    place = normalize_axis("rollaxis", axis, x.ndim)
    target = start + x.ndim if start < 0 else start
    if not 0 <= target <= x.ndim:
        raise AxisError(f"rollaxis: start {start} is outside of the {x.ndim} axes of {x.shape}")
    return moveaxis(x, place, target - 1 if place < target else target)
