"""The gamma distribution, with gradients to its shape parameter, and what is computed from it.

Small arguments are shifted up by the recurrence, to where Stirling's series is exact to a rounding
(Abramowitz and Stegun, 6.1.15, 6.1.41, 6.3.5, 6.3.18).
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import numpy as np

from ..array.operands import cast, constant_of, run
from ..array.reductions import any as any_of
from ..array.statistics import logsumexp
from ..base.errors import ShapeError
from ..control.loops import while_loop
from ..ir.dtypes import BY_NAME, FLOAT64, DType
from ..ir.types import Shape, as_shape
from ..tensors.tensor import Array, Tensor
from ..transforms.custom.vjp import custom_vjp
from .distributions import drawn_in_float32, inside_unit, normal, parameter, parameters
from .keys import fold_in, split

#: The smallest argument for which the series below are exact to some parts in 10**16.
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


_INT64: Final = BY_NAME["i64"]


@drawn_in_float32
def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the gamma distribution with shape parameter `a` and scale 1.

    `shape` is that of `a` unless given. The method is that of Marsaglia and Tsang (2000): rejection, in a
    loop that ends when all elements are accepted. Gradients flow to `a`, at any order, by implicit
    reparametrisation (Figurnov, Mohamed and Mnih, 2018). Where `a` is not positive, the result is NaN. Small
    `a` make numbers that are rounded to 0: take `loggamma` there.

    Example:
        >>> import tracejit as tj
        >>> tj.random.gamma(tj.random.key(0), tj.tensor([0.5, 2.0, 50.0])).shape
        (3,)

    Raises DTypeError unless `dtype` is floating, ShapeError where `a` does not broadcast to `shape`.
    Semantics: ``jax.random.gamma``, with other values.
    """
    sizes, floating, (concentration,) = parameters("random.gamma", key, shape, dtype, a=a)
    value, boost = _marsaglia_tsang(key, concentration, sizes, floating)
    numbers: Tensor = _follow(value * run("exp", boost), concentration)
    return numbers


