"""Schur forms of square matrices."""

from __future__ import annotations

from typing import Any

from ...array.operands import cast
from ...base.errors import AttributeValueError
from ...base.lapack.calls import SORTS
from ...ir.dtypes import complex_dtype
from ...linalg.failures import decomposed
from ...linalg.operands import square_matrices


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
    t, z, count = decomposed("schur", x, sort=sort or "")
    return (t, z) if sort is None else (t, z, count)
