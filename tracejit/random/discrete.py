"""Discrete distributions: truth values, integers, categories, permutations."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..array.indexing.taking import take
from ..array.manipulation import expand_dims
from ..array.operands import as_tensor, cast, constant_of, floating, run
from ..array.ranges import arange
from ..array.reductions import argmax
from ..base.errors import AxisError, DomainError, DTypeError, ShapeError
from ..ir.dtypes import INT64, DType, as_dtype
from ..ir.types import Shape, as_shape, normalize_axis
from ..tensors.tensor import Tensor
from .distributions import gumbel, parameter, uniform
from .keys import UINT64, as_key, bits

_WORD = 1 << 64


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Tensor:
    """Truth values that are true with probability `p`, in `shape` or else the shape of `p`.

    Example:
        >>> import tracejit as tj
        >>> tj.random.bernoulli(tj.random.key(0), 0.4, (3,))
        tensor([False,  True, False])

    Raises ShapeError where `p` does not broadcast to `shape`. Semantics: ``jax.random.bernoulli``.
    """
    as_key("random.bernoulli", key)
    chance = floating(p)
    sizes = chance.shape if shape is None else as_shape("random.bernoulli", shape)
    chance = parameter("random.bernoulli", "p", chance, sizes, chance.dtype)
    return run("lt", uniform(key, sizes, chance.dtype), chance)


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = INT64) -> Tensor:
    """Integers from `minval` up to but not including `maxval`, which broadcast to `shape`.

    An integer is the high word of 64 random bits times the size of the range. Its probability is off by less
    than one part in 2**64 / size: none that a sample could show.

    Example:
        >>> import tracejit as tj
        >>> tj.random.randint(tj.random.key(0), (5,), 0, 10)
        tensor([4, 2, 9, 5, 5])

    Raises DTypeError unless `dtype` is an integer type that holds the bounds, DomainError where Python
    integers leave no number to draw; tensors that leave none give `minval`. Semantics:
    ``jax.random.randint``, with other values.
    """
    as_key("random.randint", key)
    sizes, result_dtype = as_shape("random.randint", shape), as_dtype(dtype)
    if result_dtype.kind not in "iu":
        raise DTypeError(f"random.randint: expected an integer dtype, got {result_dtype.name}")
    low, high = (_bound(bound, result_dtype, excess) for bound, excess in ((minval, 0), (maxval, 1)))
    word = bits(key, sizes)
    if isinstance(low, int) and isinstance(high, int):
        if low >= high:
            raise DomainError(f"random.randint: expected minval < maxval, got {low} and {high}")
        chosen = word if high - low == _WORD else _high_product(word, _word(high - low))
        return cast(run("add", chosen, _word(low)), result_dtype)
    first = _spread("minval", low, sizes, result_dtype)
    start = cast(first, UINT64)
    if isinstance(high, int):  # it may be one more than the dtype holds
        if high == np.iinfo(result_dtype).min:
            raise DomainError(f"random.randint: no {result_dtype.name} is below maxval {high}")
        last = _spread("maxval", high - 1, sizes, result_dtype)
        some, end = run("le", first, last), run("add", cast(last, UINT64), 1)
    else:
        beyond = _spread("maxval", high, sizes, result_dtype)
        some, end = run("lt", first, beyond), cast(beyond, UINT64)
    size = run("where", some, run("sub", end, start), 1)
    chosen = run("where", run("eq", size, 0), word, _high_product(word, size))  # 0 stands for 2^64
    return cast(run("add", chosen, start), result_dtype)


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> Tensor:
    """Indices along `axis`, each drawn with a probability proportional to the exponential of its logit.

    `shape` ends with the shape of `logits` without `axis`, which it is by default. The method takes the
    largest of logit plus Gumbel noise (Gumbel, 1954).

    Example:
        >>> import tracejit as tj
        >>> tj.random.categorical(tj.random.key(0), [0.0, 1.0, 2.0], shape=(6,))
        tensor([2, 2, 2, 1, 1, 2])

    Raises AxisError for an axis that is not there, ShapeError for a `shape` that does not fit. Semantics:
    ``jax.random.categorical``.
    """
    as_key("random.categorical", key)
    weights = floating(logits)
    if weights.ndim == 0:
        raise AxisError("random.categorical: expected logits of at least one dimension, got shape ()")
    place = normalize_axis("random.categorical", axis, weights.ndim)
    batch = weights.shape[:place] + weights.shape[place + 1 :]
    sizes = batch if shape is None else as_shape("random.categorical", shape)
    extra = len(sizes) - len(batch)
    if extra < 0 or any(own not in (1, size) for own, size in zip(batch, sizes[extra:], strict=True)):
        raise ShapeError(
            f"random.categorical: shape {sizes} must end with {batch}, the shape of logits without the axis"
        )
    full: Shape = (*sizes[: extra + place], weights.shape[place], *sizes[extra + place :])
    noise = gumbel(key, full, weights.dtype)
    return argmax(run("add", noise, expand_dims(weights, tuple(range(extra)))), extra + place)


def permutation(key: Any, x: Any, axis: int = 0) -> Tensor:
    """`x` with its slices along `axis` in random order; for an integer, the numbers below it so.

    The order is that of 64 random bits per slice. Compiled code calls NumPy to sort them.

    Example:
        >>> import tracejit as tj
        >>> tj.random.permutation(tj.random.key(0), 5)
        tensor([1, 0, 4, 3, 2])

    Raises AxisError for an axis that is not there. Semantics: ``jax.random.permutation``, with other values.
    """
    as_key("random.permutation", key)
    if type(x) is int or isinstance(x, np.integer):
        count = as_shape("random.permutation", int(x))[0]
        return permutation(key, arange(count))
    items = as_tensor(x)
    place = normalize_axis("random.permutation", axis, items.ndim)
    order = run("argsort", bits(key, items.shape[place]))
    return take(items, order, axis=place)


def _bound(value: Any, dtype: DType, excess: int) -> Any:
    """A Python integer, checked to fit `dtype` (but for `excess` above it), or an integer tensor."""
    if isinstance(value, (Tensor, np.ndarray, list, tuple)):
        tensor = as_tensor(value)
        if tensor.dtype.kind not in "iu":
            raise DTypeError(
                f"random.randint: minval and maxval must be integer bounds, got dtype {tensor.dtype.name}"
            )
        return cast(tensor, dtype)
    try:
        number = operator.index(value)
    except TypeError as error:
        raise DTypeError(
            f"random.randint: minval and maxval must be integer bounds, got {value!r}"
        ) from error
    limits = np.iinfo(dtype)
    if not limits.min <= number <= int(limits.max) + excess:
        raise DTypeError(f"random.randint: the bound {number} does not fit {dtype.name}")
    return number


def _spread(what: str, value: Any, shape: Shape, dtype: DType) -> Tensor:
    if isinstance(value, int):
        value = constant_of(np.array(value, dtype))
    return parameter("random.randint", what, value, shape, dtype)


def _word(number: int) -> Tensor:
    """An integer modulo 2**64, as a uint64 tensor of rank 0."""
    return constant_of(np.array(number % _WORD, UINT64))


def _high_product(x: Tensor, y: Tensor) -> Tensor:
    """The upper 64 of the 128 bits of x y, from products of 32-bit halves (Knuth, TAOCP 2, 4.3.1)."""
    half = (1 << 32) - 1
    x_low, y_low = run("bitwise_and", x, half), run("bitwise_and", y, half)
    x_high, y_high = run("shift_right", x, 32), run("shift_right", y, 32)
    low = run("shift_right", run("mul", x_low, y_low), 32)
    middle = run("add", run("mul", x_high, y_low), low)
    other = run("add", run("mul", x_low, y_high), run("bitwise_and", middle, half))
    upper = run("add", run("mul", x_high, y_high), run("shift_right", middle, 32))
    return run("add", upper, run("shift_right", other, 32))
