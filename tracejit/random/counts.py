"""Counts: Poisson, binomial, multinomial and geometric numbers; signs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..array.joining import concatenate
from ..array.manipulation import moveaxis
from ..array.operands import as_tensor, cast, constant_of, run
from ..array.ranges import arange
from ..array.reductions import any as any_of
from ..base.errors import DTypeError, ShapeError
from ..control.loops import while_loop
from ..control.scans import scan
from ..ir.dtypes import BY_NAME, FLOAT64, INT64, DType, as_dtype, is_real_floating
from ..ir.types import Shape, as_shape
from ..tensors.tensor import Tensor
from .distributions import inside_unit, parameters
from .gammas import deviance, stirling_rest
from .keys import as_key, bits, fold_in, split

_ZERO: Final = np.array(0, BY_NAME["i64"])
#: The smallest mean for which rejection takes fewer steps than counting up.
_MANY: Final = 10.0


def rademacher(key: Any, shape: Any = (), dtype: Any = INT64) -> Tensor:
    """-1 or 1, each as likely.

    Example:
        >>> import tracejit as tj
        >>> tj.random.rademacher(tj.random.key(0), (5,))
        tensor([ 1,  1, -1, -1, -1])

    Raises DTypeError for a `dtype` without a sign. Semantics: ``jax.random.rademacher``, with other values.
    """
    as_key("random.rademacher", key)
    result_dtype = as_dtype(dtype)
    if result_dtype.kind not in "if":
        raise DTypeError(f"random.rademacher: expected a signed dtype, got {result_dtype.name}")
    upper = run("lt", bits(key, as_shape("random.rademacher", shape)), 1 << 63)
    return cast(run("where", upper, 1, -1), result_dtype)


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = INT64) -> Tensor:
    """Numbers of the Poisson distribution with mean `lam`.

    `shape` is that of `lam` unless given. Means below 10 by inversion, others by Hörmann's transformed
    rejection PTRS (1993), each in a loop that ends when all elements are done. A `lam` of 0 gives 0, one that
    is negative or not finite gives -1.

    Example:
        >>> import tracejit as tj
        >>> tj.random.poisson(tj.random.key(0), [0.0, 3.0, 1e6]).shape
        (3,)

    Raises DTypeError unless `dtype` is an integer or floating type, ShapeError where `lam` does not broadcast
    to `shape`. Semantics: ``jax.random.poisson``, with other values.
    """
    result_dtype = _counted("random.poisson", dtype)
    sizes, _, (mean,) = parameters("random.poisson", key, shape, FLOAT64, lam=lam)
    mean = run("stop_gradient", mean)
    valid = run("logical_and", run("ge", mean, 0.0), run("lt", mean, math.inf))
    large = run("logical_and", valid, run("ge", mean, _MANY))
    few = run("where", run("logical_and", valid, run("lt", mean, _MANY)), mean, 0.0)
    many = run("where", large, mean, _MANY)
    first, second = split(key)
    start = run("exp", -few)
    low = _counted_up(first, start, lambda k, p: p * few / k, run("gt", few, 0.0), sizes)

    def log_density(k: Tensor) -> Tensor:
        return -stirling_rest(k) - deviance(k, many)

    high = _transformed(second, many, run("sqrt", many), log_density, large, sizes, None)
    return cast(run("where", valid, run("where", large, high, low), -1.0), result_dtype)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = INT64) -> Tensor:
    """Number of successes in `n` trials, each of probability `p`.

    `shape` is what `n` and `p` broadcast to unless given. By inversion where fewer than 10 are expected to
    succeed, or to fail; else by Hörmann's transformed rejection BTRS (1993). Parameters outside
    of n >= 0, 0 <= p <= 1 give -1. `n` is rounded down to an integer.

    Example:
        >>> import tracejit as tj
        >>> tj.random.binomial(tj.random.key(0), [1, 10, 1000], 0.25).shape
        (3,)

    Raises as `poisson`. Semantics: ``jax.random.binomial``, with other values, and integers unless `dtype`
    says otherwise.
    """
    result_dtype = _counted("random.binomial", dtype)
    sizes, _, (trials, chance) = parameters("random.binomial", key, shape, FLOAT64, n=n, p=p)
    return cast(
        _binomial(key, run("stop_gradient", trials), run("stop_gradient", chance), sizes), result_dtype
    )


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = INT64) -> Tensor:
    """Number of `n` trials that end in each category, with the probabilities `p` along the last axis.

    `p` is divided by its sum. `shape` is that of the result, what ``n[..., None]`` and `p` broadcast to
    unless given. One binomial number after another, each of the trials that are left.

    Example:
        >>> import tracejit as tj
        >>> tj.random.multinomial(tj.random.key(0), 100, [0.2, 0.3, 0.5]).sum()
        tensor(100)

    Raises ShapeError for a `p` without dimensions, otherwise as `poisson`. Semantics:
    ``jax.random.multinomial``, with other values, and integers unless `dtype` says otherwise.
    """
    name = "random.multinomial"
    result_dtype = _counted(name, dtype)
    weights = as_tensor(p)
    if weights.ndim == 0:
        raise ShapeError(f"{name}: expected p of at least one dimension, got shape ()")
    sizes, _, (trials, chances) = parameters(name, key, shape, FLOAT64, n=as_tensor(n)[..., None], p=weights)
    left, chances = run("stop_gradient", trials[..., 0]), run("stop_gradient", chances)
    batch = sizes[:-1]

    def category(state: Any, inputs: Any) -> Any:
        left, rest = state
        number, chance = inputs
        some = run("gt", rest, 0.0)
        share = run("where", some, chance / run("where", some, rest, 1.0), 0.0)
        count = _binomial(fold_in(key, number), left, run("minimum", share, 1.0), batch)
        return (left - count, rest - chance), count

    first = moveaxis(chances, -1, 0)[:-1]
    (left, _), counts = scan(category, (left, chances.sum(axis=-1)), (arange(len(first)), first))
    return cast(concatenate([moveaxis(counts, 0, -1), left[..., None]], axis=-1), result_dtype)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = INT64) -> Tensor:
    """The number of trials up to the first that succeeds, where each does with probability `p`: 1, 2, ...

    By inversion: ceil(log u / log(1 - p)). `shape` is that of `p` unless given.

    Example:
        >>> import tracejit as tj
        >>> tj.random.geometric(tj.random.key(0), [0.01, 0.5, 1.0]).shape
        (3,)

    Raises as `poisson`. Semantics: ``jax.random.geometric``, with other values.
    """
    result_dtype = _counted("random.geometric", dtype)
    sizes, _, (chance,) = parameters("random.geometric", key, shape, FLOAT64, p=p)
    chance = run("stop_gradient", chance)
    sure = run("ge", chance, 1.0)
    slope = run("log1p", -run("where", sure, 0.5, chance))
    steps = run("ceil", run("log", inside_unit(key, sizes, FLOAT64)) / slope)
    return cast(run("where", sure, 1.0, run("maximum", steps, 1.0)), result_dtype)


# -- the methods ----------------------------------------------------------------------------------


def _binomial(key: Any, n: Tensor, p: Tensor, sizes: Shape) -> Tensor:
    """Binomial numbers, as float64."""
    n = run("floor", n)
    valid = run("logical_and", run("ge", n, 0.0), run("lt", n, math.inf))
    valid = run("logical_and", valid, run("logical_and", run("ge", p, 0.0), run("le", p, 1.0)))
    n, p = run("where", valid, n, 0.0), run("where", valid, p, 0.0)
    turned = run("gt", p, 0.5)  # count what is rarer
    p = run("where", turned, 1.0 - p, p)
    mean = n * p
    large = run("ge", mean, _MANY)
    first, second = split(key)
    # P(k) = P(k - 1) (n - k + 1) / k * odds, from P(0) = (1 - p)^n
    odds = p / (1.0 - p)
    trials = run("where", large, 0.0, n)
    start = run("exp", trials * run("log1p", -p))
    some = run("gt", trials * p, 0.0)
    low = _counted_up(first, start, lambda k, term: term * (trials - k + 1.0) / k * odds, some, sizes)
    many, chance = run("where", large, n, 4 * _MANY), run("where", large, p, 0.5)
    expected, other = many * chance, many * (1.0 - chance)

    def log_density(k: Tensor) -> Tensor:
        # up to a constant of k
        rest = stirling_rest(k) + stirling_rest(many - k)
        return -rest - deviance(k, expected) - deviance(many - k, other)

    peak = run("floor", (many + 1.0) * chance)
    top = log_density(peak)
    deviation = run("sqrt", expected * (1.0 - chance))
    high = _transformed(
        second, expected, deviation, lambda k: log_density(k) - top, large, sizes, (many, chance)
    )
    successes = run("where", large, high, low)
    return run("where", valid, run("where", turned, n - successes, successes), -1.0)


def _counted_up(
    key: Any, start: Tensor, following: Callable[[Tensor, Tensor], Tensor], waiting: Tensor, sizes: Shape
) -> Tensor:
    """The smallest k with u <= P(0) + ... + P(k): inversion by counting up from P(0) = `start`."""
    u = inside_unit(key, sizes, FLOAT64)

    def step(state: Any) -> Any:
        number, k, waiting, term, total = state
        number = number + 1
        term = following(cast(number, FLOAT64), term)
        k = run("where", waiting, k + 1.0, k)
        grown = total + term
        # the terms add up to 1 but for rounding: where they no longer count, no more is to come
        waiting = run("logical_and", waiting, run("gt", u, grown))
        return number, k, run("logical_and", waiting, run("gt", grown + term, total)), term, grown

    waiting = run("logical_and", waiting, run("gt", u, start))
    zeros = run("full", value=0.0, shape=sizes, dtype=FLOAT64)
    begin = constant_of(_ZERO), zeros, waiting, start, start
    smallest: Tensor = while_loop(lambda state: any_of(state[2]), step, begin)[1]
    return smallest


def _transformed(
    key: Any,
    mean: Tensor,
    deviation: Tensor,
    log_ratio: Callable[[Tensor], Tensor],
    waiting: Tensor,
    sizes: Shape,
    trials: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Transformed rejection with squeeze, of W. Hörmann: PTRS ("The transformed rejection method for
    generating Poisson random variables", 1993), or BTRS ("The generation of binomial random variates", 1993)
    where `trials` are (n, p). `log_ratio` is the logarithm of the density, for BTRS of its quotient with that
    of the mode.
    """
    if trials is None:
        b = 0.931 + 2.53 * deviation
        a = -0.059 + 0.02483 * b
        alpha = 1.1239 + 1.1328 / (b - 3.4)
        sure = 0.9277 - 3.6224 / (b - 2.0)
        shift = mean + 0.43
    else:
        count, chance = trials
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * chance
        alpha = (2.83 + 5.1 / b) * deviation
        sure = 0.92 - 4.2 / b
        shift = mean + 0.5

    def attempt(state: Any) -> Any:
        number, waiting, value = state
        for_u, for_v = split(fold_in(key, number))
        u = inside_unit(for_u, sizes, FLOAT64) - 0.5
        v = inside_unit(for_v, sizes, FLOAT64)
        us = 0.5 - run("abs", u)
        k = run("floor", (2.0 * a / us + b) * u + shift)
        inside = run("ge", k, 0.0)
        if trials is not None:
            inside = run("logical_and", inside, run("le", k, count))
        at = run("where", inside, k, 0.0)
        quick = run("logical_and", run("ge", us, 0.07), run("le", v, sure))
        # PTRS: log(v alpha' / (a / us^2 + b)) with 1 / alpha' = alpha; BTRS: log(v alpha / (a / us^2 + b))
        fits = run("le", run("log", v * alpha / (a / (us * us) + b)), log_ratio(at))
        fits = run("logical_and", inside, run("logical_or", quick, fits))
        value = run("where", run("logical_and", waiting, fits), k, value)
        return number + 1, run("logical_and", waiting, run("logical_not", fits)), value

    zeros = run("full", value=0.0, shape=sizes, dtype=FLOAT64)
    start = constant_of(_ZERO), waiting, zeros
    accepted: Tensor = while_loop(lambda state: any_of(state[1]), attempt, start)[2]
    return accepted


def _counted(name: str, dtype: Any) -> DType:
    result_dtype = as_dtype(dtype)
    if result_dtype.kind not in "iu" and not is_real_floating(result_dtype):
        raise DTypeError(f"{name}: expected an integer or floating dtype, got {result_dtype.name}")
    return result_dtype
