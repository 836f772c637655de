"""Ops of linear algebra: factorizations of the matrices on the last two axes, and solutions by factors.

Each record has NumPy's meaning of the values. Gradients are formulas over the same ops, which use the factors
of the forward pass; `common` has the conventions. `docs/linalg.md` lists what is promised.
"""

from . import (
    adjugate,
    banded,
    cholesky,
    determinant,
    eigen,
    general_eigen,
    ldl,
    lu,
    pairs,
    pseudoinverse,
    qr,
    schur,
    svd,
    sylvester,
    toeplitz,
    triangular,
    undetermined,
)

__all__ = [
    "adjugate",
    "banded",
    "cholesky",
    "determinant",
    "eigen",
    "general_eigen",
    "ldl",
    "lu",
    "pairs",
    "pseudoinverse",
    "qr",
    "schur",
    "svd",
    "sylvester",
    "toeplitz",
    "triangular",
    "undetermined",
]
