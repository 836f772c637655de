"""The gamma distribution of scale 1."""

from __future__ import annotations

from typing import Any

from .....array.elementwise.floats import where
from .....array.elementwise.ufuncs import exp
from .....array.operands import as_tensor
from .....scipy.special import gammainc, gammaln, xlogy
from ...arrays import for_arrays


def log_density(x: Any, a: Any) -> Any:
    """The logarithm of the density at `x`, -inf where it is negative."""
    x, a = as_tensor(x), as_tensor(a)
    is_inside = x >= 0
    inner = where(is_inside, x, 1.0)
    return where(is_inside, xlogy(a - 1.0, inner) - inner - gammaln(a), -float("inf"))


def probability(x: Any, a: Any) -> Any:
    """The probability of values up to `x`."""
    x = as_tensor(x)
    return where(x > 0, gammainc(a, where(x > 0, x, 1.0)), 0.0)


@for_arrays
def logpdf(x: Any, a: Any) -> Any:
    """The logarithm of the density at `x`."""
    return log_density(x, a)


@for_arrays
def pdf(x: Any, a: Any) -> Any:
    """The density at `x`."""
    return exp(log_density(x, a))


@for_arrays
def cdf(x: Any, a: Any) -> Any:
    """The probability of values up to `x`."""
    return probability(x, a)
