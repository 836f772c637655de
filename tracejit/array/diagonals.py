"""Matrices that are made by the positions of elements; triangles and diagonals of matrices and of stacks of
them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..arguments.errors import named
from ..arguments.plain_calls import plain_call_of
from ..base.errors import ShapeError
from ..dispatch.eager_functions import EagerFunction
from ..ir.dtypes import BOOL, INT64, as_dtype, default_dtype
from ..ir.graph import Value
from ..ir.registry import OPS, Attrs, Builtin
from ..ir.types import as_shape, normalize_axis
from ..tape.plans import Composite, Written
from ..tape.views import ViewStep, are_views, share
from ..tensors.tensor import Tensor, wrap
from .creation import tracked
from .manipulation import ravel
from .memory_order import axes_in_memory, in_memory_order
from .operands import as_tensor, cast, filled, is_tracing, permuted, reshaped, run
from .reductions import sum


def tri(rows: int, columns: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on and below the `k`-th diagonal of a matrix, zeros above.

    Example:
        >>> import tracejit as tj
        >>> tj.tri(3, dtype=int)
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]])

    Semantics: ``numpy.tri``.
    """
    result_dtype = default_dtype() if dtype is None else as_dtype(dtype)
    return cast(compare_positions("le", rows, columns, k), result_dtype)


def eye(
    rows: int,
    columns: int | None = None,
    k: int = 0,
    dtype: Any = None,
    order: str = "C",
    *,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on its `k`-th diagonal and zeros elsewhere; `order` as in ``zeros``.

    Example:
        >>> import tracejit as tj
        >>> tj.eye(2)
        tensor([[1., 0.],
                [0., 1.]])

    Semantics: ``numpy.eye``.
    """
    result_dtype = default_dtype() if dtype is None else as_dtype(dtype)
    result = cast(compare_positions("eq", rows, columns, k), result_dtype)
    if type(order) is not str or order != "C":
        result = in_memory_order(result, axes_in_memory("eye", order, 2))
    return tracked(result, requires_grad)


def identity(n: int, dtype: Any = None) -> Tensor:
    """The identity matrix of order `n`.

    Example:
        >>> import tracejit as tj
        >>> tj.identity(2, dtype=int)
        tensor([[1, 0],
                [0, 1]])

    Semantics: ``numpy.identity``.
    """
    return eye(n, dtype=dtype)


def compare_positions(comparison: str, rows: int, columns: int | None, k: int) -> Tensor:
    """The bool matrix of ``comparison(column number, row number + k)``."""
    shape = as_shape("eye", (rows, rows if columns is None else columns))
    offset = operator.index(k)
    if is_tracing():
        column = run("iota", shape=shape, axis=1, dtype=INT64)
        row = run("iota", shape=shape, axis=0, dtype=INT64)
    else:
        column, row = wrap(np.arange(shape[1])), wrap(np.arange(shape[0])[:, None])
    return run(comparison, column, run("add", row, offset) if offset else row)


def tril(x: Any, k: int = 0) -> Tensor:
    """The last two axes with zeros above the `k`-th diagonal.

    Example:
        >>> import tracejit as tj
        >>> tj.tril([[1, 2], [3, 4]])
        tensor([[1, 0],
                [3, 4]])

    Raises ShapeError below rank 1. Semantics: ``numpy.tril``.
    """
    return _triangle("tril", x, "le", k)


def triu(x: Any, k: int = 0) -> Tensor:
    """The last two axes with zeros below the `k`-th diagonal.

    Example:
        >>> import tracejit as tj
        >>> tj.triu([[1, 2], [3, 4]])
        tensor([[1, 2],
                [0, 4]])

    Raises ShapeError below rank 1. Semantics: ``numpy.triu``.
    """
    return _triangle("triu", x, "ge", k)


def _triangle(name: str, x: Any, comparison: str, k: int) -> Tensor:
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError(f"{name}: expected rank 1 or more, got a tensor of rank 0")
    rows = x.shape[-2] if x.ndim > 1 else x.shape[-1]
    inside = compare_positions(comparison, rows, x.shape[-1], k)
    return run("where", inside, x, False if x.dtype is BOOL else 0)


def _first_diagonal(x: Tensor) -> Tensor:
    """The diagonal of the first two axes. Its errors are complete."""
    if len(x._data.shape) == 2:
        return _DIAGONAL.run(x, 0, -2, -1)  # type: ignore[no-any-return]
    return _diagonal_of_planes(x, 0, 0, 1)


@plain_call_of(Tensor, _first_diagonal, "diagonal")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The elements x[i, i + offset] of the planes of `axis1` and `axis2`, along a new last axis.

    A view, which can be written, unlike NumPy's.

    Example:
        >>> import tracejit as tj
        >>> tj.diagonal([[1, 2], [3, 4]])
        tensor([1, 4])

    Raises AxisError, and ShapeError below rank 2. Semantics: ``numpy.diagonal``.
    """
    return _diagonal_of_planes(x, offset, axis1, axis2)


@named("diagonal")
def _diagonal_of_planes(x: Any, offset: Any, axis1: Any, axis2: Any) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"diagonal: expected rank 2 or more, got shape {x.shape}")
    first, second = (normalize_axis("diagonal", number, x.ndim) for number in (axis1, axis2))
    if first == second:
        raise ShapeError(f"diagonal: axis1 and axis2 must differ, got {axis1} and {axis2}")
    x = permuted(x, [*(axis for axis in range(x.ndim) if axis not in (first, second)), first, second])
    return _DIAGONAL.run(x, offset, -2, -1)  # type: ignore[no-any-return]


