"""Running folds along an axis: sums, products, maxima and minima of all elements up to each.

``y[k] = x[0] + ... + x[k]``, from the end if `reverse`. As everywhere in the IR, dtype rules (sums of small
integers in int64) belong to the functions users call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import INT64
from ..registry import Attrs, Kind, Op, Reduction
from ..transforms.batching import batch_axes
from ..types import TensorType, normalize_axis
from .define import define, in_float32
from .reductions import MAX, MIN, PROD, SUM


def _running(name: str, ufunc: np.ufunc, of: Op, doc: str, rule: Callable[..., Any]) -> Op:
    """Define the cumulative op of the reduction `of`, which NumPy has as `ufunc`."""

    assert isinstance(of.reduction, Reduction)

    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        normalize_axis(name, attrs["axis"], types[0].ndim)
        return (types[0],)

    def evaluate(x: Any, axis: int, reverse: bool) -> Any:
        if reverse:
            return np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype)

    if not of.reduction.idempotent:
        evaluate = in_float32(evaluate)
    identity, combine, idempotent = of.reduction.identity, of.reduction.combine, of.reduction.idempotent
    if of is SUM:  # a sum begins with 0, a running one with its first element, which may be -0.0
        identity = lambda dtype: -0.0 if dtype[0] == "f" else 0  # noqa: E731
    return define(
        name, Kind.CUMULATIVE, "x", doc=f"{doc} along `axis`, from the end if `reverse`",
        attrs={"axis": (int,), "reverse": (bool,)}, infer=infer, eval=evaluate, vjp={"x": rule},
        reduction=Reduction(identity, combine, idempotent), batch=batch_axes,
    )  # fmt: skip


CUMSUM = _running(
    "cumsum", np.add, SUM, "running sums",
    lambda b, ct, axis, reverse: b.cumsum(ct, axis=axis, reverse=not reverse),
)  # fmt: skip


# -- products -------------------------------------------------------------------------------------


def _part(b: Any, x: Any, axis: int, start: int, size: int, step: int = 1) -> Any:
    """`size` elements along `axis` from `start`, `step` apart."""
    starts, sizes, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[axis], sizes[axis], steps[axis] = start if size else 0, size, step
    return b.slice(x, start=tuple(starts), size=tuple(sizes), step=tuple(steps))


def _turned(b: Any, x: Any, axis: int) -> Any:
    return _part(b, x, axis, x.shape[axis] - 1, x.shape[axis], -1)


def _line(b: Any, value: float, like: Any, axis: int) -> Any:
    """An array with one element along `axis`, and `value` everywhere."""
    shape = tuple(1 if place == axis else size for place, size in enumerate(like.shape))
    return b.full(value=value, shape=shape, dtype=like.dtype)


def _alternating(b: Any, even: Any, odd: Any, axis: int) -> Any:
    """The elements of both along `axis` in turns."""
    shape = even.shape
    pairs = [b.reshape(half, shape=(*shape[: axis + 1], 1, *shape[axis + 1 :])) for half in (even, odd)]
    joined = b.concat(*pairs, axis=axis + 1)
    return b.reshape(joined, shape=(*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))


def _recurrence(b: Any, m: Any, c: Any, axis: int) -> Any:
    """``s[k] = c[k] + m[k] s[k+1]`` along `axis`, with 0 behind the last: by pairs, in twice the work.

        s[2j] = (c[2j] + m[2j] c[2j+1]) + (m[2j] m[2j+1]) s[2j+2]

    (Blelloch 1990, Prefix sums and their applications, section 1.4.)
    """
    count = c.shape[axis]
    if count == 1:
        return c
    pairs, single = count // 2, count % 2
    m_even, c_even = (_part(b, operand, axis, 0, pairs, 2) for operand in (m, c))
    m_odd, c_odd = (_part(b, operand, axis, 1, pairs, 2) for operand in (m, c))
    m_pair, c_pair = b.mul(m_even, m_odd), b.add(c_even, b.mul(m_even, c_odd))
    if single:
        m_pair, c_pair = (
            b.concat(pair, _part(b, operand, axis, count - 1, 1), axis=axis)
            for pair, operand in ((m_pair, m), (c_pair, c))
        )
    even = _recurrence(b, m_pair, c_pair, axis)
    if single:
        following = _part(b, even, axis, 1, pairs)
    elif pairs == 1:
        following = _line(b, 0.0, c, axis)
    else:
        following = b.concat(_part(b, even, axis, 1, pairs - 1), _line(b, 0.0, c, axis), axis=axis)
    odd = b.add(c_odd, b.mul(m_odd, following))
    joined = _alternating(b, _part(b, even, axis, 0, pairs), odd, axis)
    return b.concat(joined, _part(b, even, axis, pairs, 1), axis=axis) if single else joined


def _cumprod_rule(b: Any, ct: Any, x: Any, out: Any, axis: int, reverse: bool) -> Any:
    """The cotangent of a cumulative product without quotients, so that it is right at zeros, to any order.

    What comes in front of x[k] is y[k-1], and what it is multiplied by later, with the cotangents of that,

        s[k] = ct[k] + x[k+1] s[k+1]
    """
    count = x.shape[axis]
    if math.prod(x.shape) == 0:
        return ct
    if count == 1:
        return ct
    if reverse:
        x, out, ct = (_turned(b, array, axis) for array in (x, out, ct))
    ones = _line(b, 1.0, x, axis)
    following = b.concat(_part(b, x, axis, 1, count - 1), ones, axis=axis)
    before = b.concat(ones, _part(b, out, axis, 0, count - 1), axis=axis)
    gradient = b.mul(before, _recurrence(b, following, ct, axis))
    return _turned(b, gradient, axis) if reverse else gradient


CUMPROD = _running("cumprod", np.multiply, PROD, "running products", _cumprod_rule)


# -- maxima and minima ----------------------------------------------------------------------------


def _extremum_rule(b: Any, ct: Any, x: Any, out: Any, axis: int, reverse: bool) -> Any:
    """The element that an extremum is, of equal ones the last so far as in PyTorch, gets its cotangent; a NaN
    all that follow up to the next one."""
    shape, size = x.shape, math.prod(x.shape)
    if size == 0:
        return ct
    own = b.logical_or(b.eq(x, out), b.ne(x, x))
    number = b.iota(shape=shape, axis=axis, dtype=INT64)
    if reverse:
        holder = b.cummin(b.where(own, number, shape[axis]), axis=axis, reverse=True)
    else:
        holder = b.cummax(b.where(own, number, -1), axis=axis, reverse=False)
    inner = math.prod(shape[axis + 1 :])
    sizes = (math.prod(shape[:axis]), shape[axis], inner)
    line = b.mul(b.iota(shape=sizes, axis=0, dtype=INT64), shape[axis] * inner)
    place = b.add(b.mul(b.reshape(holder, shape=sizes), inner), b.iota(shape=sizes, axis=2, dtype=INT64))
    flat = b.reshape(b.add(line, place), shape=(size,))
    zeros = b.full(value=0.0, shape=(size,), dtype=ct.dtype)
    return b.reshape(b.scatter(zeros, b.reshape(ct, shape=(size,)), flat, mode="add"), shape=shape)


CUMMAX = _running("cummax", np.maximum, MAX, "the largest so far, NaN from the first NaN on,", _extremum_rule)
CUMMIN = _running(
    "cummin", np.minimum, MIN, "the smallest so far, NaN from the first NaN on,", _extremum_rule
)
