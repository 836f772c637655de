"""Bessel functions."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .operands import special


def j0(x: Any) -> Tensor:
    """The Bessel function of the first kind, order 0.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.j0(2.0)
        tensor(0.22389078)

    Semantics: ``scipy.special.j0``.
    """
    return special("j0", x)


def y0(x: Any) -> Tensor:
    """The Bessel function of the second kind, order 0; NaN for negative x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.y0(2.0)
        tensor(0.51037567)

    Semantics: ``scipy.special.y0``.
    """
    return special("y0", x)


def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, order 0.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.i0(2.0)
        tensor(2.2795853)

    Semantics: ``scipy.special.i0``.
    """
    return special("i0", x)


def i0e(x: Any) -> Tensor:
    """exp(-|x|) i0(x), without overflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.i0e(2.0)
        tensor(0.30850832)

    Semantics: ``scipy.special.i0e``.
    """
    return special("i0e", x)


def k0(x: Any) -> Tensor:
    """The modified Bessel function of the second kind, order 0; NaN for negative x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.k0(2.0)
        tensor(0.11389387)

    Semantics: ``scipy.special.k0``.
    """
    return special("k0", x)


def k0e(x: Any) -> Tensor:
    """exp(x) k0(x), without underflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.k0e(2.0)
        tensor(0.84156822)

    Semantics: ``scipy.special.k0e``.
    """
    return special("k0e", x)


def j1(x: Any) -> Tensor:
    """The Bessel function of the first kind, order 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.j1(2.0)
        tensor(0.57672481)

    Semantics: ``scipy.special.j1``.
    """
    return special("j1", x)


def y1(x: Any) -> Tensor:
    """The Bessel function of the second kind, order 1; NaN for negative x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.y1(2.0)
        tensor(-0.10703243)

    Semantics: ``scipy.special.y1``.
    """
    return special("y1", x)


def i1(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, order 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.i1(2.0)
        tensor(1.59063685)

    Semantics: ``scipy.special.i1``.
    """
    return special("i1", x)


def i1e(x: Any) -> Tensor:
    """exp(-|x|) i1(x), without overflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.i1e(2.0)
        tensor(0.21526929)

    Semantics: ``scipy.special.i1e``.
    """
    return special("i1e", x)


def k1(x: Any) -> Tensor:
    """The modified Bessel function of the second kind, order 1; NaN for negative x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.k1(2.0)
        tensor(0.13986588)

    Semantics: ``scipy.special.k1``.
    """
    return special("k1", x)


def k1e(x: Any) -> Tensor:
    """exp(x) k1(x), without underflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.k1e(2.0)
        tensor(1.03347685)

    Semantics: ``scipy.special.k1e``.
    """
    return special("k1e", x)


def jv(v: Any, x: Any) -> Tensor:
    """The Bessel function of the first kind, of real order v >= 0 or an integer v.

    NaN for negative x unless v is an integer.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.jv(0.5, 2.0)
        tensor(0.51301614)

    Semantics: ``scipy.special.jv`` of real numbers. Gradients flow to both arguments.
    """
    return special("jv", v, x)


def iv(v: Any, x: Any) -> Tensor:
    """The modified Bessel function of the first kind, of real order v.

    NaN for negative x unless v is an integer.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.iv(0.5, 2.0)
        tensor(2.04623686)

    Semantics: ``scipy.special.iv`` of real numbers. Gradients flow to both arguments.
    """
    return special("iv", v, x)


def ive(v: Any, x: Any) -> Tensor:
    """exp(-|x|) iv(v, x), without overflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.ive(0.5, 2.0)
        tensor(0.27692805)

    Semantics: ``scipy.special.ive`` of real numbers. Gradients flow to both arguments.
    """
    return special("ive", v, x)


def kv(v: Any, x: Any) -> Tensor:
    """The modified Bessel function of the second kind, of real order v; NaN for negative x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.kv(0.5, 2.0)
        tensor(0.11993777)

    Semantics: ``scipy.special.kv`` of real numbers. Gradients flow to both arguments.
    """
    return special("kv", v, x)


def kve(v: Any, x: Any) -> Tensor:
    """exp(x) kv(v, x), without underflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.kve(0.5, 2.0)
        tensor(0.88622693)

    Semantics: ``scipy.special.kve`` of real numbers. Gradients flow to both arguments.
    """
    return special("kve", v, x)


__all__ = [
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kv",
    "kve",
    "y0",
    "y1",
]
