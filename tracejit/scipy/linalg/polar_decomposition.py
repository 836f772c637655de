"""Polar decompositions, with derivatives."""

from __future__ import annotations

from typing import Any

from ...array.contraction import matmul
from ...array.operands import run
from ...base.errors import AttributeValueError
from ...linalg.failures import gives_nan, nan_where, regular
from ...linalg.operands import adjoint, factored, matrices, several
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
    Nothing is divided by differences of singular values, which may be 0."""
    u, a = residuals
    g = run("conj", ct) if ct.dtype.kind == "c" else ct
    p, along = _hermitian(matmul(adjoint(u), a)), matmul(adjoint(u), g)
    turning = solve_sylvester(p, p, along - adjoint(along))
    gradient = matmul(u, turning)
    if u.shape[-2] > u.shape[-1]:
        lu, _, permutation = factored(p)
        outside = run(
            "lu_solve", p, lu, permutation, adjoint(g - matmul(u, along)), transpose=False, conjugate=False,
            on_singular="ignore",
        )  # fmt: skip
        gradient = gradient + adjoint(outside)
    return (run("conj", gradient) if ct.dtype.kind == "c" else gradient,)


_orthonormal.defvjp(_orthonormal_forward, _orthonormal_backward)


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
