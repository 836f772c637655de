"""Sampled functions: differences, integrals, and phases without jumps."""

from __future__ import annotations

import math
import operator
from typing import Any

from ...base.errors import ShapeError
from ...ir.dtypes import BOOL, FLOAT64, is_inexact, is_real_floating
from ...ir.types import normalize_axes, normalize_axis
from ...tensors.tensor import Tensor
from .. import cumulative
from ..joining import concatenate
from ..manipulation import broadcast_to, ravel
from ..memory_order import as_in_memory
from ..operands import as_tensor, cast, filled, reshaped, run, sliced, write_out
from ..reducing import averaged
from ..reductions import sum


def gradient(x: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The derivative of the samples `x` along each axis: second-order differences inside, one-sided at ends.

    `varargs` are the distances of the samples: a number for all axes, or for each axis a number or the
    coordinates. A tuple of tensors where there are several axes. `edge_order` is 1 or 2.

    Example:
        >>> import tracejit as tj
        >>> tj.gradient([1.0, 2.0, 4.0, 7.0])
        tensor([1. , 1.5, 2.5, 3. ])

    Raises AxisError, and ShapeError for fewer than ``edge_order + 1`` samples. Semantics: ``numpy.gradient``.
    """
    x = averaged(x, None)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axes("gradient", axis, x.ndim)
    if axis is not None and not isinstance(axis, int):
        axes = tuple(normalize_axis("gradient", number, x.ndim) for number in axis)
    if edge_order not in (1, 2):
        raise ShapeError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1 and as_tensor(spacings[0]).ndim == 0:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise ShapeError(f"gradient: expected spacings for {len(axes)} axes, got {len(varargs)}")
    slopes = tuple(
        as_in_memory("gradient", _slope(x, place, spacing, edge_order), "K", x)
        for place, spacing in zip(axes, spacings, strict=True)
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(x: Tensor, axis: int, spacing: Any, edge_order: int) -> Tensor:
    extent = x.shape[axis]
    if extent < edge_order + 1:
        raise ShapeError(f"gradient: axis {axis} of size {extent} needs at least {edge_order + 1} samples")

    def part(start: int, size: int) -> Tensor:
        return sliced(x, axis, start, size)

    width = as_tensor(spacing)
    uniform = width.ndim == 0
    if uniform:
        step: Any = spacing if not isinstance(spacing, Tensor) else width
        inner = run("div", run("sub", part(2, extent - 2), part(0, extent - 2)), step * 2.0)
        steps = [step] * 4
    else:
        if width.shape != (extent,):
            raise ShapeError(f"gradient: coordinates must have shape ({extent},), got {width.shape}")
        gaps = diff(width if is_inexact(width.dtype) else cast(width, FLOAT64))
        shape = [1] * x.ndim
        shape[axis] = extent - 2
        before = reshaped(sliced(gaps, 0, 0, extent - 2), tuple(shape))
        behind = reshaped(sliced(gaps, 0, 1, extent - 2), tuple(shape))
        both = run("add", before, behind)
        a = run("div", run("neg", behind), run("mul", before, both))
        b = run("div", run("sub", behind, before), run("mul", before, behind))
        c = run("div", before, run("mul", behind, both))
        inner = _weighted([a, b, c], [part(0, extent - 2), part(1, extent - 2), part(2, extent - 2)])
        last = extent - 2
        steps = [reshaped(sliced(gaps, 0, at, 1), ()) for at in (0, min(1, last), max(last - 1, 0), last)]
    if edge_order == 1:
        head = run("div", run("sub", part(1, 1), part(0, 1)), steps[0])
        tail = run("div", run("sub", part(extent - 1, 1), part(extent - 2, 1)), steps[3])
    else:
        front = [part(at, 1) for at in (0, 1, 2)]
        back = [part(extent - at, 1) for at in (3, 2, 1)]
        if uniform:
            head = _weighted([factor / step for factor in (-1.5, 2.0, -0.5)], front)
            tail = _weighted([factor / step for factor in (0.5, -2.0, 1.5)], back)
        else:
            head = _weighted([run("neg", weight) for weight in _edge_weights(steps[0], steps[1])], front)
            tail = _weighted(_edge_weights(steps[3], steps[2])[::-1], back)
    return concatenate([head, inner, tail], axis)


def _edge_weights(near: Tensor, far: Tensor) -> list[Tensor]:
    """The weights of three samples in the derivative at the first of them, which the others are before: the
    second by `near`, the third by `far` more."""
    both = run("add", near, far)
    return [
        run("div", run("add", run("mul", near, 2.0), far), run("mul", near, both)),
        run("div", run("neg", both), run("mul", near, far)),
        run("div", near, run("mul", far, both)),
    ]


def _weighted(weights: list[Any], samples: list[Tensor]) -> Tensor:
    total = run("mul", weights[0], samples[0])
    for weight, sample in zip(weights[1:], samples[1:], strict=True):
        total = run("add", total, run("mul", weight, sample))
    return total


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Tensor:
    """The integral of the samples `y` along `axis` by the trapezoidal rule, at `x`, or `dx` apart.

    Example:
        >>> import tracejit as tj
        >>> tj.trapezoid([1.0, 2.0, 3.0], x=[4.0, 6.0, 8.0])
        tensor(8.)

    Raises AxisError. Semantics: ``numpy.trapezoid``.
    """
    y = as_tensor(y)
    place = normalize_axis("trapezoid", axis, y.ndim)
    if x is None:
        width: Any = dx
    else:
        width = as_tensor(x)
        if width.ndim == 1:
            shape = [1] * y.ndim
            shape[place] = width.shape[0] - 1
            width = reshaped(diff(width), tuple(shape))
        else:
            width = diff(width, axis=place)
    count = max(y.shape[place] - 1, 0)
    high, low = sliced(y, place, min(1, y.shape[place]), count), sliced(y, place, 0, count)
    return sum(run("div", run("mul", width, run("add", high, low)), 2.0), place)


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi) -> Tensor:
    """`p` with multiples of `period` added along `axis`, so that neighbours differ by half of it at most.

    Steps that are not larger than `discont` stay.

    Example:
        >>> import tracejit as tj
        >>> tj.unwrap([0.0, 1.0, 7.0, 2.0])
        tensor([0.        , 1.        , 0.71681469, 2.        ])

    Raises AxisError. Semantics: ``numpy.unwrap``.
    """
    p = as_tensor(p)
    place = normalize_axis("unwrap", axis, p.ndim)
    steps = diff(p, axis=place)
    if discont is None:
        discont = period / 2
    whole = not is_real_floating(p.dtype) and isinstance(period, int)
    if whole:
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        p, steps = averaged(p, None), averaged(steps, None)
        high, ambiguous = period / 2, True
    low = -high
    wrapped = run("add", run("remainder", run("sub", steps, low), period), low)
    if ambiguous:
        at_end = run("logical_and", run("eq", wrapped, low), run("gt", steps, 0))
        wrapped = run("where", at_end, high, wrapped)
    correction = run("sub", wrapped, steps)
    correction = run("where", run("lt", run("abs", steps), discont), 0, correction)
    first = sliced(p, place, 0, min(1, p.shape[place]))
    others = sliced(p, place, min(1, p.shape[place]), max(p.shape[place] - 1, 0))
    moved = run("add", others, cumulative.cumsum(correction, place))
    return concatenate([cast(first, moved.dtype), moved], place)


def ediff1d(x: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours in the raveled `x`, between `to_begin` and `to_end`.

    Example:
        >>> import tracejit as tj
        >>> tj.ediff1d([1, 2, 4, 7], to_end=99)
        tensor([ 1,  2,  3, 99])

    Raises DTypeError. Semantics: ``numpy.ediff1d``.
    """
    line = ravel(as_tensor(x))
    steps = run(
        "sub",
        sliced(line, 0, min(1, line.size), max(line.size - 1, 0)),
        sliced(line, 0, 0, max(line.size - 1, 0)),
    )
    parts = [None if end is None else cast(ravel(as_tensor(end)), line.dtype) for end in (to_begin, to_end)]
    return concatenate([part for part in (parts[0], steps, parts[1]) if part is not None])


def _cumulative(name: str, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Tensor:
    x = as_tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise ShapeError(f"cumulative_{name}: axis is needed for an array of rank {x.ndim}")
        axis = 0
    place = normalize_axis(f"cumulative_{name}", axis, x.ndim)
    result: Tensor = getattr(cumulative, f"cum{name}")(x, place, dtype)
    if not include_initial:
        return result
    shape = (*result.shape[:place], 1, *result.shape[place + 1 :])
    return concatenate([filled(0 if name == "sum" else 1, shape, result.dtype), result], place)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Tensor:
    """Running sums along `axis`, behind a 0 with `include_initial`.

    Example:
        >>> import tracejit as tj
        >>> tj.cumulative_sum([1, 2, 3], include_initial=True)
        tensor([0, 1, 3, 6])

    Raises AxisError. Semantics: ``numpy.cumulative_sum``, the Array API.
    """
    result = _cumulative("sum", x, axis, dtype, include_initial)
    return result if out is None else write_out("cumulative_sum", out, result)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Tensor:
    """Running products along `axis`, behind a 1 with `include_initial`.

    Example:
        >>> import tracejit as tj
        >>> tj.cumulative_prod([1, 2, 3], include_initial=True)
        tensor([1, 1, 2, 6])

    Raises AxisError. Semantics: ``numpy.cumulative_prod``, the Array API.
    """
    result = _cumulative("prod", x, axis, dtype, include_initial)
    return result if out is None else write_out("cumulative_prod", out, result)


def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The `n`-th differences of neighbours along `axis`; of bools, whether they differ.

    `prepend` and `append` (numbers or arrays) extend `x` first.

    Example:
        >>> import tracejit as tj
        >>> tj.diff([1, 4, 9, 16])
        tensor([3, 5, 7])

    Raises AxisError, and ShapeError for negative `n`. Semantics: ``numpy.diff``.
    """
    result = as_tensor(x)
    order = operator.index(n)
    if order < 0:
        raise ShapeError(f"diff: n must not be negative, got {n}")
    if order == 0:
        return result
    place = normalize_axis("diff", axis, result.ndim)
    parts = [_extension(result, value, place) for value in (prepend, append)]
    whole = [tensor for tensor in (parts[0], result, parts[1]) if tensor is not None]
    if len(whole) > 1:
        result = concatenate(whole, place)
    for _ in range(min(order, result.shape[place])):  # then there is nothing left
        count = max(result.shape[place] - 1, 0)
        low, high = sliced(result, place, 0, count), sliced(result, place, min(1, result.shape[place]), count)
        result = run("ne" if result.dtype is BOOL else "sub", high, low)
    return result


def _extension(x: Tensor, value: Any, axis: int) -> Tensor | None:
    if value is None:
        return None
    extension = as_tensor(value)
    if extension.ndim == 0:
        return broadcast_to(extension, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    return extension
