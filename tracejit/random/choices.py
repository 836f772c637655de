"""Drawing from given items."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..array.cumulative import cumsum
from ..array.indexing.taking import take
from ..array.operands import as_tensor, constant_of, floating, reshaped, run
from ..array.ranges import arange
from ..base.errors import DomainError, ShapeError
from ..control.loops import fori_loop
from ..ir.dtypes import BY_NAME
from ..ir.types import as_shape, normalize_axis
from ..tensors.tensor import Tensor
from .discrete import permutation, randint
from .distributions import gumbel, uniform
from .keys import as_key

_INT64: Final = BY_NAME["i64"]


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> Tensor:
    """Slices of `a` along `axis`, or integers below `a`, in a block of the given shape.

    With `p`, each is drawn with its probability (`p` is divided by its sum): with replacement by bisection
    of the cumulated probabilities, without by the largest of log p plus Gumbel noise (Vieira, 2014), for
    which compiled code calls NumPy to sort.

    Example:
        >>> import tracejit as tj
        >>> tj.random.choice(tj.random.key(0), 5, (3,), p=[0.0, 0.0, 0.0, 0.5, 0.5]).shape
        (3,)

    Raises DomainError where there is nothing to choose from, or without replacement too little; ShapeError
    where `p` does not have an entry per item; AxisError for an axis that is not there. Semantics:
    ``jax.random.choice``, with other values.
    """
    name = "random.choice"
    as_key(name, key)
    sizes = as_shape(name, shape)
    draws = math.prod(sizes)
    integers = type(a) is int or isinstance(a, np.integer)
    items = None if integers else as_tensor(a)
    if items is not None and items.ndim == 0:
        raise ShapeError(f"{name}: expected a Python integer or an array of items, got {items.type}")
    place = 0 if items is None else normalize_axis(name, axis, items.ndim)
    count = int(a) if items is None else items.shape[place]
    if draws and count < 1:
        raise DomainError(f"{name}: there is nothing to choose from, got {count} items")
    if not replace and draws > count:
        raise DomainError(f"{name}: cannot take {draws} of {count} items without replacement")
    weights = None if p is None else floating(p)
    if weights is not None and weights.shape != (count,):
        raise ShapeError(f"{name}: expected p of shape {(count,)}, one per item, got shape {weights.shape}")
    if not draws:
        chosen = arange(0)
    elif replace and weights is not None:
        chosen = _weighted(key, weights, draws)
    elif replace:
        chosen = randint(key, draws, 0, count)
    elif weights is None:
        chosen = permutation(key, count)[:draws]
    else:
        some = run("gt", weights, 0.0)
        logs = run("where", some, run("log", run("where", some, weights, 1.0)), -math.inf)
        chosen = run("argsort", -(logs + gumbel(key, weights.shape, weights.dtype)))[:draws]
    if items is None:
        return reshaped(chosen, sizes)
    slices = take(items, chosen, axis=place)
    return reshaped(slices, (*slices.shape[:place], *sizes, *slices.shape[place + 1 :]))


def _weighted(key: Any, weights: Tensor, count: int) -> Tensor:
    """Positions by their weights: where a uniform number falls among the cumulated ones, by bisection."""
    total = cumsum(weights)
    place = uniform(key, count, weights.dtype) * total[-1]
    size = weights.shape[0]
    zeros = constant_of(np.zeros(count, _INT64))

    def halve(_: Any, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        low, high = state  # total[low - 1] <= place < total[high]
        middle = run("shift_right", low + high, 1)
        right = run("le", take(total, middle), place)
        return run("where", right, middle + 1, low), run("where", right, high, middle)

    last = zeros + (size - 1)
    # the product with the sum may round up to it
    return run("minimum", fori_loop(0, size.bit_length(), halve, (zeros, last))[0], last)
