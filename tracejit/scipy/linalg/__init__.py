"""Linear algebra under SciPy's names, on stacks of matrices, with derivatives.

Matrices lie on the last two axes; leading axes are batches. Options about memory (``overwrite_a``) and about
checks (``check_finite``) are taken and mean nothing. ``docs/linalg.md`` says how gradients are meant.
"""

from __future__ import annotations

from ...arguments.errors import check_public as _check_public
from .exponential import expm, expm_frechet
from .factors import cho_factor, cho_solve, cholesky, lu, lu_factor, lu_solve, solve_triangular
from .functions_of_matrices import logm, sqrtm
from .indefinite import ldl
from .polar_decomposition import polar
from .schur_forms import schur
from .structured import block_diag, circulant, hankel, toeplitz
from .structured_solutions import solve_banded, solve_toeplitz, solveh_banded
from .sylvester import solve_sylvester

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "expm", "expm_frechet", "hankel",
    "ldl", "logm", "lu", "lu_factor", "lu_solve", "polar", "schur", "solve_banded", "solve_sylvester",
    "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm", "toeplitz",
]  # fmt: skip

_check_public(globals(), __all__, "scipy.linalg.")
