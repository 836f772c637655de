"""Linear algebra under NumPy's names, on stacks of matrices, with derivatives.

Matrices lie on the last two axes; leading axes are batches. Integers are computed in floating point. What has
no result raises LinAlgError, eagerly and from compiled code. ``docs/linalg.md`` says how gradients are meant.
"""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from ..array import cross
from ..array.contraction import matmul, outer, tensordot, vecdot
from ..array.manipulation import matrix_transpose
from ..base.errors import LinAlgError
from .decompositions import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from .determinants import det, slogdet
from .diagonals import diagonal, trace
from .norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from .products import matrix_power, multi_dot
from .solutions import inv, lstsq, pinv, solve, tensorinv, tensorsolve

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot",
    "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv",
    "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip

_check_public(globals(), __all__, "linalg.")
