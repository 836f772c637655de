"""Polar decompositions, with derivatives."""

from __future__ import annotations

import math
from typing import Any

from ...array.contraction import matmul
from ...array.operands import reshaped, run
from ...backward.engine import TENSOR_OPS
from ...base.errors import AttributeValueError
from ...ir.ops.linalg.common import unit_roundoff
from ...ir.ops.linalg.undetermined import nan_unless_zero
from ...linalg.decompositions import eigvalsh
from ...linalg.failures import gives_nan, nan_where, regular
from ...linalg.operands import adjoint, factored, identity, matrices, several
from ...tensors.tensor import Tensor
from ...transforms.custom.vjp import custom_vjp
from .sylvester import solve_sylvester


@custom_vjp
def _orthonormal(a: Any) -> Any:
    """The nearest matrix with orthonormal columns, of no fewer rows than columns."""
    u, _, vh = several("svd", a, full_matrices=False)
    return matmul(u, vh)


def _orthonormal_forward(a: Any) -> Any:
    u = _orthonormal(a)
    return u, (u, a)


def _orthonormal_backward(residuals: Any, ct: Any) -> Any:
    """The gradient of the orthonormal polar factor u. With ``p = u^H a`` and ``du = u w`` plus a part
    orthogonal to u, ``w p + p w = u^H da - da^H u``, and the orthogonal part of du is that of ``da p^-1``.
    Nothing is divided by differences of singular values, which may be 0. Where one of them is 0, u is not
    determined: the gradient is NaN, with a warning."""
    u, a = residuals
    g = run("conj", ct) if ct.dtype.kind == "c" else ct
    p, along = _hermitian(matmul(adjoint(u), a)), matmul(adjoint(u), g)
    smallest, rounding = _smallest(p)
    singular = run("le", smallest, rounding)
    p = run("where", _everywhere(singular, p), identity(p, p.shape[-1]), p)
    factor = run("where", run("eq", smallest, 0.0), math.nan, 1.0)  # a cotangent may be 0 that need not be
    turning = solve_sylvester(p, p, _nan_where(singular, factor, along - adjoint(along)))
    gradient = matmul(u, turning)
    if u.shape[-2] > u.shape[-1]:
        lu, _, permutation = factored(p)
        outside = run(
            "lu_solve", p, lu, permutation, _nan_where(singular, factor, adjoint(g - matmul(u, along))),
            transpose=False, conjugate=False, on_singular="ignore",
        )  # fmt: skip
        gradient = gradient + adjoint(outside)
    return (run("conj", gradient) if ct.dtype.kind == "c" else gradient,)


_orthonormal.defvjp(_orthonormal_forward, _orthonormal_backward)


def _smallest(p: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest size of an eigenvalue of each of the matrices `p`, and the rounding of the largest."""
    sizes = abs(eigvalsh(p.detach()))
    axes, rounding = (sizes.ndim - 1,), 4 * p.shape[-1] * unit_roundoff(sizes.dtype)
    return run("min", sizes, axes=axes), rounding * run("max", sizes, axes=axes)


def _everywhere(of_matrices: Tensor, x: Tensor) -> Tensor:
    """`of_matrices` for each element of the matrices `x`."""
    return run("broadcast", reshaped(of_matrices, (*of_matrices.shape, 1, 1)), shape=x.shape)


def _nan_where(singular: Tensor, factor: Tensor, x: Tensor) -> Tensor:
    """The matrices `x` times `factor`, and NaN where they are not 0 and `singular`, with a warning."""
    scaled = x * _everywhere(run("cast", factor, dtype=x.dtype), x)
    result: Tensor = nan_unless_zero(TENSOR_OPS, scaled, _everywhere(singular, x), "polar")
    return result


def _hermitian(x: Tensor) -> Tensor:
    return 0.5 * (x + adjoint(x))


def polar(a: Any, side: str = "right") -> tuple[Tensor, Tensor]:
    """u with orthonormal columns (rows of wide matrices) and positive semidefinite p, with a = u p.

    With ``side="left"``, a = p u. Gradients hold for equal singular values, too, to any order.

    Example:
        >>> import tracejit as tj
        >>> u, p = tj.scipy.linalg.polar([[0.0, -2.0], [3.0, 0.0]])
        >>> p
        tensor([[3., 0.],
                [0., 2.]])

    Raises LinAlgError where the singular values do not converge. Semantics: ``scipy.linalg.polar``.
    """
    name = "scipy.linalg.polar"
    if side not in ("right", "left"):
        raise AttributeValueError(f"{name}: side must be 'right' or 'left', got {side!r}")
    x = matrices(name, a)
    failed = None
    if gives_nan():
        x, failed = regular(x)
    u = _orthonormal(x) if x.shape[-2] >= x.shape[-1] else adjoint(_orthonormal(adjoint(x)))
    u = u if failed is None else nan_where(failed, u)
    return u, _hermitian(matmul(adjoint(u), x) if side == "right" else matmul(x, adjoint(u)))
