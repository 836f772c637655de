"""Cases of reductions, scans and sorts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import Case, Draw, View


def reduction(draw: Draw) -> Case:
    """Folds over some axes, alone or several of one array, and what is computed of them and the array."""
    rank = draw.choose((1, 2, 2, 2, 3, 4))
    shape = draw.shape(rank)
    axes = tuple(axis for axis in range(rank) if draw.chance(0.5)) or (rank - 1,)
    kept = draw.chance(0.5)
    form = draw.choose(("sum", "max", "min", "mean", "var", "any", "all", "prod", "arg", "several", "centred",
                        "norm", "count", "softmax", "moments"))  # fmt: skip
    label = f"{form} over {axes}{' kept' if kept else ''}"
    if form in ("any", "all", "count"):
        draw.operand(shape, draw.dtype("fib"), 0, 1)
        name = "count_nonzero" if form == "count" else form
        return draw.case("reductions", label, lambda xp, x: getattr(xp, name)(x, axis=axes, keepdims=kept))
    if form == "arg":
        draw.operand(shape, draw.dtype("fih"))
        axis = draw.choose(range(rank))
        name = draw.choose(("argmax", "argmin"))
        return draw.case("reductions", f"{name} along {axis}", lambda xp, x: getattr(xp, name)(x, axis=axis))
    if form == "prod":
        draw.operand(shape, draw.dtype("f"), -1, -1)
        return draw.case("reductions", label, lambda xp, x: xp.prod(x, axis=axes, keepdims=kept))
    if form in ("max", "min"):
        draw.operand(shape, draw.dtype("fih"))
        return draw.case("reductions", label, lambda xp, x: getattr(xp, form)(x, axis=axes, keepdims=kept))
    if form == "sum":
        draw.operand(shape, draw.dtype("fic"))
        return draw.case("reductions", label, lambda xp, x: xp.sum(x, axis=axes, keepdims=kept))
    dtype = draw.dtype("f")
    draw.operand(shape, dtype)
    count = int(np.prod([shape[axis] for axis in axes]))
    eps = float(np.finfo(dtype).eps)
    if form == "mean":  # an exact sum, and one rounding in each library
        return draw.case("reductions", label, lambda xp, x: xp.mean(x, axis=axes, keepdims=kept), 6 * eps)
    if form == "var":  # of values up to 3: squares of deviations up to 36, and sums of them by halves
        bound = 36 * eps * (8 + np.log2(count))
        return draw.case("reductions", label, lambda xp, x: xp.var(x, axis=axes, keepdims=kept), bound)
    if form == "moments":  # of columns, whose sums several tasks share

        def moments(xp: Any, x: Any) -> Any:
            return [xp.mean(x, axis=0), xp.var(x, axis=0)]

        return draw.case("reductions", form, moments, 36 * eps * (8 + np.log2(shape[0])))
    if form == "softmax":  # results up to 1; the terms of the sum are at most 1 and `count` of them

        def softmax(xp: Any, x: Any) -> Any:
            e = xp.exp(x - xp.max(x, axis=axes, keepdims=True))
            return e / xp.sum(e, axis=axes, keepdims=True)

        return draw.case("reductions", label, softmax, 16 * eps * (1 + np.log2(count)))
    if form == "centred":

        def centred(xp: Any, x: Any) -> Any:
            shifted = x - xp.max(x, axis=axes, keepdims=True)
            return [shifted, xp.sum(shifted, axis=axes)]

        return draw.case("reductions", label, centred)
    if form == "norm":
        return draw.case("reductions", label, lambda xp, x: xp.sum(x * x, axis=axes, keepdims=kept))
    other = tuple(axis for axis in range(rank) if axis not in axes) or (0,)

    def several(xp: Any, x: Any) -> Any:
        return [xp.sum(x, axis=axes), xp.max(x, axis=axes), xp.sum(x * 2, axis=other), xp.min(x)]

    return draw.case("reductions", label, several)


def scan(draw: Draw) -> Case:
    """Running sums, products, maxima and minima along an axis, from either end."""
    rank = draw.choose((1, 1, 2, 2, 3))
    shape, axis = draw.shape(rank), draw.choose(range(rank))
    form = draw.choose(("cumsum", "cumsum", "cumprod", "cummax", "cummin", "both", "diff"))
    reverse = draw.chance(0.4)
    label = f"{form} along {axis}{' reversed' if reverse else ''}"
    if form == "cumprod":
        draw.operand(shape, draw.dtype("f"), -1, -1)
        return draw.case("scans", label, lambda xp, x: xp.cumprod(x, axis=axis))
    if form == "diff":
        draw.operand(shape, draw.dtype("f"))
        return draw.case("scans", label, lambda xp, x: xp.cumsum(xp.diff(x, axis=axis), axis=axis))
    draw.operand(shape, draw.dtype("f" if form == "both" else "fi"))
    if form == "both":

        def both(xp: Any, x: Any) -> Any:
            total = xp.cumsum(x, axis=axis, reverse=reverse)
            return [total, total - x, xp.max(total, axis=axis)]

        return draw.case("scans", label, both)
    return draw.case("scans", label, lambda xp, x: getattr(xp, form)(x, axis=axis, reverse=reverse))


def sort(draw: Draw) -> Case:
    """Sorted values and indices, order statistics, and searches."""
    rank = draw.choose((1, 1, 2, 2, 3))
    shape, axis = draw.shape(rank, 20_000), draw.choose(range(rank))
    form = draw.choose(
        ("sort", "sort", "argsort", "argsort", "median", "search", "topk", "special", "partition")
    )
    dtype = draw.dtype("fih")
    high = draw.choose((3, 120, 30_000))
    high = min(high, 100 if dtype[1:] == "1" else high, 2000 if dtype == "f2" else high)
    label = f"{form} along {axis}"
    if form == "search":
        sorted_ = np.sort(draw.values((draw.size(),), dtype, -high, high))
        draw.give(sorted_)
        draw.operand(shape, dtype, -high, high)
        side = draw.choose(("left", "right"))
        return draw.case("sorts", f"searchsorted {side}", lambda xp, a, v: xp.searchsorted(a, v, side=side))
    if form == "special":
        values = draw.values(shape, draw.dtype("f"), -high, high)
        for number in (np.nan, np.inf, -np.inf):
            values[draw.numbers.random(shape) < 0.1] = number
        draw.give(values, View("all", lambda xp, x: x))
        return draw.case("sorts", label, lambda xp, x: [xp.sort(x, axis=axis), xp.argmax(x, axis=axis)])
    if form == "median":
        draw.operand(shape, draw.dtype("f"), -high, high)
        return draw.case("sorts", label, lambda xp, x: xp.median(x, axis=axis))
    draw.operand(shape, dtype, -high, high)
    if form == "sort":
        return draw.case("sorts", label, lambda xp, x: xp.sort(x, axis=axis))
    if form == "argsort":
        return draw.case("sorts", label, lambda xp, x: xp.argsort(x, axis=axis, stable=True))
    if form == "partition":
        k = draw.choose(range(shape[axis]))
        return draw.case("sorts", label, lambda xp, x: xp.take(xp.partition(x, k, axis=axis), k, axis=axis))
    return draw.case("sorts", "sort, reversed", lambda xp, x: xp.flip(xp.sort(x, axis=axis), axis))
