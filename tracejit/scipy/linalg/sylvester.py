"""Sylvester's equation."""

from __future__ import annotations

from typing import Any

from ...array.operands import broadcast, promoted_arrays, reshaped, run
from ...base.errors import ShapeError
from ...base.lapack import calls
from ...ir.types import broadcast_shapes
from ...linalg.failures import gives_nan, nan_where, regular
from ...linalg.operands import identity, matrices, several, square_matrices, transposed
from ...linalg.solutions import solve
from ...tensors.tensor import Tensor


def solve_sylvester(a: Any, b: Any, q: Any) -> Tensor:
    """x with a x + x b = q, by the Schur forms of `a` and `b`, which gradients use again.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.solve_sylvester([[1.0]], [[2.0]], [[6.0]])
        tensor([[2.]])

    Raises ShapeError where the shapes do not fit. Semantics: ``scipy.linalg.solve_sylvester``: where `a` and
    ``-b`` have an eigenvalue in common, a solution of an equation nearby.
    """
    name = "scipy.linalg.solve_sylvester"
    left, right = square_matrices(name, a), square_matrices(name, b, "b")
    left, right, sides = promoted_arrays(left, right, matrices(name, q, "q"))
    shape = (left.shape[-1], right.shape[-1])
    if sides.shape[-2:] != shape:
        raise ShapeError(f"{name}: argument q must have matrices of shape {shape}, got shape {sides.shape}")
    batch = broadcast_shapes(name, left.shape[:-2], right.shape[:-2], sides.shape[:-2])
    left, right, sides = (broadcast(x, batch + x.shape[-2:]) for x in (left, right, sides))
    if not calls.has(left.dtype, "gees", "trsen", "trsyl"):
        return _dense(left, right, sides)
    if gives_nan():
        (left, of_left), (right, of_right) = regular(left), regular(right)
        sides = nan_where(run("logical_or", of_left, of_right), sides)
    t, u, _ = several("schur", left.detach(), sort="")
    s, v = (t, u) if a is b else several("schur", right.detach(), sort="")[:2]
    return run("sylvester", left, right, t, u, s, v, sides, is_adjoint=False)


def _dense(a: Tensor, b: Tensor, q: Tensor) -> Tensor:
    """Solve a Sylvester equation as one linear system for all elements, row by row, without LAPACK."""
    rows, columns = q.shape[-2:]

    def product(x: Tensor, y: Tensor) -> Tensor:
        batch = x.shape[:-2]
        grid = reshaped(x, (*batch, rows, 1, rows, 1)) * reshaped(y, (*batch, 1, columns, 1, columns))
        return reshaped(grid, (*x.shape[:-2], rows * columns, rows * columns))

    system = product(a, identity(b, columns)) + product(identity(a, rows), transposed(b))
    return reshaped(solve(system, reshaped(q, (*q.shape[:-2], rows * columns, 1))), q.shape)
