# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from .exponential import (
    expm as expm,
    expm_frechet as expm_frechet,
)

from .factors import (
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    cholesky as cholesky,
    lu as lu,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    solve_triangular as solve_triangular,
)

from .functions_of_matrices import (
    logm as logm,
    sqrtm as sqrtm,
)

from .indefinite import (
    ldl as ldl,
)

from .polar_decomposition import (
    polar as polar,
)

from .schur_forms import (
    schur as schur,
)

from .structured import (
    block_diag as block_diag,
    circulant as circulant,
    hankel as hankel,
    toeplitz as toeplitz,
)

from .structured_solutions import (
    solve_banded as solve_banded,
    solve_toeplitz as solve_toeplitz,
    solveh_banded as solveh_banded,
)

from .sylvester import (
    solve_sylvester as solve_sylvester,
)
