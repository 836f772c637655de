"""Reductions over `axes`.

The IR removes the reduced axes; ``keepdims`` and dtype rules (sums of small integers in int64) belong to
the functions users call. A maximum or minimum shared by several elements shares its cotangent equally.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ..dtypes import BOOL, FLOAT16, FLOAT32, FLOAT64, accumulated_in, is_inexact
from ..registry import NONDIFF, Attrs, Builtin, Kind, Nondiff, Op, Reduction
from ..types import TensorType, normalize_axes, remove_axes
from .define import define, in_float32

_AXES = {"axes": (tuple,)}


def _reduced(name: str, operand: TensorType, attrs: Attrs, *, needs_elements: bool) -> TensorType:
    axes = attrs["axes"]
    if normalize_axes(name, axes, operand.ndim) != axes:
        raise ShapeError(f"{name}: axes must be sorted and non-negative, got {axes}")
    if needs_elements and any(operand.shape[axis] == 0 for axis in axes):
        raise ShapeError(
            f"{name}: no identity, so the reduced axes {axes} of {operand.shape} may not be empty"
        )
    return operand.with_shape(remove_axes(operand.shape, axes))


def _reduction(
    name: str,
    ufunc: np.ufunc,
    doc: str,
    vjp: dict[str, Callable[..., Any]] | Nondiff,
    fold: Reduction,
    *,
    needs_elements: bool = False,
    typed: bool = False,
    only: Callable[[np.dtype[Any]], bool] = lambda dtype: True,
) -> Op:
    def infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        if not only(types[0].dtype):
            raise DTypeError(f"{name}: no meaning for {types[0]}")
        return (_reduced(name, types[0], attrs, needs_elements=needs_elements),)

    def evaluate(x: Any, axes: tuple[int, ...]) -> Any:
        if typed and x.dtype is FLOAT16:
            return ufunc.reduce(x, axis=axes, dtype=FLOAT32).astype(FLOAT16)
        return ufunc.reduce(x, axis=axes, dtype=x.dtype if typed else None)

    return define(
        name, Kind.REDUCTION, "x", infer=infer, eval=evaluate, vjp=vjp, doc=doc, attrs=_AXES,
        reduction=fold, builtin=_reducing(name, ufunc.reduce, second="terms" if typed else "axis"),
    )  # fmt: skip


def _reducing(name: str, function: Callable[..., Any], second: str = "axis") -> Builtin:
    """`function` with the arguments of ``numpy.ufunc.reduce``."""

    @functools.lru_cache(maxsize=4096)
    def attrs(shape: tuple[int, ...], axis: Any, *options: Any) -> Attrs:
        return {"axes": normalize_axes(name, axis, len(shape))}

    return Builtin(function, ("axis", "dtype", "out", "keepdims"), attrs, second)


@functools.lru_cache(maxsize=4096)
def _kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return remove_axes(shape, axes, keepdims=True)


def spread(b: Any, reduced: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The inverse of removing `axes`: `reduced` repeated along them, to `shape`."""
    kept = _kept_shape(shape, axes)
    if kept != reduced.shape:
        reduced = b.reshape(reduced, shape=kept)
    return reduced if kept == shape else b.broadcast(reduced, shape=shape)


SUM = _reduction(
    "sum", np.add, "the sum, in the operand's dtype",
    {"x": lambda b, ct, x_type, axes: spread(b, ct, x_type.shape, axes)},
    Reduction(
        lambda dtype: 0,
        lambda b, acc, x: b.or_(acc, x) if x.dtype == "bool" else b.add(acc, x),
        additive=True,
    ),
    typed=True,
)  # fmt: skip


