"""L D L^H factors of Hermitian and symmetric matrices."""

from __future__ import annotations

from typing import Any

from ...array.operands import as_tensor, run
from ...linalg.operands import several, square_matrices
from ...tensors.tensor import Tensor
from .factors import rows_at


def ldl(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """L, D and an order of rows, with A = L D Lᴴ: of a complex A that is not `hermitian`, A = L D Lᵀ.

    ``L[order]`` is unit triangular, lower or with ``lower=False`` upper; so is the triangle of A that is
    read. D has blocks of one and of two rows on its diagonal. The gradient is that of a fixed order of
    pivots.

    Example:
        >>> import tracejit as tj
        >>> l, d, order = tj.scipy.linalg.ldl([[0.0, 2.0], [2.0, 0.0]])
        >>> d
        tensor([[0., 2.],
                [2., 0.]])

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``scipy.linalg.ldl``; leading axes
    are batches.
    """
    x = square_matrices("scipy.linalg.ldl", A, "A")
    factor, blocks, order = several("ldl", x, lower=bool(lower), hermitian=bool(hermitian))
    return rows_at(factor, run("argsort", as_tensor(order))), blocks, order