@named("diagonal")
def _diagonal(x: Tensor, offset: Any, axis1: int, axis2: int) -> Tensor:
    """The diagonal of the last two axes, which `axis1` and `axis2` are: two ops that are a view together,
    also where the first alone, a reshape, would be a copy."""
    attrs: Attrs = {"offset": operator.index(offset), "axis1": axis1, "axis2": axis2}
    written = _written_diagonal([(x.shape, x.dtype)], attrs)
    assert written.operands is not None
    if _is_scattered(x):  # the reshape would be a copy of all
        result = wrap(_writable_diagonal(x._data, **attrs))
        share(x, result, ViewStep(_LAST_DIAGONAL, attrs))
        return result
    result = run("slice", run("reshape", x, shape=written.operands[0]), **written.attrs)
    if not are_views(x, result):  # the reshape is a copy
        if not isinstance(x._data, Value):
            result._data = _writable_diagonal(x._data, **attrs)
        share(x, result, ViewStep(_LAST_DIAGONAL, attrs))
    return result


def _is_scattered(x: Tensor) -> bool:
    """Whether the rows of `x` do not lie one behind the other, and no gradient is to be recorded."""
    if is_tracing() or x._requires_grad or isinstance(x._data, Value):
        return False
    along, across = x._data.strides[-2:]
    return x.size > 0 and along != x.shape[-1] * across


def _written_diagonal(types: Sequence[Any], attrs: Attrs) -> Written:
    *lead, rows, columns = types[0][0]
    down, right = max(-attrs["offset"], 0), max(attrs["offset"], 0)
    size = max(min(rows - down, columns - right), 0)
    every: Attrs = {
        "start": (*[0] * len(lead), down * columns + right if size else 0),
        "size": (*lead, size),
        "step": (*[1] * len(lead), columns + 1),
    }
    return Written(OPS["slice"], every, (*lead, size), (*lead, size), [(*lead, rows * columns)])


def _writable_diagonal(array: Any, offset: int, axis1: int, axis2: int) -> Any:
    """The view of `array`, which may be written where `array` may; NumPy's ``diagonal`` may not."""
    diagonal = array.diagonal(offset, axis1, axis2)
    first = array[..., max(-offset, 0) :, max(offset, 0) :]
    return np.lib.stride_tricks.as_strided(first, diagonal.shape, diagonal.strides)


_ARGUMENTS: Final = ("offset", "axis1", "axis2")
_LAST_DIAGONAL: Final = Composite(
    "diagonal",
    (OPS["slice"], OPS["reshape"]),
    _written_diagonal,
    Builtin(_writable_diagonal, _ARGUMENTS),
)
_DIAGONAL: Final = EagerFunction(
    _LAST_DIAGONAL, _diagonal, Builtin(np.ndarray.diagonal, _ARGUMENTS, second="ints", writable=True)
)


def diag(x: Any, k: int = 0) -> Tensor:
    """The `k`-th diagonal of a matrix; or of a vector, the matrix that has it there and zeros elsewhere.

    Example:
        >>> import tracejit as tj
        >>> tj.diag([1, 2])
        tensor([[1, 0],
                [0, 2]])

    Raises ShapeError for other ranks. Semantics: ``numpy.diag``.
    """
    x = as_tensor(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError(f"diag: expected rank 1 or 2, got shape {x.shape}")
    offset = operator.index(k)
    order = x.size + abs(offset)
    flat = filled(0, (order * order,), x.dtype)
    # along the rows, one diagonal step is one row and one column
    start = (offset if offset >= 0 else -offset * order) if x.size else 0
    return reshaped(run("update", flat, x, start=(start,), step=(order + 1,)), (order, order))


def trace(
    x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Tensor:
    """The sum along the diagonal of the planes of `axis1` and `axis2`.

    A method, ``x.trace()``: the name ``tj.trace`` belongs to the tracing of functions.

    Example:
        >>> import tracejit as tj
        >>> tj.tensor([[1, 2], [3, 4]]).trace()
        tensor(5)

    Raises AxisError, and ShapeError below rank 2. Semantics: ``numpy.trace``.
    """
    return sum(diagonal(x, offset, axis1, axis2), -1, dtype, out)


def diagflat(v: Any, k: int = 0) -> Tensor:
    """The matrix with the raveled `v` as its `k`-th diagonal.

    Example:
        >>> import tracejit as tj
        >>> tj.diagflat([[1, 2]])
        tensor([[1, 0],
                [0, 2]])

    Semantics: ``numpy.diagflat``.
    """
    return diag(ravel(as_tensor(v)), k)
