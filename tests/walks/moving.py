"""Cases of maps and of what moves elements: transposes, broadcasts, gathers, scatters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .drawing import RESULT_ELEMENTS, Case, Draw


def elementwise(draw: Draw) -> Case:
    """Maps of some operands, which are views of one another at times."""
    rank = draw.choose((0, 1, 1, 2, 2, 3))
    shape = draw.shape(rank, 30_000)
    form = draw.choose(
        ("arithmetic", "arithmetic", "maths", "compare", "cast", "windows", "bits", "divide", "mixed")
    )
    if form == "maths":
        dtype = draw.dtype("f")
        name, low, high = draw.choose(
            (
                ("exp", -3, 3),
                ("log", 1, 3),
                ("sqrt", 0, 3),
                ("sin", -3, 3),
                ("tanh", -3, 3),
                ("arctan", -3, 3),
            )
        )
        draw.operand(shape, dtype, low, high)
        eps = float(np.finfo(dtype).eps)  # docs/maths.md: 4 roundings at most, and NumPy's own
        return draw.case(
            "maps", name, lambda xp, x: getattr(xp, name)(x), lambda want: 8 * eps * np.abs(want)
        )
    if form == "windows" and rank:
        axis = draw.choose(range(rank))
        longer = tuple(size + 2 * (i == axis) for i, size in enumerate(shape))
        draw.operand(longer, draw.dtype("fi"))
        size = shape[axis]

        def stencil(xp: Any, x: Any) -> Any:
            parts = [x[(slice(None),) * axis + (slice(i, i + size),)] for i in range(3)]
            return parts[0] - 2 * parts[1] + parts[2]

        return draw.case("maps", f"stencil along {axis}", stencil)
    if form == "cast":
        source, target = draw.dtype("fih"), draw.dtype("fihc")
        draw.operand(shape, source, 0, 3)
        return draw.case("maps", f"astype {target}", lambda xp, x: (x + 1).astype(target))
    if form == "bits":
        dtype = draw.dtype("i")
        draw.operand(shape, dtype)
        draw.operand(shape, dtype)
        return draw.case("maps", "bits", lambda xp, x, y: (x & y) ^ (x | ~y))
    if form == "divide":
        dtype = draw.dtype("fi")
        draw.operand(shape, dtype)
        draw.operand(shape, dtype, 1, 3)
        return draw.case("maps", "divide", lambda xp, x, y: [x // y, x % y])
    dtype = draw.dtype("fic")
    for _ in range(3):
        draw.operand(shape, dtype)
    if form == "compare" and dtype[0] != "c":
        return draw.case("maps", "where", lambda xp, x, y, z: [xp.where(x < y, z, x), (x >= z) | (y == z)])
    if form == "mixed":
        return draw.case(
            "maps", "several", lambda xp, x, y, z: [x + y, xp.flip(y * z), (x - z)[::-1] if rank else x]
        )
    return draw.case("maps", "arithmetic", lambda xp, x, y, z: x * y - z + 2 * x)


def transpose(draw: Draw) -> Case:
    """Axes in another order, joins, pads, rolls, repeats, reshapes."""
    rank = draw.choose((2, 2, 2, 3, 4))
    shape, dtype = draw.shape(rank), draw.dtype("fihcb")
    axis = draw.choose(range(rank))
    draw.operand(shape, dtype)
    form = draw.choose(("transpose", "transpose", "transpose", "concatenate", "stack", "pad", "roll",
                        "repeat", "tile", "reshape", "split", "rot90", "added"))  # fmt: skip
    perm = tuple(draw.rng.sample(range(rank), rank))
    if form == "transpose":
        return draw.case("transposes", f"{perm}", lambda xp, x: xp.transpose(x, perm))
    if form == "added" and dtype != "?":
        draw.operand(tuple(shape[i] for i in perm), dtype)
        return draw.case("transposes", f"{perm} and a sum", lambda xp, x, y: xp.transpose(x, perm) + y)
    total = math.prod(shape)
    if form in ("concatenate", "stack"):
        other = list(shape)
        if form == "concatenate":
            other[axis] = draw.size(max(1, min(64, RESULT_ELEMENTS // 4 * shape[axis] // total)))
        draw.operand(tuple(other), dtype)
        return draw.case(
            "transposes", f"{form} along {axis}", lambda xp, x, y: getattr(xp, form)([x, y, x], axis=axis)
        )
    if form == "pad":
        widths = []
        for size in shape:
            width = draw.choose((0, 1, 2, 7)), draw.choose((0, 1, 3))
            longer = total // size * (size + sum(width))
            widths.append(width if longer <= RESULT_ELEMENTS else (0, 0))
            total = longer if longer <= RESULT_ELEMENTS else total
        mode = draw.choose(("constant", "edge", "wrap"))
        return draw.case("transposes", f"pad {mode} {widths}", lambda xp, x: xp.pad(x, widths, mode=mode))
    if form == "roll":
        by = draw.choose((-5, -1, 1, 3, 8))
        return draw.case("transposes", f"roll by {by} along {axis}", lambda xp, x: xp.roll(x, by, axis=axis))
    if form == "repeat":
        return draw.case("transposes", f"repeat along {axis}", lambda xp, x: xp.repeat(x, 3, axis=axis))
    if form == "tile":
        reps = []
        for _ in shape:
            reps.append(draw.choose([count for count in (1, 2, 3) if count * total <= RESULT_ELEMENTS]))
            total *= reps[-1]
        return draw.case("transposes", f"tile {tuple(reps)}", lambda xp, x: xp.tile(x, reps))
    if form == "split":
        at = draw.choose(range(shape[axis]))
        return draw.case(
            "transposes", f"split at {at} along {axis}", lambda xp, x: list(xp.split(x, [at], axis=axis))
        )
    if form == "rot90":
        return draw.case("transposes", "rot90", lambda xp, x: xp.rot90(x))
    return draw.case(
        "transposes", f"reshape of {perm}", lambda xp, x: xp.reshape(xp.transpose(x, perm), (-1,))
    )


def broadcast(draw: Draw) -> Case:
    """Operands of other shapes, and folds of what they make: pairwise kernels, sums of rows and columns."""
    dtype = draw.dtype("fi")
    form = draw.choose(("outer", "pairwise", "rows", "columns", "both", "three", "attention"))
    m, n = draw.size(300), draw.size(300)
    if form == "outer":
        draw.operand((m,), dtype)
        draw.operand((n,), dtype)
        return draw.case("broadcasts", "x[:, None] * y", lambda xp, x, y: [x[:, None] * y, xp.outer(x, y)])
    if form in ("pairwise", "attention"):
        dtype, k = draw.dtype("f"), draw.size(max(1, 400_000 // (m * n)))
        draw.operand((m, k), dtype)
        draw.operand((n, k), dtype)

        def pairwise(xp: Any, x: Any, y: Any) -> Any:
            distance = xp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
            return [distance, xp.min(distance, axis=0), xp.argmin(distance, axis=1)]

        return draw.case("broadcasts", "distances", pairwise)
    if form == "three":
        shape = draw.shape(3)
        draw.operand(shape, dtype)
        draw.operand((shape[0], 1, shape[2]), dtype)
        draw.operand((shape[1], 1), dtype)
        return draw.case("broadcasts", "three", lambda xp, x, y, z: x * y + z)
    shape = draw.shape(2)
    draw.operand(shape, dtype)
    draw.operand((shape[1],) if form == "rows" else (shape[0], 1), dtype)
    if form == "both":
        return draw.case(
            "broadcasts", "sums of rows and columns",
            lambda xp, x, y: [xp.sum(x + y, axis=0), xp.sum(x * y, axis=1), x - y],
        )  # fmt: skip
    return draw.case("broadcasts", form, lambda xp, x, y: [x + y, y - x])


def gather(draw: Draw) -> Case:
    """Rows, elements and windows at indices, which are negative in part."""
    rank = draw.choose((1, 2, 2, 3))
    shape, dtype = draw.shape(rank), draw.dtype("fihcb")
    axis = draw.choose(range(rank))
    draw.operand(shape, dtype)
    size = shape[axis]
    form = draw.choose(("take", "take", "rows", "points", "along", "mask", "diagonal", "dynamic"))
    most = max(1, 400_000 * size // math.prod(shape))  # indices for which results are small enough
    count = draw.shape(draw.choose((1, 1, 2)), min(20_000, most))
    if math.prod(count) > most:
        count = (most,)
    kind = draw.choose(("i8", "i8", "i4", "u1" if size <= 256 else "i8"))
    low = 0 if kind[0] == "u" else -size
    if form == "along":
        length = draw.size(min(64, most))
        along = tuple(length if i == axis else n for i, n in enumerate(shape))
        draw.give(draw.numbers.integers(low, size, along).astype(kind))
        return draw.case(
            "gathers", f"take_along_axis {axis}",
            lambda xp, x, i: xp.take_along_axis(x, i.astype("i8"), axis=axis),
        )  # fmt: skip
    if form == "mask":
        draw.operand(shape, "?")
        return draw.case("gathers", "masked sum", lambda xp, x, m: xp.where(m, x, xp.zeros_like(x)))
    if form == "diagonal" and rank > 1:
        return draw.case("gathers", "diagonal", lambda xp, x: xp.diagonal(x, 0, 0, 1))
    if form == "points":
        indices = [draw.numbers.integers(-n, n, count) for n in shape]
        for index in indices:
            draw.give(index)
        return draw.case("gathers", f"points {count}", lambda xp, x, *i: x[tuple(i)])
    draw.give(draw.numbers.integers(low, size, count).astype(kind))
    if form == "rows" and axis == 0:
        return draw.case("gathers", f"x[i] {count}", lambda xp, x, i: x[i])
    return draw.case("gathers", f"take {count} along {axis}", lambda xp, x, i: xp.take(x, i, axis=axis))


def scatter(draw: Draw) -> Case:
    """Rows and elements that are set or added to, many times in part; counts."""
    dtype = draw.choose(("f4", "f8", "f8", "i4", "i8", "u1"))
    form = draw.choose(("add", "add", "set", "bincount", "weights", "segments", "points", "slice"))
    rows, columns = draw.size(), draw.choose((1, 1, draw.size(64), draw.size(16)))
    count = draw.long if draw.chance(0.3) else draw.size()
    count = max(1, min(count, 400_000 // columns))
    index = draw.numbers.integers(0, rows, count)
    if form in ("bincount", "weights"):
        draw.give(index)
        if form == "bincount":
            return draw.case("scatters", "bincount", lambda xp, i: xp.bincount(i, length=rows))
        draw.operand((count,), "f8")

        def weighted(xp: Any, i: Any, w: Any) -> Any:
            return xp.index_add(xp.zeros(rows), i, w)

        return draw.case("scatters", "weighted counts", weighted)
    shape = (rows,) if columns == 1 else (rows, columns)
    draw.operand(shape, dtype)
    if form == "set":  # each row once at most, since of several the last one counts
        index = draw.numbers.permutation(rows)[: min(rows, count)]
        draw.give(index)
        draw.operand((len(index), *shape[1:]), dtype)
        return draw.case("scatters", f"set {len(index)} rows", lambda xp, x, i, v: xp.index_update(x, i, v))
    if form == "slice":
        start, step = draw.choose(range(rows)), draw.choose((1, 1, 2, 3))
        key = slice(start, None, step)
        draw.operand((len(range(rows)[key]), *shape[1:]), dtype)
        return draw.case("scatters", f"set {key}", lambda xp, x, v: xp.index_update(x, key, v))
    draw.give(index - rows * (draw.numbers.random(count) < 0.3))
    if form == "points" and columns > 1:
        draw.give(draw.numbers.integers(-columns, columns, count))
        draw.operand((count,), dtype)
        return draw.case(
            "scatters", f"add {count} elements", lambda xp, x, i, j, v: xp.index_add(x, (i, j), v)
        )
    draw.operand((count, *shape[1:]), dtype)
    return draw.case("scatters", f"add {count} rows", lambda xp, x, i, v: xp.index_add(x, i, v))
