# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

__all__: list[str]

from ..array import (
    cross as cross,
)

from ..array.contraction import (
    matmul as matmul,
    outer as outer,
    tensordot as tensordot,
    vecdot as vecdot,
)

from ..array.manipulation import (
    matrix_transpose as matrix_transpose,
)

from ..base.errors import (
    LinAlgError as LinAlgError,
)

from .decompositions import (
    cholesky as cholesky,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    qr as qr,
    svd as svd,
    svdvals as svdvals,
)

from .determinants import (
    det as det,
    slogdet as slogdet,
)

from .diagonals import (
    diagonal as diagonal,
    trace as trace,
)

from .norms import (
    cond as cond,
    matrix_norm as matrix_norm,
    matrix_rank as matrix_rank,
    norm as norm,
    vector_norm as vector_norm,
)

from .products import (
    matrix_power as matrix_power,
    multi_dot as multi_dot,
)

from .solutions import (
    inv as inv,
    lstsq as lstsq,
    pinv as pinv,
    solve as solve,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
