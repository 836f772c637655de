"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any, Final

from .....array.elementwise.ufuncs import exp, log
from .....array.operands import as_tensor
from .....scipy.special import log_ndtr, ndtr
from ...arrays import for_arrays

_LOG_ROOT_2PI: Final = math.log(2 * math.pi) / 2


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    return (as_tensor(x) - loc) / scale


@for_arrays
def logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of the density at `x`."""
    z = _standard(x, loc, scale)
    return -0.5 * z * z - (log(scale) + _LOG_ROOT_2PI)


@for_arrays
def pdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The density at `x`."""
    z = _standard(x, loc, scale)
    return exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * as_tensor(scale))


@for_arrays
def cdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of values up to `x`."""
    return ndtr(_standard(x, loc, scale))


@for_arrays
def logcdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `cdf`."""
    return log_ndtr(_standard(x, loc, scale))


@for_arrays
def sf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The probability of values above `x`."""
    return ndtr(-_standard(x, loc, scale))


@for_arrays
def logsf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """The logarithm of `sf`."""
    return log_ndtr(-_standard(x, loc, scale))
