"""Hypergeometric, Legendre and Lambert's functions."""

from __future__ import annotations

from typing import Any

from ...eager.tensor import Tensor
from ...ir.errors import DomainError
from .operands import special


def hyp1f1(a: Any, b: Any, x: Any) -> Tensor:
    """Kummer's confluent hypergeometric function 1F1(a; b; x), by its series: for arguments of moderate size.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.hyp1f1(1.0, 2.0, 1.5)
        tensor(2.32112605)

    Semantics: ``scipy.special.hyp1f1`` of real numbers. Gradients flow to all
    arguments.
    """
    return special("hyp1f1", a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Tensor:
    """Gauss' hypergeometric function 2F1(a, b; c; z) for z <= 1, by its series; NaN beyond, and where 100,000
    terms are not enough, near 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.hyp2f1(1.0, 2.0, 3.0, 0.5)
        tensor(1.54517744)

    Semantics: ``scipy.special.hyp2f1`` of real numbers, but NaN where that has infinities beyond 1.
    Gradients flow to all arguments.
    """
    return special("hyp2f1", a, b, c, z)


def eval_legendre(n: Any, x: Any) -> Tensor:
    """The Legendre polynomial of integer degree n; NaN where n is no integer.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.eval_legendre(2, 0.5)
        tensor(-0.125)

    Semantics: ``scipy.special.eval_legendre`` of real numbers for integer degrees.
    """
    return special("eval_legendre", n, x)


def lpmv(m: Any, v: Any, x: Any) -> Tensor:
    """The associated Legendre function of integer order m and integer degree v, for x in [-1, 1]; NaN
    elsewhere.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.lpmv(1, 2, 0.5)
        tensor(-1.29903811)

    Semantics: ``scipy.special.lpmv`` of real numbers for integer degrees.
    """
    return special("lpmv", m, v, x)


def lambertw(z: Any, k: int = 0) -> Tensor:
    """The real branch `k` of Lambert's W, which solves w exp(w) = z: 0 for z >= -1 / e, -1 for -1 / e <= z <
    0.

    NaN where a branch is complex.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.lambertw(1.0)
        tensor(0.56714329)

    Raises DomainError unless `k` is 0 or -1. Semantics: ``scipy.special.lambertw``, but real.
    """
    if k not in (0, -1):
        raise DomainError(f"lambertw: expected k to be 0 or -1, whose branches are real, got {k!r}")
    return special("lambertw_m1" if k else "lambertw_0", z)


__all__ = ["eval_legendre", "hyp1f1", "hyp2f1", "lambertw", "lpmv"]
