"""The beta distribution."""

from __future__ import annotations

from typing import Any

from .....array.elementwise.floats import where
from .....array.elementwise.ufuncs import exp
from .....array.operands import as_tensor
from .....scipy.special import betainc, betaln, xlog1py, xlogy
from ...arrays import for_arrays


def _logpdf(x: Any, a: Any, b: Any) -> Any:
    x, a, b = as_tensor(x), as_tensor(a), as_tensor(b)
    is_inside = (x >= 0) & (x <= 1)
    inner = where(is_inside, x, 0.5)
    density = xlogy(a - 1.0, inner) + xlog1py(b - 1.0, -inner) - betaln(a, b)
    return where(is_inside, density, -float("inf"))


@for_arrays
def logpdf(x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the density at `x`."""
    return _logpdf(x, a, b)


@for_arrays
def pdf(x: Any, a: Any, b: Any) -> Any:
    """The density at `x`."""
    return exp(_logpdf(x, a, b))


@for_arrays
def cdf(x: Any, a: Any, b: Any) -> Any:
    """The probability of values up to `x`."""
    x = as_tensor(x)
    is_inside = (x > 0) & (x < 1)
    inner = betainc(a, b, where(is_inside, x, 0.5))
    return where(is_inside, inner, where(x >= 1, 1.0, 0.0))
