"""The incomplete gamma and beta functions, and their inverses."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .operands import special

__all__ = ["betainc", "betaincc", "betaincinv", "gammainc", "gammaincc", "gammainccinv", "gammaincinv"]


def gammainc(a: Any, x: Any) -> Tensor:
    """The regularized lower incomplete gamma function P(a, x), for a, x >= 0.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.gammainc(2.0, 1.5)
        tensor(0.4421746)

    Semantics: ``scipy.special.gammainc``. Gradients flow to all arguments, of second order too.
    """
    return special("gammainc", a, x)


def gammaincc(a: Any, x: Any) -> Tensor:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), for a, x >= 0.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.gammaincc(2.0, 1.5)
        tensor(0.5578254)

    Semantics: ``scipy.special.gammaincc``. Gradients flow to all arguments, of second order too.
    """
    return special("gammaincc", a, x)


def gammaincinv(a: Any, y: Any) -> Tensor:
    """x with gammainc(a, x) = y.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.gammaincinv(2.0, 0.5)
        tensor(1.67834699)

    Semantics: ``scipy.special.gammaincinv``. Gradients flow to all arguments, of second order too.
    """
    return special("gammaincinv", a, y)


def gammainccinv(a: Any, y: Any) -> Tensor:
    """x with gammaincc(a, x) = y.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.gammainccinv(2.0, 0.5)
        tensor(1.67834699)

    Semantics: ``scipy.special.gammainccinv``. Gradients flow to all arguments, of second order too.
    """
    return special("gammainccinv", a, y)


def betainc(a: Any, b: Any, x: Any) -> Tensor:
    """The regularized incomplete beta function I(a, b, x), for a, b >= 0 and x in [0, 1].

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.betainc(2.0, 3.0, 0.4)
        tensor(0.5248)

    Semantics: ``scipy.special.betainc``. Gradients flow to all arguments, of second order too.
    """
    return special("betainc", a, b, x)


def betaincc(a: Any, b: Any, x: Any) -> Tensor:
    """1 - betainc(a, b, x), without cancellation.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.betaincc(2.0, 3.0, 0.4)
        tensor(0.4752)

    Semantics: ``scipy.special.betaincc``. Gradients flow to all arguments, of second order too.
    """
    return special("betaincc", a, b, x)


def betaincinv(a: Any, b: Any, y: Any) -> Tensor:
    """x with betainc(a, b, x) = y.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.betaincinv(2.0, 3.0, 0.5)
        tensor(0.38572757)

    Semantics: ``scipy.special.betaincinv``. Gradients flow to all arguments, of second order too.
    """
    return special("betaincinv", a, b, y)
