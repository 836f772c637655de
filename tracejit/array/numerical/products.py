"""Products of vectors in the last axis or another."""

from __future__ import annotations

from typing import Any

from ...base.errors import ShapeError
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor
from ..contraction import matmul
from ..indexing.access import getitem
from ..joining import stack
from ..manipulation import expand_dims, moveaxis, squeeze
from ..operands import conjugated, given_as_array, promoted_arrays, run


def cross(
    x: Any, y: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The cross product of vectors of three elements along `axisa` of `x` and `axisb` of `y`.

    The result's are along `axisc`; `axis` stands for all three.

    Example:
        >>> import tracejit as tj
        >>> tj.cross([1, 2, 3], [4, 5, 6])
        tensor([-3,  6, -3])

    Raises AxisError, and ShapeError for vectors that have not 2 or 3 elements. Semantics: ``numpy.cross``.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promoted_arrays(x, y)
    if not (x.ndim and y.ndim):
        raise ShapeError("cross: expected arrays of rank 1 or more")
    x = moveaxis(x, normalize_axis("cross", axisa, x.ndim), -1)
    y = moveaxis(y, normalize_axis("cross", axisb, y.ndim), -1)
    sizes = x.shape[-1], y.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise ShapeError(f"cross: vectors must have 2 or 3 elements, got {sizes[0]} and {sizes[1]}")
    a = [getitem(x, (Ellipsis, place)) for place in range(sizes[0])]
    b = [getitem(y, (Ellipsis, place)) for place in range(sizes[1])]

    def minor(i: int, j: int) -> Tensor:
        terms = []
        for first, second in ((i, j), (j, i)):
            present = first < len(a) and second < len(b)
            terms.append(run("mul", a[first], b[second]) if present else None)
        left, right = terms
        if left is None:
            return run("neg", right)
        return left if right is None else run("sub", left, right)

    if sizes == (2, 2):
        return given_as_array(minor(0, 1))
    parts = [minor(1, 2), minor(2, 0), minor(0, 1)]
    product = stack(parts, -1)
    return moveaxis(product, -1, normalize_axis("cross", axisc, product.ndim))


def matvec(x: Any, y: Any, /) -> Tensor:
    """The products of the matrices in the last two axes of `x` with the vectors in the last axis of `y`.

    Example:
        >>> import tracejit as tj
        >>> tj.matvec([[0.0, 1.0], [2.0, 3.0]], [1.0, 10.0])
        tensor([10., 32.])

    Raises ShapeError. Semantics: ``numpy.matvec``.
    """
    x, y = promoted_arrays(x, y)
    if x.ndim < 2 or y.ndim < 1:
        raise ShapeError(f"matvec: expected matrices and vectors, got shapes {x.shape} and {y.shape}")
    return squeeze(matmul(x, expand_dims(y, -1)), -1)


def vecmat(x: Any, y: Any, /) -> Tensor:
    """The products of the vectors in the last axis of `x` with the matrices in the last two axes of `y`.

    Complex vectors are conjugated.

    Example:
        >>> import tracejit as tj
        >>> tj.vecmat([1.0, 10.0], [[0.0, 1.0], [2.0, 3.0]])
        tensor([20., 31.])

    Raises ShapeError. Semantics: ``numpy.vecmat``.
    """
    x, y = promoted_arrays(x, y)
    if x.ndim < 1 or y.ndim < 2:
        raise ShapeError(f"vecmat: expected vectors and matrices, got shapes {x.shape} and {y.shape}")
    return squeeze(matmul(expand_dims(conjugated(x), -2), y), -2)
