"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from .....array.elementwise.floats import where
from .....array.elementwise.ufuncs import exp, log, log1p
from .....array.operands import as_tensor
from .....scipy.special import betainc, gammaln
from ...arrays import for_arrays


def _logpdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    z, half = (as_tensor(x) - loc) / scale, 0.5 * as_tensor(df)
    normalizer = gammaln(half + 0.5) - gammaln(half) - 0.5 * log(math.pi * as_tensor(df))
    return normalizer - log(scale) - (half + 0.5) * log1p(z * z / df)


def _cdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    z = (as_tensor(x) - loc) / scale
    # each where it keeps its digits (DLMF 8.17.4): the tail is I(df / (df + z^2); df/2, 1/2) / 2,
    # the middle 1/2 + sign(z) I(z^2 / (df + z^2); 1/2, df/2) / 2
    is_middle = z * z < df
    square = where(is_middle, z * z, 0.0)
    outer = where(is_middle, df + 0.0 * z, z * z)
    middle = 0.5 * betainc(0.5, 0.5 * as_tensor(df), square / (df + square))
    tail = 0.5 * betainc(0.5 * as_tensor(df), 0.5, df / (df + outer))
    return where(is_middle, where(z < 0, 0.5 - middle, 0.5 + middle), where(z < 0, tail, 1.0 - tail))


@for_arrays
def logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density at `x`, with `df` degrees of freedom."""
    return _logpdf(x, df, loc, scale)


@for_arrays
def pdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density at `x`, with `df` degrees of freedom."""
    return exp(_logpdf(x, df, loc, scale))


@for_arrays
def cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of values up to `x`, with `df` degrees of freedom."""
    return _cdf(x, df, loc, scale)


@for_arrays
def logcdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `cdf`."""
    return log(_cdf(x, df, loc, scale))
