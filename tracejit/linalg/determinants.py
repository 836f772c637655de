"""Determinants of square matrices, and their logarithms and signs."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..array.operands import run
from ..tensors.tensor import Tensor
from .operands import factored, square_matrices


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

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
    sign = run("signdet", x, lu, pivots, permutation)
    return SlogdetResult(sign, run("logabsdet", x, lu, permutation))
