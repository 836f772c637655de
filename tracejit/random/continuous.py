"""Further continuous distributions: transforms of uniform and normal numbers, differentiable throughout."""

from __future__ import annotations

import math
from typing import Any

from ..array.operands import run
from ..array.reductions import sum as sum_of
from ..base.errors import ShapeError
from ..ir.types import as_shape
from ..tensors.tensor import Tensor
from .distributions import (
    drawn_in_float32,
    exponential,
    inside_unit,
    normal,
    parameter,
    parameters,
    request,
)
from .gammas import gamma
from .keys import bits, split


@drawn_in_float32
def logistic(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the standard logistic distribution: log(u / (1 - u)), with u strictly inside (0, 1).

    Example:
        >>> import tracejit as tj
        >>> tj.random.logistic(tj.random.key(0), (3,)).shape
        (3,)

    Raises DTypeError unless `dtype` is floating. Semantics: ``jax.random.logistic``.
    """
    sizes, floating = request("random.logistic", key, shape, dtype)
    u = inside_unit(key, sizes, floating)
    return run("log", u) - run("log1p", -u)


@drawn_in_float32
def cauchy(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the standard Cauchy distribution: tan(pi (u - 1/2)).

    Example:
        >>> import tracejit as tj
        >>> tj.random.cauchy(tj.random.key(0), (3,)).shape
        (3,)

    Raises DTypeError unless `dtype` is floating. Semantics: ``jax.random.cauchy``.
    """
    sizes, floating = request("random.cauchy", key, shape, dtype)
    return run("tan", (inside_unit(key, sizes, floating) - 0.5) * math.pi)


@drawn_in_float32
def lognormal(key: Any, sigma: Any = 1.0, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers whose logarithm is normal, with mean 0 and standard deviation `sigma`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.lognormal(tj.random.key(0), [0.5, 2.0]).shape
        (2,)

    `shape` is that of `sigma` unless given. Raises DTypeError unless `dtype` is floating, ShapeError where
    `sigma` does not broadcast to `shape`. Semantics: ``jax.random.lognormal``, with other
    values.
    """
    sizes, floating, (deviation,) = parameters("random.lognormal", key, shape, dtype, sigma=sigma)
    return run("exp", normal(key, sizes, floating) * deviation)


@drawn_in_float32
def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the Weibull distribution: scale e^(1/concentration), with e exponential.

    Example:
        >>> import tracejit as tj
        >>> tj.random.weibull_min(tj.random.key(0), 2.0, 1.5, (3,)).shape
        (3,)

    `shape` is what the parameters broadcast to unless given. Raises as `lognormal`. Semantics:
    ``jax.random.weibull_min``.
    """
    sizes, floating, (size, power) = parameters(
        "random.weibull_min", key, shape, dtype, scale=scale, concentration=concentration
    )
    return size * run("pow", exponential(key, sizes, floating), 1.0 / power)


@drawn_in_float32
def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the Pareto distribution above 1 with exponent `b`: exp(e / b), with e exponential.

    Example:
        >>> import tracejit as tj
        >>> tj.random.pareto(tj.random.key(0), 3.0, (3,)).shape
        (3,)

    `shape` is that of `b` unless given. Raises as `lognormal`. Semantics: ``jax.random.pareto``.
    """
    sizes, floating, (exponent,) = parameters("random.pareto", key, shape, dtype, b=b)
    return run("exp", exponential(key, sizes, floating) / exponent)


@drawn_in_float32
def rayleigh(key: Any, scale: Any = 1.0, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the Rayleigh distribution: scale sqrt(2 e), with e exponential.

    Example:
        >>> import tracejit as tj
        >>> tj.random.rayleigh(tj.random.key(0), 2.0, (3,)).shape
        (3,)

    `shape` is that of `scale` unless given. Raises as `lognormal`. Semantics: ``jax.random.rayleigh``,
    with other values.
    """
    sizes, floating, (size,) = parameters("random.rayleigh", key, shape, dtype, scale=scale)
    return size * run("sqrt", 2.0 * exponential(key, sizes, floating))


@drawn_in_float32
def maxwell(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the Maxwell distribution: the length of a vector of three normal numbers.

    Example:
        >>> import tracejit as tj
        >>> tj.random.maxwell(tj.random.key(0), (3,)).shape
        (3,)

    Raises DTypeError unless `dtype` is floating. Semantics: ``jax.random.maxwell``, with other values.
    """
    sizes, floating = request("random.maxwell", key, shape, dtype)
    vectors = normal(key, (*sizes, 3), floating)
    return run("sqrt", sum_of(vectors * vectors, axis=-1))


@drawn_in_float32
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """``loc + scale * m``, where m is a Maxwell number with a random sign.

    Example:
        >>> import tracejit as tj
        >>> tj.random.double_sided_maxwell(tj.random.key(0), 1.0, 2.0, (3,)).shape
        (3,)

    `shape` is what the parameters broadcast to unless given. Raises as `lognormal`. Semantics:
    ``jax.random.double_sided_maxwell``, with other values.
    """
    name = "random.double_sided_maxwell"
    sizes, floating, (centre, size) = parameters(name, key, shape, dtype, loc=loc, scale=scale)
    first, second = split(key)
    negative = run("lt", bits(second, sizes), 1 << 63)
    size = run("where", negative, -size, size)
    return centre + size * maxwell(first, sizes, floating)


@drawn_in_float32
def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the triangular distribution from `left` over its peak at `mode` to `right`.

    By the inverse of the distribution function. Gradients flow to all three.

    Example:
        >>> import tracejit as tj
        >>> tj.random.triangular(tj.random.key(0), 0.0, 1.0, 4.0, (3,)).shape
        (3,)

    `shape` is what the parameters broadcast to unless given. Raises as `lognormal`. Semantics:
    ``jax.random.triangular``.
    """
    sizes, floating, (low, peak, high) = parameters(
        "random.triangular", key, shape, dtype, left=left, mode=mode, right=right
    )
    u = inside_unit(key, sizes, floating)
    width = high - low
    rising = run("lt", u, (peak - low) / width)
    # the operand of each root is positive where it is not chosen, too: its slope would be 0 / 0
    side = run("where", rising, u * (peak - low), (1.0 - u) * (high - peak))
    step = run("sqrt", width * side)
    return run("where", rising, low + step, high - step)


@drawn_in_float32
def wald(key: Any, mean: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers of the Wald (inverse Gaussian) distribution with the given mean and scale 1.

    The method is that of Michael, Schucany and Haas (1976).

    Example:
        >>> import tracejit as tj
        >>> tj.random.wald(tj.random.key(0), 2.0, (3,)).shape
        (3,)

    `shape` is that of `mean` unless given. Raises as `lognormal`. Semantics: ``jax.random.wald``, with other
    values.
    """
    sizes, floating, (mu,) = parameters("random.wald", key, shape, dtype, mean=mean)
    first, second = split(key)
    v = normal(first, sizes, floating)
    y = mu * v * v
    # the smaller root of the quadratic, x = mu (1 + y/2 - sqrt(y + y^2/4)), without cancellation
    x = mu / (1.0 + 0.5 * y + run("sqrt", y * (1.0 + 0.25 * y)))
    near = run("le", inside_unit(second, sizes, floating), mu / (mu + x))
    return run("where", near, x, mu * mu / x)


@drawn_in_float32
def generalized_normal(key: Any, p: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Numbers with a density proportional to exp(-|x|^p): gamma(1 / p)^(1 / p), with a random sign.

    Example:
        >>> import tracejit as tj
        >>> tj.random.generalized_normal(tj.random.key(0), 4.0, (3,)).shape
        (3,)

    `shape` is that of `p` unless given. Raises as `lognormal`. Semantics: ``jax.random.generalized_normal``,
    with other values.
    """
    sizes, floating, (power,) = parameters("random.generalized_normal", key, shape, dtype, p=p)
    first, second = split(key)
    size = run("pow", gamma(first, 1.0 / power, sizes, floating), 1.0 / power)
    return run("where", run("lt", bits(second, sizes), 1 << 63), -size, size)


@drawn_in_float32
def ball(key: Any, d: int, p: Any = 2.0, shape: Any = (), dtype: Any = None) -> Tensor:
    """Points inside the unit ball of the p-norm in `d` dimensions, along a last axis; all are equally likely.

    With x generalized normal and e exponential: x / (sum |x|^p + e)^(1/p) (Barthe et al., 2005).

    Example:
        >>> import tracejit as tj
        >>> tj.random.ball(tj.random.key(0), 3, shape=(5,)).shape
        (5, 3)

    Raises ShapeError unless `d` is a positive integer, DTypeError unless `dtype` is floating. Semantics:
    ``jax.random.ball``, with other values.
    """
    sizes, floating = request("random.ball", key, shape, dtype)
    axis = as_shape("random.ball", d, "d")
    if len(axis) != 1 or axis[0] < 1:
        raise ShapeError(f"random.ball: d must be a positive integer, got {d!r}")
    power = parameter("random.ball", "p", p, (), floating)
    first, second = split(key)
    x = generalized_normal(first, power, (*sizes, *axis), floating)
    total = sum_of(run("pow", run("abs", x), power), axis=-1) + exponential(second, sizes, floating)
    return x / run("pow", total, 1.0 / power)[..., None]
