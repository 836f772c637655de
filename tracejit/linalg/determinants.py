"""Determinants."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..array.operands import cast, run
from ..array.reductions import prod
from ..eager.tensor import Tensor
from ..ir.dtypes import INT64, is_complex
from .operands import factored, square_matrices


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


def det(a: Any) -> Tensor:
    """The determinants of square matrices. The gradient is right at singular matrices, too.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.det([[1.0, 2.0], [3.0, 4.0]])
        tensor(-2.)

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``numpy.linalg.det``.
    """
    x = square_matrices("linalg.det", a)
    return run("det", x, *factored(x))


def slogdet(a: Any) -> SlogdetResult:
    """The signs of the determinants, and the logarithms of their sizes: 0 and -inf of singular matrices.

    Example:
        >>> import tracejit as tj
        >>> tj.linalg.slogdet([[2.0, 0.0], [0.0, 0.5]])
        SlogdetResult(sign=tensor(1.), logabsdet=tensor(0.))

    Raises LinAlgError unless the last two axes are of one size. Semantics: ``numpy.linalg.slogdet``.
    """
    x = square_matrices("linalg.slogdet", a)
    lu, pivots, permutation = factored(x)
    row = run("iota", shape=lu.shape, axis=lu.ndim - 2, dtype=INT64)
    column = run("iota", shape=lu.shape, axis=lu.ndim - 1, dtype=INT64)
    diagonal = run("sum", run("where", run("eq", row, column), lu, 0.0), axes=(lu.ndim - 1,))
    own = run("iota", shape=pivots.shape, axis=pivots.ndim - 1, dtype=INT64)
    swaps = 1.0 - 2.0 * cast(run("ne", pivots, own), x.dtype)
    sign = prod(run("sign", diagonal), axis=-1) * prod(swaps, axis=-1)
    if is_complex(x.dtype):
        sign = sign * _turning(x, lu, permutation)
    return SlogdetResult(sign, run("logabsdet", x, lu, permutation))


def _turning(x: Tensor, lu: Tensor, permutation: Tensor) -> Tensor:
    """1, with the gradient of the direction of the determinant: d log det = tr(x^-1 dx), whose imaginary part
    is the real part of the one along -i dx."""
    still = x.detach()
    size = run("logabsdet", still + (x - still) * -1j, lu, permutation)
    size = run("where", run("isfinite", size), size, 0.0)
    return run("exp", (size - size.detach()) * 1j)
