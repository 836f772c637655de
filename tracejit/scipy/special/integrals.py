"""Exponential, trigonometric and elliptic integrals."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .operands import special

__all__ = ["ellipe", "ellipk", "exp1", "expi", "expn", "sici", "spence"]


def exp1(x: Any) -> Tensor:
    """The exponential integral E1: the integral of exp(-t) / t from x on; NaN for negative x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.exp1(1.0)
        tensor(0.21938393)

    Semantics: ``scipy.special.exp1`` of real numbers.
    """
    return special("exp1", x)


def expi(x: Any) -> Tensor:
    """The exponential integral Ei: the principal value of the integral of exp(t) / t up to x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.expi(1.0)
        tensor(1.89511782)

    Semantics: ``scipy.special.expi`` of real numbers.
    """
    return special("expi", x)


def expn(n: Any, x: Any) -> Tensor:
    """The generalized exponential integral E(n, x), for integers n >= 0 and x >= 0; NaN elsewhere.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.expn(2, 1.0)
        tensor(0.14849551)

    Semantics: ``scipy.special.expn`` of real numbers. Gradients flow to `x`.
    """
    return special("expn", n, x)


def spence(z: Any) -> Tensor:
    """The dilogarithm of 1 - z: the integral of log(t) / (1 - t) from 1 to z; NaN for negative z.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.spence(0.0)
        tensor(1.64493407)

    Semantics: ``scipy.special.spence`` of real numbers.
    """
    return special("spence", z)


def ellipk(m: Any) -> Tensor:
    """The complete elliptic integral of the first kind of the parameter m; NaN beyond 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.ellipk(0.5)
        tensor(1.85407468)

    Semantics: ``scipy.special.ellipk`` of real numbers.
    """
    return special("ellipk", m)


def ellipe(m: Any) -> Tensor:
    """The complete elliptic integral of the second kind of the parameter m; NaN beyond 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.ellipe(0.5)
        tensor(1.35064388)

    Semantics: ``scipy.special.ellipe`` of real numbers.
    """
    return special("ellipe", m)


def sici(x: Any) -> tuple[Tensor, Tensor]:
    """The sine and the cosine integral of `x`; the second of negative x is its real part, that of -x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sici(1.0)
        (tensor(0.94608307), tensor(0.33740392))

    Semantics: ``scipy.special.sici`` of real numbers.
    """
    return special("si", x), special("ci", x)