@drawn_in_float32
def loggamma(key: Any, a: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """The logarithms of numbers of the gamma distribution, exact where the numbers would be rounded to 0.

    Example:
        >>> import tracejit as tj
        >>> bool(tj.random.loggamma(tj.random.key(0), 1e-4) < -100)
        True

    Raises and semantics: as `gamma`, with whose numbers it agrees; ``jax.random.loggamma``.
    """
    sizes, floating, (concentration,) = parameters("random.loggamma", key, shape, dtype, a=a)
    value, boost = _marsaglia_tsang(key, concentration, sizes, floating)
    logarithms: Tensor = _follow_log(run("log", value) + boost, concentration)
    return logarithms


@drawn_in_float32
def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the chi-squared distribution with `df` degrees of freedom: 2 gamma(df / 2).

    Example:
        >>> import tracejit as tj
        >>> tj.random.chisquare(tj.random.key(0), 3.0, (2, 2)).shape
        (2, 2)

    Raises as `gamma`. Semantics: ``jax.random.chisquare``, with other values.
    """
    sizes, floating, (freedom,) = parameters("random.chisquare", key, shape, dtype, df=df)
    return 2.0 * gamma(key, 0.5 * freedom, sizes, floating)


@drawn_in_float32
def t(key: Any, df: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of Student's t distribution with `df` degrees of freedom: normal / sqrt(chisquare / df).

    `shape` is that of `df` unless given. Gradients flow to `df`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.t(tj.random.key(0), 4.0, (3,)).shape
        (3,)

    Raises as `gamma`. Semantics: ``jax.random.t``, with other values.
    """
    sizes, floating, (freedom,) = parameters("random.t", key, shape, dtype, df=df)
    first, second = split(key)
    half = 0.5 * freedom
    return normal(first, sizes, floating) * run("sqrt", half / gamma(second, half, sizes, floating))


@drawn_in_float32
def f(key: Any, dfnum: Any, dfden: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the F distribution: the ratio of two chi-squared numbers, each by its degrees of freedom.

    Example:
        >>> import tracejit as tj
        >>> tj.random.f(tj.random.key(0), 3.0, [5.0, 8.0]).shape
        (2,)

    Raises as `gamma`. Semantics: ``jax.random.f``, with other values.
    """
    sizes, floating, (above, below) = parameters("random.f", key, shape, dtype, dfnum=dfnum, dfden=dfden)
    first, second = split(key)
    ratio = gamma(first, 0.5 * above, sizes, floating) / gamma(second, 0.5 * below, sizes, floating)
    return ratio * (below / above)


@drawn_in_float32
def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the beta distribution: x / (x + y) with x, y gamma numbers of shapes `a` and `b`.

    `shape` is what `a` and `b` broadcast to unless given. Gradients flow to both.

    Example:
        >>> import tracejit as tj
        >>> tj.random.beta(tj.random.key(0), 2.0, [1.0, 5.0]).shape
        (2,)

    Raises as `gamma`. Semantics: ``jax.random.beta``, with other values.
    """
    sizes, floating, (tensor, other) = parameters("random.beta", key, shape, dtype, a=a, b=b)
    first, second = split(key)
    x, y = loggamma(first, tensor, sizes, floating), loggamma(second, other, sizes, floating)
    return run("exp", x - run("logaddexp", x, y))  # no 0 / 0 where both are tiny


@drawn_in_float32
def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Vectors of the Dirichlet distribution: gamma numbers of shapes `alpha`, divided by their sum.

    The vectors lie along the last axis. `shape` is the shape of the batch, ``alpha.shape[:-1]`` unless given.
    Gradients flow to `alpha`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.dirichlet(tj.random.key(0), [1.0, 2.0, 3.0], (4,)).sum(axis=1).round(6)
        tensor([1., 1., 1., 1.])

    Raises ShapeError for an `alpha` without dimensions, otherwise as `gamma`. Semantics:
    ``jax.random.dirichlet``, with other values.
    """
    own, floating, (concentration,) = parameters("random.dirichlet", key, None, dtype, alpha=alpha)
    if not own:
        raise ShapeError("random.dirichlet: expected alpha of at least one dimension, got shape ()")
    sizes = own if shape is None else (*as_shape("random.dirichlet", shape), own[-1])
    logs = loggamma(
        key, parameter("random.dirichlet", "alpha", concentration, sizes, floating), sizes, floating
    )
    return run("exp", logs - logsumexp(logs, axis=-1, keepdims=True))


# -- the method -----------------------------------------------------------------------------------


def _marsaglia_tsang(key: Any, a: Tensor, sizes: Shape, floating: DType) -> tuple[Tensor, Tensor]:
    """x and log b, where x b is distributed as gamma(a). Constants to every gradient.

    G. Marsaglia and W. W. Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26 (2000): for
    a >= 1, d v with d = a - 1/3 and v = (1 + x / sqrt(9 d))^3, which is accepted where
    log u < x^2 / 2 + d - d v + d log v; for a < 1, gamma(a + 1) u^(1/a).
    """
    a = run("stop_gradient", a)
    usual = run("logical_and", run("gt", a, 0.0), run("lt", a, math.inf))
    small = run("lt", a, 1.0)
    d = run("where", usual, run("where", small, a + 1.0, a), 1.0) - 1 / 3
    c = 1.0 / run("sqrt", 9.0 * d)
    for_boost, for_attempts = split(key)

    def attempt(state: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        number, waiting, value = state
        for_x, for_u = split(fold_in(for_attempts, number))
        x = normal(for_x, sizes, floating)
        base = 1.0 + c * x
        positive = run("gt", base, 0.0)
        v = run("where", positive, base * base * base, 1.0)
        bound = 0.5 * x * x + d * (1.0 - v + run("log", v))
        fits = run("logical_and", positive, run("lt", run("log", inside_unit(for_u, sizes, floating)), bound))
        return (
            number + 1,
            run("logical_and", waiting, run("logical_not", fits)),
            run("where", waiting, v, value),
        )

    start = constant_of(np.array(0, _INT64)), usual, run("full", value=1.0, shape=sizes, dtype=floating)
    _, _, v = while_loop(lambda state: any_of(state[1]), attempt, start)
    unusual = run("where", run("eq", a, math.inf), math.inf, math.nan)
    u = inside_unit(for_boost, sizes, floating)
    boost = run("where", small, run("log", u) / run("where", usual, a, 1.0), 0.0)
    return run("where", usual, d * v, cast(unusual, floating)), boost


# -- its derivative -------------------------------------------------------------------------------


@custom_vjp
def _follow(x: Tensor, a: Tensor) -> Tensor:
    """x, as a function of the shape parameter that it was drawn with."""
    return x


@custom_vjp
def _follow_log(log_x: Tensor, a: Tensor) -> Tensor:
    """log x, as a function of the shape parameter that x was drawn with."""
    return log_x


def _slope(x: Tensor, a: Tensor) -> Tensor:
    some = run("gt", x, 0.0)  # what was rounded to 0 stays there
    return run("where", some, x * _log_slope(run("log", run("where", some, x, 1.0)), a), 0.0)


# What is kept is the result, itself followed: the second derivative goes through it.
def _rule(follow: Any, slope: Any) -> None:
    def forward(x: Tensor, a: Tensor) -> Any:
        y = follow(x, a)
        return y, (y, a)

    def backward(residuals: Any, cotangent: Tensor) -> Any:
        y, a = residuals
        return None, cotangent * cast(slope(cast(y, FLOAT64), cast(a, FLOAT64)), cotangent.dtype)

    follow.defvjp(forward, backward)


_rule(_follow, _slope)
_rule(_follow_log, lambda x, a: _log_slope(x, a))


def _log_slope(log_x: Tensor, a: Tensor) -> Tensor:
    """d log x / d a at a fixed place P(a, x) of the distribution, in float64, to nine digits.

    Of P(a, x) = const follows dx/da = -(dP/da) / p, with the density p; and with t = x e^s under the integral

        d log x / d a = -integral over s < 0 of (log x + s - digamma(a)) exp(a s + x (1 - e^s)) ds.

    The integral over s > 0 is the negative of it, so that the one may be taken whose exponent only falls:
    with v = |s|, by -g v - x (e^s - 1 - s), where g = |a - x|. Above x the fall is at least that of a
    Gaussian, and Gauss and Legendre's rule does, up to where it has fallen by 40. Below it is exponential, or
    a Gaussian that goes over into one: the double-exponential rule (Takahasi and Mori, 1974), in units of the
    length in which the exponent falls by about 1.
    """
    x = run("exp", log_x)
    gap, above = run("abs", a - x), run("gt", x, a)
    root = run("sqrt", gap * gap + run("where", above, 80.0, 2.0) * x)
    length = run("where", above, 80.0, 2.0) / (gap + root)
    # e^s grows, too: x e^s = 40 is far enough, from where on it is a matter of 1
    log_end = run("logaddexp", math.log(40.0) - log_x, 0.0) + 1.0
    length = run("where", above, run("minimum", length, log_end), length)
    centre = log_x - digamma(a)

    def spread(value: Tensor) -> Tensor:
        return value[..., None]

    rules = [constant_of(rule) for rule in _rules()]
    above, sign = spread(above), spread(run("where", above, 1.0, -1.0))
    v = spread(length) * run("where", above, rules[0], rules[2])
    s = sign * v
    fall = spread(gap) * v + spread(x) * (run("expm1", s) - s)
    terms = (v + sign * spread(centre)) * run("exp", -fall) * run("where", above, rules[1], rules[3])
    return length * terms.sum(axis=-1)


@functools.cache
def _rules() -> tuple[Array, Array, Array, Array]:
    """Nodes and weights of the two rules, as many of each."""
    count = 48
    nodes, weights = np.polynomial.legendre.leggauss(count)
    u = -3.7 + 0.24 * np.arange(count)
    far = np.exp(0.75 * u - np.exp(-u))
    return (nodes + 1) / 2, weights / 2, far, 0.24 * far * (0.75 + np.exp(-u))
