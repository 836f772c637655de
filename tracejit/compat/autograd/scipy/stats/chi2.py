"""The chi-squared distribution: twice a value of the gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from .....array.elementwise.ufuncs import exp
from .....array.operands import as_tensor
from ...arrays import for_arrays
from .gamma import log_density, probability


def _logpdf(x: Any, df: Any) -> Any:
    return log_density(0.5 * as_tensor(x), 0.5 * as_tensor(df)) - math.log(2.0)


@for_arrays
def logpdf(x: Any, df: Any) -> Any:
    """The logarithm of the density at `x`, with `df` degrees of freedom."""
    return _logpdf(x, df)


@for_arrays
def pdf(x: Any, df: Any) -> Any:
    """The density at `x`, with `df` degrees of freedom."""
    return exp(_logpdf(x, df))


@for_arrays
def cdf(x: Any, df: Any) -> Any:
    """The probability of values up to `x`, with `df` degrees of freedom."""
    return probability(0.5 * as_tensor(x), 0.5 * as_tensor(df))
