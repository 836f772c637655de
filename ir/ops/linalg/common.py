"""Shared parts of the linear algebra ops: type rules, parts of matrices, and the convention of their
gradients.

Formulas are written for gradients ``g`` with ``dL = Re sum(conj(g) dx)``, in which adjoints (conjugate
transposes) appear as in the literature. Rules of ops exchange cotangents without conjugation,
``dL = sum(ct dx)``: `conjugate` at both ends turns the one into the other, and leaves real ones alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....base.errors import DTypeError, ShapeError
from ...dtypes import FLOAT16, INT64
from ...graph import Instruction
from ...registry import Attrs, Infer, Kind, Op, Regions
from ...transforms.batching import batch_pointwise
from ...types import TensorType
from ..contraction import swap_last
from ..define import define

#: ``pull(b, cotangents, operands, results, attrs) -> cotangents of the operands``; of results that nothing
#: depends on, the cotangent is None.
Pull = Callable[[Any, Sequence[Any], Sequence[Any], Sequence[Any], Attrs], Sequence[Any]]

#: Elements of a matrix from which LAPACK is quicker than elimination of all matrices at once.
MAX_AT_ONCE: Final = 64


def matrix_type(name: str, operand: TensorType) -> TensorType:
    """`operand`, which must hold matrices of floating numbers."""
    if operand.ndim < 2:
        raise ShapeError(f"{name}: expected matrices on the last two axes, got {operand}")
    if operand.dtype.kind not in "fc" or operand.dtype is FLOAT16:
        raise DTypeError(f"{name}: expected a floating dtype that LAPACK has, got {operand}")
    return operand


def square_type(name: str, operand: TensorType) -> TensorType:
    """`operand`, which must hold square matrices of floating numbers."""
    matrix_type(name, operand)
    if operand.shape[-1] != operand.shape[-2]:
        raise ShapeError(f"{name}: expected square matrices on the last two axes, got {operand}")
    return operand


def right_side_type(name: str, matrices: TensorType, right: TensorType) -> TensorType:
    """`right`, which must hold a matrix of as many rows for each of `matrices`."""
    if (
        right.ndim != matrices.ndim
        or right.shape[:-1] != matrices.shape[:-1]
        or right.dtype is not matrices.dtype
    ):
        raise ShapeError(f"{name}: the right sides {right} do not fit the matrices {matrices}")
    return right


def several(
    name: str,
    params: str,
    *,
    infer: Infer,
    eval: Callable[..., Any],
    pull: Pull | None,
    doc: str,
    attrs: Mapping[str, tuple[type, ...]] | None = None,
    **more: Any,
) -> Op:
    """Define an op with one gradient rule, `pull`, for all operands and results. Without a rule the results
    are constants to gradients."""

    def run(call: Any, regions: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        outcome = eval(*operands, **attrs)
        return outcome if isinstance(outcome, tuple) else (outcome,)

    def pull_instruction(b: Any, instruction: Instruction, cotangents: Sequence[Any]) -> Sequence[Any]:
        assert pull is not None
        return pull(b, cotangents, instruction.operands, instruction.results, instruction.attrs)

    regions = Regions(
        lambda types, attrs, regions: infer(types, attrs), run, pull_instruction if pull is not None else None
    )
    return define(
        name, Kind.LINALG, params, infer=infer, eval=eval, vjp={}, doc=doc, attrs=attrs, regions=regions,
        batch=batch_pointwise, **more,
    )  # fmt: skip


# -- parts of matrices ----------------------------------------------------------------------------


def conjugate(b: Any, x: Any) -> Any:
    """The complex conjugate; real ones as they are."""
    return b.conj(x) if x.dtype.kind == "c" else x


def transposed(b: Any, x: Any) -> Any:
    """The last two axes exchanged."""
    return swap_last(b, x)


def adjoint(b: Any, x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return conjugate(b, transposed(b, x))


def product(b: Any, *factors: Any) -> Any:
    """The product of matrices, from left to right."""
    result = factors[0]
    for factor in factors[1:]:
        result = b.matmul(result, factor)
    return result


def offsets(b: Any, x: Any) -> tuple[Any, Any]:
    """The numbers of the row and of the column of each element."""
    shape = tuple(x.shape[-2:])
    return b.iota(shape=shape, axis=0, dtype=INT64), b.iota(shape=shape, axis=1, dtype=INT64)


def _chosen(b: Any, mask: Any, x: Any) -> Any:
    return b.where(b.broadcast(mask, shape=tuple(x.shape)), x, 0.0)


def lower(b: Any, x: Any, *, strict: bool = False) -> Any:
    """`x` below and, unless `strict`, on the diagonal; else 0."""
    row, column = offsets(b, x)
    return _chosen(b, b.gt(row, column) if strict else b.ge(row, column), x)


def upper(b: Any, x: Any, *, strict: bool = False) -> Any:
    """`x` above and, unless `strict`, on the diagonal; else 0."""
    row, column = offsets(b, x)
    return _chosen(b, b.lt(row, column) if strict else b.le(row, column), x)


def identity(b: Any, like: Any, rows: int) -> Any:
    """Unit matrices of `rows` rows, as many as in `like`, of its dtype."""
    shape = (*like.shape[:-2], rows, rows)
    row = b.iota(shape=shape, axis=len(shape) - 2, dtype=INT64)
    return b.cast(b.eq(row, b.iota(shape=shape, axis=len(shape) - 1, dtype=INT64)), dtype=like.dtype)


def halved_diagonal(b: Any, x: Any) -> Any:
    """`x` with half of its diagonal."""
    row, column = offsets(b, x)
    return b.where(b.broadcast(b.eq(row, column), shape=tuple(x.shape)), b.mul(x, 0.5), x)


def hermitian(b: Any, x: Any) -> Any:
    """Half the sum of `x` and its adjoint."""
    return b.mul(b.add(x, adjoint(b, x)), 0.5)


def diagonal(b: Any, x: Any) -> Any:
    """The diagonals of square matrices, as vectors."""
    row, column = offsets(b, x)
    return b.sum(_chosen(b, b.eq(row, column), x), axes=(len(x.shape) - 1,))


def as_diagonal(b: Any, vectors: Any) -> Any:
    """The matrices with `vectors` on their diagonals."""
    count = vectors.shape[-1]
    rows = b.broadcast(column_of(b, vectors), shape=(*vectors.shape, count))
    row, column = offsets(b, rows)
    return _chosen(b, b.eq(row, column), rows)


def column_of(b: Any, vectors: Any) -> Any:
    """Vectors as matrices of one column."""
    return b.reshape(vectors, shape=(*vectors.shape, 1))


def row_of(b: Any, vectors: Any) -> Any:
    """Vectors as matrices of one row."""
    return b.reshape(vectors, shape=(*vectors.shape[:-1], 1, vectors.shape[-1]))


def scaled_columns(b: Any, x: Any, vectors: Any) -> Any:
    """`x` times the matrices with `vectors` on their diagonals."""
    return b.mul(x, b.broadcast(row_of(b, vectors), shape=tuple(x.shape)))


def scaled_rows(b: Any, x: Any, vectors: Any) -> Any:
    """The matrices with `vectors` on their diagonals times `x`."""
    return b.mul(x, b.broadcast(column_of(b, vectors), shape=tuple(x.shape)))


def part(b: Any, x: Any, axis: int, start: int, stop: int) -> Any:
    """`x` from `start` to `stop` along `axis`, which is counted from the end."""
    axis += len(x.shape)
    starts, sizes = [0] * len(x.shape), list(x.shape)
    starts[axis], sizes[axis] = start, stop - start
    return b.slice(x, start=tuple(starts), size=tuple(sizes), step=(1,) * len(sizes))


def zeros_like(b: Any, x: Any) -> Any:
    """Zeros of the shape and dtype of `x`."""
    return b.full(value=0.0, shape=tuple(x.shape), dtype=x.dtype)


def rows_at(b: Any, x: Any, rows: Any) -> Any:
    """The rows of each matrix in the order `rows`."""
    if len(x.shape) == 2:
        return b.gather(x, rows)
    count = math.prod(x.shape[:-2])
    place = b.reshape(rows, shape=(count, rows.shape[-1]))
    matrix = b.iota(shape=tuple(place.shape), axis=0, dtype=INT64)
    picked = b.gather(b.reshape(x, shape=(count, *x.shape[-2:])), matrix, place)
    return b.reshape(picked, shape=(*x.shape[:-2], rows.shape[-1], x.shape[-1]))


# -- batching -------------------------------------------------------------------------------------


def with_shared_matrix(b: Any, instruction: Instruction, operands: Sequence[Any], size: int) -> Sequence[Any]:
    """Batch a solution of which only the right sides, the last operand, differ between examples, by making
    them the columns of one right side."""
    *shared, right = operands
    rank, shape = len(right.shape), tuple(right.shape)
    columns = b.transpose(right, perm=(*range(1, rank - 1), 0, rank - 1))
    columns = b.reshape(columns, shape=(*shape[1:-1], size * shape[-1]))
    (solved,) = b.append(instruction.op, (*shared, columns), instruction.attrs)
    solved = b.reshape(solved, shape=(*shape[1:-1], size, shape[-1]))
    return [b.transpose(solved, perm=(rank - 2, *range(rank - 2), rank - 1))]


# -- values ---------------------------------------------------------------------------------------


def each_matrix(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """`function` of the last two axes of `arrays`, for each of the matrices that they hold."""
    return [function(*matrices) for matrices in zip(*map(stack_of, arrays), strict=True)]


def stack_of(array: Any, rank: int = 2) -> Any:
    """`array` with one axis in front of its last `rank` ones."""
    lead = array.ndim - rank
    return array.reshape(math.prod(array.shape[:lead]), *array.shape[lead:])


def unit_roundoff(dtype: Any) -> float:
    """The distance from 1 to the next number of `dtype`."""
    return float(np.finfo(dtype).eps)
