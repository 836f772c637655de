"""Products that sum over axes: matmul, dot, inner, outer, tensordot and their relatives.

All become the op ``matmul`` on the last two axes, in the operands' common dtype.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..arguments.errors import checked, checks_itself, named
from ..arguments.giving_way import refuse_opted_out
from ..base.errors import AxisError, ShapeError
from ..dispatch.eager_functions import EagerFunction
from ..ir.registry import OPS, Attrs, Builtin
from ..ir.types import Shape, broadcast_shapes, normalize_axis
from ..provided import NUMPY_OPTIONS
from ..tape.plans import Composite, Written
from ..tensors.tensor import Tensor
from .manipulation import moveaxis, ravel
from .operands import (
    broadcast,
    conjugated,
    given_as_array,
    given_as_scalar,
    is_tracing,
    permuted,
    promoted,
    promoted_arrays,
    reshaped,
    run,
    write_out,
)


@named("matmul")
def _matmul(x: Any, y: Any) -> Tensor:
    for operand in (x, y):
        if type(operand) is not Tensor:
            refuse_opted_out(operand)
    x, y = promoted(x, y)
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(
            f"matmul: expected rank 1 or more, got shapes {x.shape} and {y.shape}; use * for scaling"
        )
    if x.ndim == 2 and y.ndim == 2 and x.shape[1] == y.shape[0]:
        return run("matmul", x, y)
    return (_VECTORS.run if x.ndim + y.ndim < 4 else _by_matrices)(x, y)


def _by_matrices(x: Tensor, y: Tensor) -> Tensor:
    """The product of operands of one dtype: a vector is a row or a column."""
    rows = reshaped(x, (1, *x.shape)) if x.ndim == 1 else x
    columns = reshaped(y, (*y.shape, 1)) if y.ndim == 1 else y
    if rows.shape[-1] != columns.shape[-2]:
        raise ShapeError(
            f"matmul: {x.shape} and {y.shape} do not fit: {rows.shape[-1]} columns against "
            f"{columns.shape[-2]} rows"
        )
    batch = broadcast_shapes("matmul", rows.shape[:-2], columns.shape[:-2])
    result = run(
        "matmul", broadcast(rows, batch + rows.shape[-2:]), broadcast(columns, batch + columns.shape[-2:])
    )
    shape = batch
    shape += () if x.ndim == 1 else (rows.shape[-2],)
    shape += () if y.ndim == 1 else (columns.shape[-1],)
    return given_as_scalar(reshaped(result, shape))


def _as_matrices(x: Shape, y: Shape) -> tuple[Shape, Shape]:
    """The shapes of a row and a column, where vectors are multiplied."""
    return ((1, *x) if len(x) == 1 else x), ((*y, 1) if len(y) == 1 else y)


def _written_vectors(types: Sequence[Any], attrs: Attrs) -> Written:
    """A product in which there is a vector, as one of matrices."""
    (x, _), (y, _) = types
    rows, columns = _as_matrices(x, y)
    return Written(OPS["matmul"], attrs, (rows[0], columns[1]), x[:-1] + y[1:], (rows, columns))


def _product_of_arrays(x: Any, y: Any) -> Any:
    """The product of arrays of one dtype of which one is a vector, None of others."""
    if not 2 <= x.ndim + y.ndim <= 3 or not x.ndim or not y.ndim or x.dtype is not y.dtype:
        return None
    rows, columns = _as_matrices(x.shape, y.shape)
    return OPS["matmul"].eval(x.reshape(rows), y.reshape(columns)).reshape(x.shape[:-1] + y.shape[1:])


_VECTORS: Final = EagerFunction(
    Composite("matmul", (OPS["matmul"],), _written_vectors, Builtin(_product_of_arrays)), _by_matrices
)
_MATMUL: Final = EagerFunction(OPS["matmul"], _matmul)


@checks_itself
def matmul(
    x: Any,
    y: Any,
    /,
    out: Any = None,
    dtype: Any = None,
    casting: Any = None,
    axes: Any = None,
    order: Any = "K",
    subok: Any = True,
) -> Tensor:
    """The matrix product over the last axis of `x` and the last but one of `y`; other axes broadcast.

    A vector on the left counts as a row, on the right as a column, and its axis goes from the result. `axes`
    are those of the matrices in `x`, `y` and the result, where they are not the last ones; `out` takes the
    result, and `dtype` is what it is computed in, to which `casting` must lead.

    Example:
        >>> import tracejit as tj
        >>> tj.matmul([[1, 2], [3, 4]], [1, 1])
        tensor([3, 7])

    Raises ShapeError where the sizes differ, and for rank 0. Semantics: ``numpy.matmul``.
    """
    if out is None and dtype is None and casting is None and axes is None:
        return _MATMUL.run(x, y)  # type: ignore[no-any-return]
    options = {"out": out, "dtype": dtype, "casting": casting or "same_kind", "axes": axes}
    return _with_options("matmul", (x, y), options)


def _product(x: Any, y: Any, /) -> Tensor:
    """``matmul`` without options, for operators and methods."""
    return _MATMUL.run(x, y)  # type: ignore[no-any-return]


_product.__name__ = "matmul"
_MATMUL.method, matmul.eager = _product, _MATMUL  # type: ignore[attr-defined]


def _with_options(name: str, operands: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
    """The product `name` with the options of NumPy's ufuncs, whose module loads at first use."""
    module: Any = NUMPY_OPTIONS()
    call = checked(name, module.call_with_options)
    return call(_product, getattr(np, name), operands, options)  # type: ignore[no-any-return]


