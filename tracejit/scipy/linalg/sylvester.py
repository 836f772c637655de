"""Sylvester's equation."""

from __future__ import annotations

from typing import Any

from ...array.operands import broadcast, promoted_arrays, run
from ...eager.tensor import Tensor
from ...ir.errors import ShapeError
from ...ir.types import broadcast_shapes
from ...linalg.operands import matrices, square_matrices


def solve_sylvester(a: Any, b: Any, q: Any) -> Tensor:
    """x with a x + x b = q, by the Schur forms of `a` and `b`.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.linalg.solve_sylvester([[1.0]], [[2.0]], [[6.0]])
        tensor([[2.]])

    Raises ShapeError where the shapes do not fit. Semantics: ``scipy.linalg.solve_sylvester``.
    """
    name = "scipy.linalg.solve_sylvester"
    left, right = square_matrices(name, a), square_matrices(name, b, "b")
    left, right, sides = promoted_arrays(left, right, matrices(name, q, "q"))
    shape = (left.shape[-1], right.shape[-1])
    if sides.shape[-2:] != shape:
        raise ShapeError(f"{name}: argument q must have matrices of shape {shape}, got shape {sides.shape}")
    batch = broadcast_shapes(name, left.shape[:-2], right.shape[:-2], sides.shape[:-2])
    operands = [broadcast(x, batch + x.shape[-2:]) for x in (left, right, sides)]
    return run("sylvester", *operands)
