"""Ops of linear algebra: factorizations of the matrices on the last two axes, and solutions by factors.

Each record has NumPy's meaning of the values. Gradients are formulas over the same ops, which use the factors
of the forward pass; `common` has the conventions. `docs/linalg.md` lists what is promised.
"""

from . import determinant, eigen, hermitian, lu, norms, pairs, schur, structured, svd, undetermined

__all__ = [
    "determinant",
    "eigen",
    "hermitian",
    "lu",
    "norms",
    "pairs",
    "schur",
    "structured",
    "svd",
    "undetermined",
]
