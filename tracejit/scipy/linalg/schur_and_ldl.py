"""The Schur form, and the factorization L D Lᴴ of indefinite matrices."""

from __future__ import annotations

from typing import Any

from ...array.operands import as_tensor, cast, run
from ...eager.tensor import Tensor
from ...ir.dtypes import complex_dtype
from ...ir.errors import AttributeValueError
from ...ir.lapack.calls import SORTS
from ...linalg.operands import several, square_matrices
from .factors import rows_at


def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: str | None = None,
    check_finite: bool = True,
) -> Any:
    """T and Z with a = Z T Zᴴ: Z is unitary, T upper triangular.

    The T of a real matrix is real, with a block of two rows for each pair of complex eigenvalues, unless
    `output` is "complex". With `sort`, the eigenvalues in the left or right half plane ("lhp", "rhp") or
    inside or outside of the unit circle ("iuc", "ouc") come first, and their number is a third result;
    functions are not taken. Gradients need eigenvalues that differ.

    Example:
        >>> import tracejit as tj
        >>> t, z = tj.scipy.linalg.schur([[0.0, 2.0], [2.0, 0.0]])
        >>> abs(t.round(9))
        tensor([[2., 0.],
                [0., 2.]])

    Raises LinAlgError for NaN and infinities, and where it does not converge. Semantics:
    ``scipy.linalg.schur``; leading axes are batches.
    """
    name = "scipy.linalg.schur"
    if output not in ("real", "complex", "r", "c"):
        raise AttributeValueError(f"{name}: output must be 'real', 'r', 'complex' or 'c', got {output!r}")
    if sort is not None and (not isinstance(sort, str) or sort not in SORTS):
        raise AttributeValueError(f"{name}: sort must be None, {', '.join(map(repr, SORTS))}, got {sort!r}")
    x = square_matrices(name, a)
    if output in ("complex", "c"):
        x = cast(x, complex_dtype(x.dtype))
    t, z, count = several("schur", x, sort=sort or "")
    return (t, z) if sort is None else (t, z, count)


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
