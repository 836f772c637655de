"""``autograd.scipy.linalg``: `tj.scipy.linalg`, of arrays where none of its arguments is a tensor."""

from __future__ import annotations

from ....scipy import linalg as _linalg
from ..arrays import for_arrays as _for_arrays

block_diag = _for_arrays(_linalg.block_diag)
cho_factor = _for_arrays(_linalg.cho_factor)
cho_solve = _for_arrays(_linalg.cho_solve)
cholesky = _for_arrays(_linalg.cholesky)
circulant = _for_arrays(_linalg.circulant)
expm = _for_arrays(_linalg.expm)
expm_frechet = _for_arrays(_linalg.expm_frechet)
hankel = _for_arrays(_linalg.hankel)
ldl = _for_arrays(_linalg.ldl)
logm = _for_arrays(_linalg.logm)
lu = _for_arrays(_linalg.lu)
lu_factor = _for_arrays(_linalg.lu_factor)
lu_solve = _for_arrays(_linalg.lu_solve)
polar = _for_arrays(_linalg.polar)
schur = _for_arrays(_linalg.schur)
solve_banded = _for_arrays(_linalg.solve_banded)
solve_sylvester = _for_arrays(_linalg.solve_sylvester)
solve_toeplitz = _for_arrays(_linalg.solve_toeplitz)
solve_triangular = _for_arrays(_linalg.solve_triangular)
solveh_banded = _for_arrays(_linalg.solveh_banded)
sqrtm = _for_arrays(_linalg.sqrtm)
toeplitz = _for_arrays(_linalg.toeplitz)
