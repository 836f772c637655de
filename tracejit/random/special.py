"""Functions of the gamma family that densities need, composed from ops.

Small arguments are shifted up by the recurrence, to where Stirling's series is exact to a rounding
(Abramowitz and Stegun, 6.1.15, 6.1.41, 6.3.5, 6.3.18).
"""

from __future__ import annotations

import math
from typing import Final

from ..array.operands import run
from ..eager.tensor import Tensor

#: From here on the series below are exact to some parts in 10**16.
_SHIFT: Final = 10
#: B(2k) / (2k (2k - 1)), with which log gamma's series is sum of c / x^(2k - 1): k from 1.
_LOG_GAMMA: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
#: B(2k) / 2k, with which digamma's is sum of -c / x^(2k).
_DIGAMMA: Final = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)


def stirling_rest(k: Tensor) -> Tensor:
    """log k! - (k log k - k), for integers k >= 0: what Stirling's leading terms leave."""
    small = run("lt", k, float(_SHIFT))
    large = run("where", small, k + (_SHIFT + 1.0), k)
    series = _at_large(large)
    # small k: log k! = log (k + 10)! - log((k + 1) ... (k + 10)), with (x - 1)! = x! / x for x = k + 11
    few = run("where", small, k, 1.0)
    product = few + 1.0
    for i in range(2, _SHIFT + 1):
        product = product * (few + i)
    power = few * run("log", run("maximum", few, 1.0)) - few
    below = series + (large - 1.0) * run("log", large) - large - run("log", product) - power
    return run("where", small, below, series)


def _at_large(x: Tensor) -> Tensor:
    """Stirling's series but for its leading terms, for large x."""
    inverse = 1.0 / x
    series = _polynomial(_LOG_GAMMA, inverse * inverse) * inverse
    return run("add", 0.5 * run("log", (2 * math.pi) * x), series)


def deviance(x: Tensor, mean: Tensor) -> Tensor:
    """x log(x / mean) - (x - mean), for x >= 0 and mean > 0, without cancellation (Loader, 2000)."""
    t = (x - mean) / mean
    inside = run("gt", x, 0.0)
    terms = run("where", inside, (1.0 + t) * run("log1p", run("where", inside, t, 0.0)) - t, 1.0)
    return run("mul", mean, terms)


def digamma(x: Tensor) -> Tensor:
    """The derivative of log gamma(x), for x > 0."""
    below = 1.0 / x
    for k in range(1, _SHIFT):
        below = below + 1.0 / (x + k)
    large = x + _SHIFT
    inverse = 1.0 / large
    square = inverse * inverse
    return run("log", large) - 0.5 * inverse - _polynomial(_DIGAMMA, square) * square - below


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    """Horner's rule, the constant term first."""
    total: Tensor = x * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        total = total * x + coefficient
    return total
