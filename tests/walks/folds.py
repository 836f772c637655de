"""Cases of reductions, scans and sorts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .drawing import Array, Case, Draw, View

#: Forms of folds whose terms are rounded as they are added up.
_ROUNDED = ("sum", "mean", "var", "std", "dot", "vecdot", "moments")
#: Terms that an accumulator of compiled code takes one after the other at most, and parts whose sums are
#: added up behind it: lanes, accumulators side by side, and chunks (docs/maths.md).
_SERIAL, _PARTS = 256, 80


def reduction(draw: Draw) -> Case:
    """Folds over some axes, alone or several of one array, and what is computed of them and the array."""
    rank = draw.choose((1, 2, 2, 2, 3, 4))
    shape = draw.shape(rank)
    axes = tuple(axis for axis in range(rank) if draw.chance(0.5)) or (rank - 1,)
    kept = draw.chance(0.5)
    if draw.chance(0.3):
        if draw.chance(0.5):  # long columns, or rows
            shape, axes = draw.choose((((draw.long, draw.size(8)), (0,)), ((draw.size(8), draw.long), (1,))))
        return _rounded(draw, shape, axes, kept)
    form = draw.choose(("sum", "max", "min", "mean", "any", "all", "prod", "arg", "several", "centred",
                        "norm", "count", "softmax"))  # fmt: skip
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


def _rounded(draw: Draw, shape: tuple[int, ...], axes: tuple[int, ...], kept: bool) -> Case:
    """Folds of floats that are rounded term by term, beside those of the same whole numbers without rounding.

    NumPy adds up columns one term after the other, so that its sums of 200,000 terms may be off by as many
    roundings, and eager ones, too. Compiled ones are off by those of one accumulator, in both tiers. A
    rounding is at most of what the absolute values of all terms sum to.
    """
    form, dtype = draw.choose(_ROUNDED), draw.dtype("f")
    if form == "moments":  # of columns, whose sums several tasks share
        axes, kept = (0,), False
    elif form == "vecdot":
        axes, kept = (len(shape) - 1,), False
    # the sums of large ones take more bits than the dtype has
    most = draw.choose((3, 1 << (22 if dtype == "f4" else 50)))
    # equal ones are rounded to one side for long
    low, high = draw.choose(((-most, most), (-most, most), (0, most), (most - most // 5,) * 2))
    for _ in range(2 if form in ("dot", "vecdot") else 1):
        draw.operand(shape, dtype, low, high)
    count = math.prod(shape[axis] for axis in axes)
    # squares of distances from the mean, or from a number near it, are most^2 or less in the mean; where many
    # are rounded deviations are most / 2 and more, and off by what variances are over twice the deviation
    square = most**2
    scales = {"sum": [count * most], "mean": [most], "var": [square], "std": [most],
              "dot": [count * square], "vecdot": [count * square], "moments": [most, square]}  # fmt: skip
    compiled, eager = [
        [(serial + _PARTS) * float(np.finfo(dtype).eps) * scale for scale in scales[form]]
        for serial in (min(count, _SERIAL), count)
    ]

    def program(xp: Any, *operands: Any) -> Any:
        if form == "vecdot":
            return xp.vecdot(*operands)
        if form == "dot":
            return xp.sum(operands[0] * operands[1], axis=axes, keepdims=kept)
        if form == "moments":
            return [xp.mean(operands[0], axis=0), xp.var(operands[0], axis=0)]
        return getattr(xp, form)(operands[0], axis=axes, keepdims=kept)

    def exact(*operands: Array) -> Any:
        numbers = [operand.astype("i8").astype(object) for operand in operands]

        def total(terms: Any) -> Any:
            return np.sum(terms, axis=axes, keepdims=kept)

        if form in ("sum", "dot", "vecdot"):
            return np.asarray(total(math.prod(numbers)), dtype=dtype)
        sums = np.asarray(total(numbers[0]), dtype=object)
        mean = np.asarray(sums / count, dtype=dtype)
        if form == "mean":
            return mean
        var = np.asarray((count * total(numbers[0] ** 2) - sums**2) / count**2, dtype="f8")
        result = np.asarray(np.sqrt(var) if form == "std" else var, dtype=dtype)
        return [mean, result] if form == "moments" else result

    label = f"{form} over {axes}{' kept' if kept else ''} of values from {low} to {high}"
    return draw.case("reductions", label, program, compiled, exact, eager)


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
        return draw.case(
            "sorts", label, lambda xp, x: [xp.sort(x, axis=axis, stable=True), xp.argmax(x, axis=axis)]
        )
    if form == "median":
        draw.operand(shape, draw.dtype("f"), -high, high)
        return draw.case("sorts", label, lambda xp, x: xp.median(x, axis=axis))
    draw.operand(shape, dtype, -high, high)
    # stable: NumPy 2.4's other way leaves long lines of float16 unsorted on some processors
    if form == "sort":
        return draw.case("sorts", label, lambda xp, x: xp.sort(x, axis=axis, stable=True))
    if form == "argsort":
        return draw.case("sorts", label, lambda xp, x: xp.argsort(x, axis=axis, stable=True))
    if form == "partition":
        k = draw.choose(range(shape[axis]))
        return draw.case("sorts", label, lambda xp, x: xp.take(xp.partition(x, k, axis=axis), k, axis=axis))
    return draw.case(
        "sorts", "sort, reversed", lambda xp, x: xp.flip(xp.sort(x, axis=axis, stable=True), axis)
    )