def dot(x: Any, y: Any, out: Any = None) -> Tensor:
    """The sum over the last axis of `x` and the last but one of `y` (the only one of a vector).

    Unlike ``matmul``, the other axes of both follow one another, and rank 0 scales.

    Example:
        >>> import tracejit as tj
        >>> tj.dot([1, 2, 3], [4, 5, 6])
        tensor(32)

    Raises ShapeError. Semantics: ``numpy.dot``.
    """
    if out is not None:
        return write_out("dot", out, dot(x, y))
    x, y = promoted_arrays(x, y)
    if x.ndim == 0 or y.ndim == 0:
        return run("mul", x, y)
    if y.ndim <= 2:
        return _named("dot", x, y, x.shape[-1], y.shape[0])
    return tensordot(x, y, ((x.ndim - 1,), (y.ndim - 2,)))


def _named(name: str, x: Tensor, y: Tensor, columns: int, rows: int) -> Tensor:
    if columns != rows:
        raise ShapeError(f"{name}: {x.shape} and {y.shape} do not fit: {columns} against {rows} elements")
    return matmul(x, y)


def vdot(x: Any, y: Any) -> Tensor:
    """The inner product of both, raveled, with the conjugate of the first.

    Example:
        >>> import tracejit as tj
        >>> tj.vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]])
        tensor(10)

    Raises ShapeError. Semantics: ``numpy.vdot``.
    """
    x, y = (ravel(array) for array in promoted_arrays(x, y))
    return _named("vdot", conjugated(x), y, x.size, y.size)


#: Products of elements that eager functions have in memory to add them up, at most.
_MAX_PRODUCTS: Final = 1 << 17


def vecdot(x: Any, y: Any, /, *, axis: int = -1) -> Tensor:
    """The inner products along `axis`, with the conjugate of `x`; the other axes broadcast.

    Example:
        >>> import tracejit as tj
        >>> tj.vecdot([[1, 2], [3, 4]], [1, 10])
        tensor([21, 43])

    Raises ShapeError and AxisError. Semantics: ``numpy.vecdot``.
    """
    x, y = promoted(x, y)
    x, y = (moveaxis(operand, normalize_axis("vecdot", axis, operand.ndim), -1) for operand in (x, y))
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"vecdot: {x.shape[-1]} against {y.shape[-1]} elements along axis {axis}")
    shape = x.shape if x.shape == y.shape else broadcast_shapes("vecdot", x.shape, y.shape)
    if is_tracing() or math.prod(shape) < _MAX_PRODUCTS:
        return run("sum", run("mul", conjugated(x), y), axes=(len(shape) - 1,))
    row = reshaped(_conjugated_once(x), (*x.shape[:-1], 1, x.shape[-1]))
    sums = _by_matrices(row, reshaped(y, (*y.shape, 1)))
    return reshaped(sums, sums.shape[:-2])


