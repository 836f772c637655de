"""The points of the table of derivatives: fixed ones, and others drawn from a seed."""

from __future__ import annotations

import math

import numpy as np

from .entries import Entry

#: Branch points of some function: integers, halves, turns, thresholds.
_SPECIAL = (
    0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0, 20.0, 30.0, 36.0, 37.0, 40.0,
    60.0, 88.0, 100.0, 150.0, 354.0, 700.0, 709.0, 745.0, 1000.0, 1e4, 1e5, 1e8, math.pi / 4, math.pi / 2,
    math.pi, 1.5 * math.pi, 100 * math.pi, math.e, 0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-8, 1e-12, 1e-16,
)  # fmt: skip
#: Powers of ten to the ends of float64, and of float32.
_SIZES = (
    1e-300, 1e-200, 1e-160, 1e-154, 1e-150, 1e-100, 1e-77, 1e-50, 1e-44, 1e-38, 1e-30, 1e-23, 1e-19, 1e-10,
    1e10, 1e16, 1e19, 1e20, 1e30, 1e38, 1e50, 1e77, 1e100, 1e150, 1e154, 1e200, 1e300, 5e-324, 1e-310,
)  # fmt: skip


def fixed(dtype: type, near: tuple[float, ...] = ()) -> np.ndarray:
    """Points of both signs, 150 or so, with the neighbours of 1, `near` among them."""
    with np.errstate(all="ignore"):
        positive = np.array([*_SPECIAL, *_SIZES], dtype)
        own = np.array(near, dtype)
        around = [
            np.nextafter(dtype(1), dtype(0)), np.nextafter(dtype(1), dtype(2)), *own,
            *np.nextafter(own, dtype(np.inf)), *np.nextafter(own, dtype(-np.inf)),
        ]  # fmt: skip
        points = np.array([0.0, *positive, *-positive, *around, -around[0], -around[1]], dtype)
    return np.unique(points[np.isfinite(points)])


def drawn(rng: np.random.Generator, dtype: type, entry: Entry, count: int) -> np.ndarray:
    """`count` new points: of any size, of usual sizes, and near the special ones."""
    top = 300 if dtype is np.float64 else 37
    special = np.array([0.0, *_SPECIAL, *[x for x in entry.near if x]])
    parts = [
        rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-top, top, count),
        rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-3, 3, count),
        rng.uniform(-3, 3, count),
        rng.choice([-1, 1], count) * rng.choice(special, count) * (1 + 10.0 ** rng.uniform(-15, -1, count)),
        1 - 10.0 ** rng.uniform(-16, -1, count),
    ]
    return np.asarray(rng.choice(np.concatenate(parts), count, replace=False), dtype)


def pairs(rng: np.random.Generator, points: np.ndarray, count: int) -> list[np.ndarray]:
    """Operands of a function of two: each special point with some others, and with its equals."""
    chosen = rng.choice(points, count)
    other = np.where(rng.random(count) < 0.15, chosen, rng.choice(points, count))
    close = chosen * (1 + rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-15, 0, count))
    with np.errstate(over="ignore"):
        close = close.astype(points.dtype)
    other = np.where((rng.random(count) < 0.2) & np.isfinite(close), close, other)
    return [chosen, other]


def chosen(rng: np.random.Generator, points: np.ndarray, entry: Entry) -> list[np.ndarray]:
    """Operands of `entry` among `points`: as many as it looks at, of those that count."""
    if entry.arity == 1:
        inside = points[[bool(entry.inside(float(x))) for x in points]]
        return [rng.permutation(inside)[: entry.points]]
    operands = pairs(rng, points, 4000)
    rows = [i for i, row in enumerate(zip(*operands, strict=True)) if entry.inside(*map(float, row))]
    return [x[rows[: min(entry.points, 150)]] for x in operands]
