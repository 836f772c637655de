"""Adjugates without code of their own: from the inverse and the determinant, or from singular vectors."""

from __future__ import annotations

from typing import Any

from ...builder import Builder
from ...capabilities import has_small_matrices
from ...dtypes import INT64
from ...graph import Function, Instruction, Value
from ...ops.linalg.common import (
    adjoint,
    column_of,
    diagonal,
    identity,
    product,
    row_of,
    scaled_columns,
    unit_roundoff,
)
from ...registry import OPS
from ..rewriting import Definitions


def factored_adjugate(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """``det(a) a^-1`` by the LU factors; a batch with a matrix that is singular, but for rounding, takes the
    singular values of all as well, and each matrix its own."""
    a = instruction.operands[0]
    if has_small_matrices(instruction) or 0 in a.shape:
        return None
    lu, pivots, permutation = b.lu(a)
    sizes = b.abs(diagonal(b, lu))
    largest = b.max(sizes, axes=(len(sizes.shape) - 1,))
    # a small pivot makes the inverse inaccurate, and the determinant small by as much
    tolerance = b.mul(largest, a.shape[-1] * unit_roundoff(sizes.dtype))
    above = b.gt(sizes, b.broadcast(column_of(b, tolerance), shape=sizes.shape))
    is_regular = b.all(above, axes=(len(sizes.shape) - 1,))
    all_regular = b.all(is_regular, axes=tuple(range(len(is_regular.shape))))
    operands = (a, lu, pivots, permutation, is_regular)
    regions = (_region(operands, _of_any), _region(operands, _of_regular))
    return b.append(OPS["switch"], (all_regular, *operands), {}, regions=regions)[0]


def _region(operands: tuple[Any, ...], write: Any) -> Function:
    b = Builder()
    return b.finish(write.__name__.strip("_"), [write(b, *[b.parameter(value.type) for value in operands])])


def _of_regular(b: Any, a: Any, lu: Any, pivots: Any, permutation: Any, is_regular: Any) -> Any:
    inverse = b.lu_solve(a, lu, permutation, identity(b, a, a.shape[-1]))
    return _times(b, b.det(a, lu, pivots, permutation), inverse)


def _of_any(b: Any, a: Any, lu: Any, pivots: Any, permutation: Any, is_regular: Any) -> Any:
    """``adj(u s vh) = adj(vh) adj(s) adj(u)``, where adj(u) = det(u) u^H."""
    shape, rank = tuple(a.shape), len(a.shape)
    # singular values are not asked of what is not finite, whose adjugate is NaN
    finite = b.all(b.isfinite(a), axes=(rank - 2, rank - 1))
    finite = b.broadcast(column_of(b, column_of(b, finite)), shape=shape)
    u, s, vh = b.svd(b.where(finite, a, 0.0), full_matrices=False)
    factor = b.mul(*[b.det(x, *b.lu(x)) for x in (u, vh)])
    columns = scaled_columns(b, adjoint(b, vh), b.cast(_others(b, s), dtype=a.dtype))
    by_values = _times(b, factor, product(b, columns, adjoint(b, u)))
    by_values = b.where(finite, by_values, float("nan"))
    regular = b.broadcast(column_of(b, column_of(b, is_regular)), shape=shape)
    return b.where(regular, _of_regular(b, a, lu, pivots, permutation, is_regular), by_values)


def _others(b: Any, s: Any) -> Any:
    """The product of all elements but one, for each element that is left out."""
    shape = (*s.shape, s.shape[-1])
    row, column = (b.iota(shape=shape, axis=len(shape) - axis, dtype=INT64) for axis in (2, 1))
    factors = b.where(b.eq(row, column), 1.0, b.broadcast(row_of(b, s), shape=shape))
    return b.prod(factors, axes=(len(shape) - 1,))


def _times(b: Any, factor: Any, x: Any) -> Any:
    return b.mul(b.broadcast(column_of(b, column_of(b, factor)), shape=tuple(x.shape)), x)
