"""The error function and the normal and logistic distributions."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .operands import special


def erf(x: Any) -> Tensor:
    """The error function.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.erf(0.5)
        tensor(0.52049988)

    Semantics: ``scipy.special.erf``.
    """
    return special("erf", x)


def erfc(x: Any) -> Tensor:
    """1 - erf(x), without cancellation.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.erfc(2.0)
        tensor(0.00467773)

    Semantics: ``scipy.special.erfc``.
    """
    return special("erfc", x)


def erfcx(x: Any) -> Tensor:
    """exp(x^2) erfc(x), which neither over- nor underflows for positive x.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.erfcx(50.0)
        tensor(0.01128154)

    Semantics: ``scipy.special.erfcx``.
    """
    return special("erfcx", x)


def erfinv(y: Any) -> Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN beyond.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.erfinv(0.5)
        tensor(0.47693628)

    Semantics: ``scipy.special.erfinv``.
    """
    return special("erfinv", y)


def erfcinv(y: Any) -> Tensor:
    """The inverse of erfc; infinite at 0 and 2, NaN beyond.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.erfcinv(0.5)
        tensor(0.47693628)

    Semantics: ``scipy.special.erfcinv``.
    """
    return special("erfcinv", y)


def ndtr(x: Any) -> Tensor:
    """The cumulative distribution function of the standard normal distribution.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.ndtr(1.96)
        tensor(0.9750021)

    Semantics: ``scipy.special.ndtr``.
    """
    return special("ndtr", x)


def log_ndtr(x: Any) -> Tensor:
    """log(ndtr(x)), also where ndtr(x) underflows.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.log_ndtr(-50.0)
        tensor(-1254.83136114)

    Semantics: ``scipy.special.log_ndtr``.
    """
    return special("log_ndtr", x)


def ndtri(y: Any) -> Tensor:
    """The inverse of ndtr: quantiles of the standard normal distribution.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.ndtri(0.975)
        tensor(1.95996398)

    Semantics: ``scipy.special.ndtri``.
    """
    return special("ndtri", y)


def expit(x: Any) -> Tensor:
    """1 / (1 + exp(-x)).

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.expit(0.0)
        tensor(0.5)

    Semantics: ``scipy.special.expit``.
    """
    return special("expit", x)


def logit(x: Any) -> Tensor:
    """log(x / (1 - x)), the inverse of expit; NaN outside of [0, 1].

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.logit(0.75)
        tensor(1.09861229)

    Semantics: ``scipy.special.logit``.
    """
    return special("logit", x)


def log_expit(x: Any) -> Tensor:
    """log(expit(x)), without underflow.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.log_expit(-1000.0)
        tensor(-1000.)

    Semantics: ``scipy.special.log_expit``.
    """
    return special("log_expit", x)


__all__ = [
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "expit",
    "log_expit",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
]
