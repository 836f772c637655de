"""Linear interpolation of sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import DomainError, ShapeError
from ...ir.dtypes import is_complex
from ...tensors.tensor import Tensor
from ..indexing.access import getitem
from ..joining import concatenate
from ..operands import as_tensor, cast, promoted, require_real, reshaped, run, sliced
from ..reducing import averaged
from .reals import imag, real


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Tensor:
    """The value at `x` of the function that is `fp` at the ascending points `xp`, and linear between them.

    Before the first point it is `left` (``fp[0]``), behind the last one `right` (``fp[-1]``). With `period`,
    `xp` and `x` are angles, so to speak: taken modulo it, in any order. Gradients go to all arrays.

    Example:
        >>> import tracejit as tj
        >>> tj.interp([0.0, 1.5, 9.0], [1.0, 2.0, 3.0], [10.0, 20.0, 0.0])
        tensor([10., 15.,  0.])

    Raises ShapeError unless `xp` and `fp` are lines of one length. Semantics: ``numpy.interp``.
    """
    require_real("interp", x, xp)
    ends = [as_tensor(end) for end in (left, right) if end is not None]
    if any(is_complex(operand.dtype) for operand in (as_tensor(fp), *ends)):
        parts = []
        for part in (real, imag):
            first, last = [end if end is None else part(end) for end in (left, right)]
            parts.append(interp(x, xp, part(fp), first, last, period))
        return run("complex", *parts)
    at, points, values = promoted(*[averaged(operand, None) for operand in (x, xp, fp)])
    at, points, values = [cast(tensor, np.dtype("f8")) for tensor in (at, points, values)]
    if points.ndim != 1 or points.shape != values.shape:
        raise ShapeError(
            f"interp: xp and fp must be lines of one length, got {points.shape} and {values.shape}"
        )
    count = points.shape[0]
    if count == 0:
        raise ShapeError("interp: expected at least one point")
    if period is not None:
        at, points, values = _periodic(at, points, values, period)
        count = points.shape[0]
        left = right = None
    if count == 1:
        inside = run("add", run("mul", at, 0.0), values)
        inside = run("where", run("isnan", at), at, reshaped(inside, at.shape))
        first = last = points
    else:
        place = run("sub", run("searchsorted", points.detach(), at.detach(), side="right"), 1)
        place = run("clip", place, 0, count - 2)
        after = run("add", place, 1)
        x0, x1, y0, y1 = [getitem(line, index) for line, index in _pairs(points, values, place, after)]
        width = run("sub", x1, x0)
        flat = run("eq", width, 0.0)
        slope = run("div", run("sub", y1, y0), run("where", flat, 1.0, width))
        inside = run("add", run("mul", slope, run("sub", at, x0)), y0)
        # infinite slopes and values: from the other end, and equal values are that value, as in NumPy
        other = run("add", run("mul", slope, run("sub", at, x1)), y1)
        inside = run("where", run("isnan", inside), other, inside)
        same = run("logical_and", run("isnan", inside), run("eq", y0, y1))
        inside = run("where", run("logical_or", same, run("eq", at, x0)), y0, inside)
        inside = run("where", run("isnan", at), at, inside)
        first, last = sliced(points, 0, 0, 1), sliced(points, 0, count - 1, 1)
        inside = run("where", run("eq", at, reshaped(last, ())), getitem(values, count - 1), inside)
    low = getitem(values, 0) if left is None else as_tensor(left)
    high = getitem(values, count - 1) if right is None else as_tensor(right)
    low, high = cast(low, inside.dtype), cast(high, inside.dtype)
    result = run("where", run("lt", at, reshaped(first, ())), low, inside)
    return run("where", run("gt", at, reshaped(last, ())), high, result)


def _pairs(points: Tensor, values: Tensor, place: Tensor, after: Tensor) -> list[tuple[Tensor, Tensor]]:
    return [(points, place), (points, after), (values, place), (values, after)]


def _periodic(at: Tensor, points: Tensor, values: Tensor, period: Any) -> tuple[Tensor, Tensor, Tensor]:
    if not isinstance(period, Tensor):
        period = abs(float(period))
        if period == 0:
            raise DomainError("interp: period must not be 0")
    at, points = run("remainder", at, period), run("remainder", points, period)
    order = run("argsort", points.detach())
    points, values = getitem(points, order), getitem(values, order)
    last = points.shape[0] - 1
    before, behind = sliced(points, 0, last, 1), sliced(points, 0, 0, 1)
    points = concatenate([run("sub", before, period), points, run("add", behind, period)])
    values = concatenate([sliced(values, 0, last, 1), values, sliced(values, 0, 0, 1)])
    return at, points, values
