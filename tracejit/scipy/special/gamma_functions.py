"""Functions composed of gamma and zeta functions: logarithms, derivatives, factorials, combinations."""

from __future__ import annotations

import math
import operator
from typing import Any

from ...array.operands import as_tensor, reshaped, run
from ...array.ranges import arange
from ...base.errors import DomainError
from ...tensors.tensor import Tensor
from .functions import binom, digamma, gamma, gammaln
from .operands import floats, special


def loggamma(x: Any) -> Tensor:
    """log gamma x for real x > 0; NaN for negative x, whose logarithm is complex.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.loggamma([2.0, -1.5])
        tensor([ 0., nan])

    Semantics: ``scipy.special.loggamma`` of real numbers.
    """
    (x,) = floats(x)
    return run("where", run("lt", x, 0.0), math.nan, special("gammaln", x))


def polygamma(n: Any, x: Any) -> Tensor:
    """The derivative of order `n` of digamma; `n` holds integers >= 0, `x` is the variable.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.polygamma([0, 1], 1.0)
        tensor([-0.57721566,  1.64493407])

    Semantics: ``scipy.special.polygamma``. Gradients flow to `x` alone.
    """
    n, x = floats(run("stop_gradient", as_tensor(n)), x)
    order = n + 1.0
    sign = 1.0 - 2.0 * run("remainder", order, 2.0)
    # each of an argument of its own where it is not taken: a slope of the other may be infinite next to 0
    lowest = run("eq", n, 0.0)
    higher = sign * gamma(order) * zeta(run("where", lowest, 2.0, order), run("where", lowest, 1.0, x))
    return run("where", lowest, digamma(run("where", lowest, x, 1.0)), higher)


def zeta(x: Any, q: Any = None) -> Tensor:
    """Riemann's zeta function of `x`, or with `q` Hurwitz': the sum of (k + q)^-x over k >= 0, for x > 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.zeta(2.0)
        tensor(1.64493407)
        >>> tj.scipy.special.zeta(2.0, 2.0)
        tensor(0.64493407)

    Semantics: ``scipy.special.zeta`` of real numbers. Gradients flow to both.
    """
    return special("riemann_zeta", x) if q is None else special("zeta", x, q)


def multigammaln(a: Any, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `d`, for a > (d - 1) / 2.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.multigammaln(3.0, 2)
        tensor(1.55019499)

    Raises DomainError unless `d` is a positive integer. Semantics: ``scipy.special.multigammaln``, but NaN
    where `a` is
    too small.
    """
    d = operator.index(d)
    if d < 1:
        raise DomainError(f"multigammaln: expected a positive integer d, got {d}")
    (a,) = floats(a)
    halves = arange(d, dtype=a.dtype) * 0.5
    total = run("sum", gammaln(reshaped(a, (*a.shape, 1)) - halves), axes=(a.ndim,))
    total = total + d * (d - 1) * 0.25 * math.log(math.pi)
    return run("where", run("gt", a, 0.5 * (d - 1)), total, math.nan)


def factorial(n: Any, exact: bool = False) -> Tensor:
    """n! as gamma(n + 1), a float; 0 for negative `n`.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.factorial([0, 3, 5])
        tensor([  1.,   6., 120.])

    Raises DomainError for ``exact=True``, which has Python's integers. Semantics:
    ``scipy.special.factorial``.
    """
    if exact:
        raise DomainError("factorial: exact=True is not supported for tensors; use math.factorial")
    (n,) = floats(n)
    return run("where", run("lt", n, 0.0), 0.0, gamma(run("maximum", n, 0.0) + 1.0))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Tensor:
    """The number of ways to choose `k` of `N` things, as a float; 0 unless 0 <= k <= N.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.comb([5, 10], 3)
        tensor([ 10., 120.])

    Raises DomainError for ``exact=True``, which has Python's integers. Semantics: ``scipy.special.comb``.
    """
    if exact:
        raise DomainError("comb: exact=True is not supported for tensors; use math.comb")
    n, k = floats(N, k)
    if repetition:
        # of nothing there is one choice of nothing, and no other
        none = run("logical_and", run("eq", n, 0.0), run("eq", k, 0.0))
        n = run("where", none, 0.0, n + k - 1.0)
    inside = run("logical_and", run("le", k, n), run("logical_and", run("ge", n, 0.0), run("ge", k, 0.0)))
    return run("where", inside, binom(run("where", inside, n, 1.0), run("where", inside, k, 1.0)), 0.0)
