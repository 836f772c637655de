"""What convolution and pooling share: their numbers per spatial axis, and windows as strided slices."""

from __future__ import annotations

import operator
from typing import Any

from ..array.operands import run
from ..eager.tensor import Tensor
from ..ir.errors import DomainError, ShapeError, TracejitError


def numbers(name: str, what: str, value: Any, count: int, least: int) -> tuple[int, ...]:
    """`value`, an int or one for each of `count` axes, as ints of at least `least`."""
    each = value if isinstance(value, (tuple, list)) else (value,)
    try:
        result = tuple(operator.index(number) for number in each)
    except TracejitError:
        raise  # a traced integer says itself what is wrong
    except TypeError as error:
        raise DomainError(f"{name}: {what} must be integers, got {value!r}") from error
    result = result * count if len(result) == 1 else result
    if len(result) != count or min(result) < least:
        raise DomainError(
            f"{name}: {what} must be an int or {count} ints, of at least {least}, got {value!r}"
        )
    return result


def batched(name: str, x: Tensor, count: int, layout: str) -> Tensor:
    """`x` with a batch axis of 1 where it has none. It must have channels and `count` spatial axes."""
    if x.ndim == count + 1:
        return run("reshape", x, shape=(1, *x.shape))
    if x.ndim != count + 2:
        raise ShapeError(
            f"{name}: expected x of shape {layout}, with or without the batch axis, got {x.shape}"
        )
    return x


def tap(x: Tensor, start: tuple[int, int], size: tuple[int, int], step: tuple[int, int]) -> Tensor:
    """`size` elements of the last two axes from `start`, `step` apart."""
    lead = x.ndim - 2
    if start == (0, 0) and step == (1, 1) and size == x.shape[lead:]:
        return x
    # the start of nothing must be inside all the same
    begin = start if size[0] and size[1] else (0, 0)
    return run("slice", x, start=(0,) * lead + begin, size=x.shape[:lead] + size, step=(1,) * lead + step)