def _conjugated_once(x: Tensor) -> Tensor:
    """The conjugate of `x`, of elements that are repeated once."""
    if x.dtype.kind != "c":
        return x
    strides = x._data.strides
    if 0 not in strides or not x.size:
        return conjugated(x)
    once = x[tuple([slice(None) if stride else slice(1) for stride in strides])]
    return broadcast(conjugated(once), x.shape)


def inner(x: Any, y: Any) -> Tensor:
    """The sum over the last axes of both.

    Example:
        >>> import tracejit as tj
        >>> tj.inner([1, 2, 3], [0, 1, 0])
        tensor(2)

    Raises ShapeError. Semantics: ``numpy.inner``.
    """
    x, y = promoted_arrays(x, y)
    if x.ndim == 0 or y.ndim == 0:
        return run("mul", x, y)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"inner: the last axes of {x.shape} and {y.shape} differ")
    return given_as_scalar(tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,))))


def outer(x: Any, y: Any, out: Any = None) -> Tensor:
    """All products of an element of `x` and one of `y`, both raveled.

    Example:
        >>> import tracejit as tj
        >>> tj.outer([1, 2], [3, 4])
        tensor([[3, 4],
                [6, 8]])

    Semantics: ``numpy.outer``.
    """
    x, y = promoted_arrays(x, y)
    result = run("mul", reshaped(x, (x.size, 1)), reshaped(y, (1, y.size)))
    return result if out is None else write_out("outer", out, result)


def tensordot(x: Any, y: Any, axes: Any = 2) -> Tensor:
    """The sum over pairs of axes; what is left of `x` precedes what is left of `y`.

    `axes` is how many of the last of `x` meet the first of `y`, or the pair (axes of x, axes of y).

    Example:
        >>> import tracejit as tj
        >>> tj.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]], axes=2)
        tensor(5)

    Raises ShapeError and AxisError. Semantics: ``numpy.tensordot``.
    """
    x, y = promoted_arrays(x, y)
    mine, theirs = _paired(axes, x.ndim, y.ndim)
    if len(mine) != len(theirs) or any(x.shape[a] != y.shape[b] for a, b in zip(mine, theirs, strict=True)):
        raise ShapeError(f"tensordot: axes {axes} of shapes {x.shape} and {y.shape} do not fit")
    left = [axis for axis in range(x.ndim) if axis not in mine]
    right = [axis for axis in range(y.ndim) if axis not in theirs]
    kept_left: Shape = tuple(x.shape[axis] for axis in left)
    kept_right: Shape = tuple(y.shape[axis] for axis in right)
    summed = math.prod(x.shape[axis] for axis in mine)
    rows = reshaped(permuted(x, left + mine), (math.prod(kept_left), summed))
    columns = reshaped(permuted(y, theirs + right), (summed, math.prod(kept_right)))
    return given_as_array(reshaped(run("matmul", rows, columns), kept_left + kept_right))


def _paired(axes: Any, rank_x: int, rank_y: int) -> tuple[list[int], list[int]]:
    try:
        count = operator.index(axes)
    except TypeError:
        mine, theirs = (axis if isinstance(axis, (tuple, list)) else (axis,) for axis in axes)
        own = [normalize_axis("tensordot", axis, rank_x) for axis in mine]
        others = [normalize_axis("tensordot", their, rank_y) for their in theirs]
        if len(set(own)) < len(own) or len(set(others)) < len(others):
            raise AxisError(f"tensordot: axes {axes} name a dimension twice") from None
        return own, others
    if not 0 <= count <= min(rank_x, rank_y):
        raise AxisError(f"tensordot: axes={count} for operands of rank {rank_x} and {rank_y}")
    return list(range(rank_x - count, rank_x)), list(range(count))


def kron(x: Any, y: Any) -> Tensor:
    """The Kronecker product: `y` scaled by each element of `x`, as blocks.

    Example:
        >>> import tracejit as tj
        >>> tj.kron([1, 10], [1, 2])
        tensor([ 1,  2, 10, 20])

    Semantics: ``numpy.kron``.
    """
    x, y = promoted_arrays(x, y)
    rank = max(x.ndim, y.ndim)
    left, right = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - y.ndim) + y.shape
    wide = reshaped(x, tuple(extent for size in left for extent in (size, 1)))
    tall = reshaped(y, tuple(extent for size in right for extent in (1, size)))
    return reshaped(run("mul", wide, tall), tuple(a * b for a, b in zip(left, right, strict=True)))
