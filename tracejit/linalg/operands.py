"""Operands of linear algebra: floating matrices of fitting shapes."""

from __future__ import annotations

from typing import Any

from ..array.operands import broadcast, cast, promoted_arrays, reshaped, run, tensor_argument
from ..base.errors import DTypeError, LinAlgError, ShapeError
from ..ir.dtypes import FLOAT16, FLOAT64, is_inexact
from ..ir.dtypes import INT64 as _INT64
from ..ir.types import broadcast_shapes
from ..tensors.tensor import Tensor


def inexact_argument(name: str, value: Any, parameter: str = "x") -> Tensor:
    """`value` as a tensor of real or complex numbers; integers and bools become float64, as in NumPy."""
    x = tensor_argument(name, value, parameter)
    return x if is_inexact(x.dtype) else cast(x, FLOAT64)


def matrices(name: str, value: Any, parameter: str = "a") -> Tensor:
    """`value` as a floating tensor of rank 2 or more."""
    x = inexact_argument(name, value, parameter)
    if x.dtype is FLOAT16:
        raise DTypeError(f"{name}: argument {parameter} must be of float32 or wider, got {x.type}")
    if x.ndim < 2:
        raise LinAlgError(f"{name}: argument {parameter} must have rank 2 or more, got shape {x.shape}")
    return x


def square_matrices(name: str, value: Any, parameter: str = "a") -> Tensor:
    """`value` as a floating tensor whose last two axes are of one size."""
    x = matrices(name, value, parameter)
    if x.shape[-1] != x.shape[-2]:
        raise LinAlgError(
            f"{name}: the last two axes of argument {parameter} must be of one size, got shape {x.shape}"
        )
    return x


def with_right_side(name: str, a: Tensor, b: Any, *, vector: bool) -> tuple[Tensor, Tensor]:
    """`a` and the right side `b` in one dtype and with the same leading axes; a `vector` as one column."""
    right = inexact_argument(name, b, "b")
    a, right = promoted_arrays(a, right)
    if vector:
        right = reshaped(right, (*right.shape, 1))
    if right.ndim < 2 or right.shape[-2] != a.shape[-2]:
        raise ShapeError(
            f"{name}: argument b must have {a.shape[-2]} rows as the matrices of shape {a.shape} "
            f"have, got shape {right.shape[:-1] if vector else right.shape}"
        )
    batch = broadcast_shapes(name, a.shape[:-2], right.shape[:-2])
    return broadcast(a, batch + a.shape[-2:]), broadcast(right, batch + right.shape[-2:])


def factored(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The LU factors, pivots and permutation of `a`: constants to gradients, which follow `a` itself."""
    lu, pivots, permutation = several("lu", a.detach())
    return lu, pivots, permutation


def several(name: str, *operands: Tensor, **attrs: Any) -> tuple[Tensor, ...]:
    """The results of an op that has several."""
    results: Any = run(name, *operands, **attrs)
    return (results,) if isinstance(results, Tensor) else tuple(results)


def identity(a: Tensor, size: int) -> Tensor:
    """Unit matrices of `size` rows, for each of the matrices `a`."""
    shape = (*a.shape[:-2], size, size)
    row = run("iota", shape=(size, size), axis=0, dtype=_INT64)
    column = run("iota", shape=(size, size), axis=1, dtype=_INT64)
    return broadcast(cast(run("eq", row, column), a.dtype), shape)


def transposed(x: Tensor) -> Tensor:
    """The last two axes exchanged."""
    rank = x.ndim
    return run("transpose", x, perm=(*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of the last two axes."""
    turned = transposed(x)
    return run("conj", turned) if x.dtype.kind == "c" else turned
