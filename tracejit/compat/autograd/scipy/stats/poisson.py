"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from .....array.elementwise.floats import where
from .....array.elementwise.ufuncs import exp, floor
from .....array.operands import as_tensor
from .....scipy.special import gammaincc, gammaln, xlogy
from ...arrays import for_arrays


def _logpmf(k: Any, mu: Any) -> Any:
    k, mu = as_tensor(k), as_tensor(mu)
    is_count = (k >= 0) & (floor(k) == k)
    count = where(is_count, k, 0.0)
    return where(is_count, xlogy(count, mu) - gammaln(count + 1.0) - mu, -float("inf"))


@for_arrays
def logpmf(k: Any, mu: Any) -> Any:
    """The logarithm of the probability of `k`, -inf where that is no natural number."""
    return _logpmf(k, mu)


@for_arrays
def pmf(k: Any, mu: Any) -> Any:
    """The probability of `k`."""
    return exp(_logpmf(k, mu))


@for_arrays
def cdf(k: Any, mu: Any) -> Any:
    """The probability of values up to `k`."""
    k = as_tensor(k)
    return where(k >= 0, gammaincc(floor(where(k >= 0, k, 0.0)) + 1.0, mu), 0.0)
