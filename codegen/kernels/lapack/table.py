"""Table of the linear algebra ops that LAPACK computes: their writers, workspaces, routines and costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ....ir.graph import Instruction
from ....ir.ops.linalg.svd import NO_SINGULAR_VALUES
from . import banded, factorizations, indefinite, schur_forms, spectra, toeplitz
from .problem import Factorization, no_workspace, size_of


def _cube(factor: float) -> Callable[[Instruction], float]:
    """Floating operations: `factor` times the larger side and the square of the smaller one."""

    def flops(instruction: Instruction) -> float:
        rows, columns = size_of(instruction)
        return factor * max(rows, columns) * min(rows, columns) ** 2

    return flops


def _of_right_sides(factor: float) -> Callable[[Instruction], float]:
    def flops(instruction: Instruction) -> float:
        size, columns = instruction.operands[-1].shape[-2:]
        return factor * size * size * columns

    return flops


def _of_band(factor: float) -> Callable[[Instruction], float]:
    def flops(instruction: Instruction) -> float:
        rows, size = instruction.operands[0].shape[-2:]
        columns = instruction.operands[-1].shape[-1] if len(instruction.operands) > 1 else rows
        return factor * size * rows * columns

    return flops


#: The reason why `eig` has no result.
NO_EIGENVALUES: Final = "Array must not contain infs or NaNs, or eigenvalues did not converge"

#: Routines by the names of the ops.
FACTORIZATIONS: Final[dict[str, Factorization]] = {
    "cholesky": Factorization(
        factorizations.cholesky,
        no_workspace,
        (),
        _cube(1 / 3),
        "Matrix is not positive definite",
    ),
    "triangular_solve": Factorization(
        factorizations.triangular_solve,
        no_workspace,
        (),
        _of_right_sides(1.0),
        "singular matrix",
    ),
    "lu": Factorization(factorizations.lu, factorizations.lu_workspace, (), _cube(2 / 3)),
    "lu_solve": Factorization(
        factorizations.lu_solve,
        factorizations.lu_solve_workspace,
        (),
        _of_right_sides(2.0),
        "singular matrix",
    ),
    "qr": Factorization(factorizations.qr, factorizations.qr_workspace, ("geqrf", "orgqr"), _cube(4.0)),
    "banded_lu": Factorization(banded.banded_lu, banded.banded_lu_workspace, ("gbtrf",), _of_band(2.0)),
    "banded_solve": Factorization(
        banded.banded_solve,
        banded.banded_solve_workspace,
        ("gbtrs",),
        _of_band(4.0),
        "singular matrix",
    ),
    "banded_cholesky": Factorization(
        banded.banded_cholesky, no_workspace, ("pbtrf",), _of_band(1.0), "Matrix is not positive definite"
    ),
    "banded_cholesky_solve": Factorization(
        banded.banded_cholesky_solve, banded.banded_solve_workspace, ("pbtrs",), _of_band(4.0)
    ),
    "toeplitz_solve": Factorization(
        toeplitz.toeplitz_solve,
        toeplitz.toeplitz_workspace,
        (),
        _of_right_sides(4.0),
        "singular principal minor",
    ),
    "ldl": Factorization(indefinite.ldl, indefinite.ldl_workspace, ("sytrf", "syconv"), _cube(1 / 3)),
    "schur": Factorization(
        schur_forms.schur, schur_forms.schur_workspace, ("gees", "trsen"), _cube(25.0), NO_EIGENVALUES
    ),
    "sylvester": Factorization(
        schur_forms.sylvester, schur_forms.sylvester_workspace, ("gemm", "trsyl"), _cube(10.0)
    ),
    "eigh": Factorization(
        spectra.eigh, spectra.eigh_workspace, ("syevd",), _cube(9.0), "Eigenvalues did not converge"
    ),
    "eigvalsh": Factorization(
        spectra.eigh, spectra.eigh_workspace, ("syevd",), _cube(4 / 3), "Eigenvalues did not converge"
    ),
    "eig": Factorization(spectra.eig, spectra.eig_workspace, ("geev",), _cube(25.0), NO_EIGENVALUES),
    "eigvals": Factorization(spectra.eig, spectra.eig_workspace, ("geev",), _cube(10.0), NO_EIGENVALUES),
    "svd": Factorization(spectra.svd, spectra.svd_workspace, ("gesdd",), _cube(20.0), NO_SINGULAR_VALUES),
    "svdvals": Factorization(
        spectra.svd, spectra.svd_workspace, ("gesdd",), _cube(8 / 3), NO_SINGULAR_VALUES
    ),
}