def _prod_rule(b: Any, ct: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """The product of the others, by a balanced tree of products: right at zeros, to any order.

    Up: level k+1 multiplies neighbours of level k. Down: a child's cotangent is its parent's times its
    sibling. Every step is an op, so the rule differentiates again.
    """
    shape = x.shape
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    order = kept + axes
    rows = math.prod(shape[axis] for axis in kept)
    count = math.prod(shape[axis] for axis in axes)
    padded = 1 << max(count - 1, 0).bit_length()
    level = b.reshape(b.transpose(x, perm=order), shape=(rows, count))
    if padded > count:
        ones = b.full(value=1.0, shape=(rows, padded - count), dtype=x.dtype)
        level = b.concat(level, ones, axis=1)
    halves = []
    while level.shape[1] > 1:
        half = level.shape[1] // 2
        left = b.slice(level, start=(0, 0), size=(rows, half), step=(1, 1))
        right = b.slice(level, start=(0, half), size=(rows, half), step=(1, 1))
        halves.append((left, right))
        level = b.mul(left, right)
    down = b.reshape(ct, shape=(rows, 1))
    for left, right in reversed(halves):
        down = b.concat(b.mul(down, right), b.mul(down, left), axis=1)
    down = b.slice(down, start=(0, 0), size=(rows, count), step=(1, 1))
    inverse = tuple(int(i) for i in np.argsort(order))
    return b.transpose(b.reshape(down, shape=tuple(shape[axis] for axis in order)), perm=inverse)


PROD = _reduction(
    "prod", np.multiply, "the product, in the operand's dtype", {"x": _prod_rule},
    Reduction(lambda dtype: 1, lambda b, acc, x: b.mul(acc, x)),
    typed=True,
)  # fmt: skip


def _extremum_rule(b: Any, ct: Any, x: Any, out: Any, axes: tuple[int, ...]) -> Any:
    winners = b.cast(b.eq(x, spread(b, out, x.shape, axes)), dtype=x.dtype)
    share = b.div(ct, b.sum(winners, axes=axes))
    return b.mul(spread(b, share, x.shape, axes), winners)


def lowest(dtype: str) -> Any:
    """The identity of maxima of the dtype of that name."""
    return _limit(dtype, -math.inf)


def highest(dtype: str) -> Any:
    """The identity of minima of the dtype of that name."""
    return _limit(dtype, math.inf)


def _limit(dtype: str, infinity: float) -> Any:
    if dtype == "bool":
        return infinity > 0
    if dtype[0] == "f":
        return infinity
    limits = np.iinfo(f"{'int' if dtype[0] == 'i' else 'uint'}{dtype[1:]}")
    return int(limits.max if infinity > 0 else limits.min)


MAX = _reduction(
    "max", np.maximum, "the largest; NaN if any is NaN", {"x": _extremum_rule},
    Reduction(lowest, lambda b, acc, x: b.fold_maximum(acc, x), idempotent=True), needs_elements=True,
)  # fmt: skip
MIN = _reduction(
    "min", np.minimum, "the smallest; NaN if any is NaN", {"x": _extremum_rule},
    Reduction(highest, lambda b, acc, x: b.fold_minimum(acc, x), idempotent=True), needs_elements=True,
)  # fmt: skip
NANMAX = define(
    "nanmax", Kind.REDUCTION, "x", doc="the largest number, as if NaN were -infinity", attrs=_AXES,
    infer=lambda types, attrs: (_numbers("nanmax", types[0], attrs),),
    eval=lambda x, axes: np.fmax.reduce(x, axis=axes, initial=-math.inf), vjp=NONDIFF,
    # the total is never NaN, and `max` gives its second operand where the first one is
    reduction=Reduction(lowest, lambda b, acc, x: b.max(x, acc), idempotent=True),
)  # fmt: skip
ALL = _reduction(
    "all", np.logical_and, "whether all are true", NONDIFF,
    Reduction(lambda dtype: True, lambda b, acc, x: b.and_(acc, x), idempotent=True),
    only=lambda dtype: dtype is BOOL,
)  # fmt: skip
ANY = _reduction(
    "any", np.logical_or, "whether any is true", NONDIFF,
    Reduction(lambda dtype: False, lambda b, acc, x: b.or_(acc, x), idempotent=True),
    only=lambda dtype: dtype is BOOL,
)  # fmt: skip


def _numbers(name: str, operand: TensorType, attrs: Attrs) -> TensorType:
    if operand.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"{name}: no meaning for {operand}")
    return _reduced(name, operand, attrs, needs_elements=False)


def _mean_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    if not is_inexact(types[0].dtype):
        raise DTypeError(f"mean: expected a floating operand, got {types[0]}")
    return (_reduced("mean", types[0], attrs, needs_elements=False),)


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[axis] for axis in axes)


def _mean_rule(b: Any, ct: Any, x_type: TensorType, axes: tuple[int, ...]) -> Any:
    count = _count(x_type.shape, axes)
    return spread(b, b.div(ct, float(count)), x_type.shape, axes)


def _mean_by_sum(b: Any, x: Any, axes: tuple[int, ...]) -> Any:
    wide = accumulated_in(x.dtype)  # the sum may be beyond what float16 holds, where the mean is not
    if wide is not x.dtype:
        return b.cast(_mean_by_sum(b, b.cast(x, dtype=wide), axes), dtype=x.dtype)
    return b.div(b.sum(x, axes=axes), float(_count(x.shape, axes)))


@in_float32
def _mean_eval(x: Any, axes: tuple[int, ...]) -> Any:
    return np.true_divide(np.add.reduce(x, axis=axes), x.dtype.type(_count(x.shape, axes)))


_sum: Callable[..., Any] = np.add.reduce


def _means(x: Any, axis: Any, dtype: None, out: None, keepdims: bool) -> Any:
    """The mean of floats and complex numbers, None of float16, other numbers and of nothing."""
    kind = x.dtype.type
    if not issubclass(kind, np.inexact) or x.size == 0 or kind is np.float16:
        return None
    total = _sum(x, axis, None, None, keepdims)
    return total / kind(x.size // total.size)


MEAN = define(
    "mean", Kind.COMPOSITE, "x", doc="the arithmetic mean; NaN of nothing", attrs=_AXES,
    infer=_mean_infer, eval=_mean_eval, vjp={"x": _mean_rule}, decompose=_mean_by_sum,
    builtin=_reducing("mean", _means),
)  # fmt: skip
