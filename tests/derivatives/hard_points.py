"""Points that random ones seldom meet, and where formulas break: found by search, drawn around what is found.

Along a line, all operands but one held, functions of x have places where something about them changes:

- the sign of the value or of a derivative: a zero of it, and an extremum of the one before, where the
  condition number allows nothing;
- the step of the last derivative: an extremum of it;
- the size of a result beside the ends of the dtype's normal numbers, where an intermediate may be out of
  range, as it may beside those ends themselves;
- a decision of our own algorithms, `seams`: the end of an interval, where a formula cancels most.

Each is a label of x. A grid tells between which of its points a label changes, and bisection where. Labels of
the functions themselves are computed by the package: a search needs few digits, and the truth is asked at the
points that are drawn.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit as tj

from .checking import derivatives
from .entries import Entry, Orders
from .points import chosen
from .seams import BLOCK, Seams

#: Parts in which bisection divides a bracket.
_PARTS = 64
#: Multiples of the smallest normal and of the largest number at which the size of a result is told.
_NEAR_ENDS = (1 / 4, 1 / 2, 1, 2, 4)


def _grid(dtype: type) -> np.ndarray:
    """Numbers of every size, more of usual ones, and more beside 1."""
    info = np.finfo(dtype)
    low, high = np.log10(float(info.smallest_subnormal)), np.log10(float(info.max))
    sizes = np.concatenate(
        [
            10.0 ** np.linspace(low, high, 500)[:-1],
            10.0 ** np.linspace(-3, 3, 400),
            np.linspace(0, 30, 900),
            1 - 10.0 ** np.linspace(-15, -1, 60),
            1 + 10.0 ** np.linspace(-15, -1, 60),
        ]
    )
    with np.errstate(all="ignore"):
        grid = np.unique(np.concatenate([-sizes, sizes]).astype(dtype))
    return grid[np.isfinite(grid)]


def _ordinals(x: np.ndarray) -> np.ndarray:
    """Integers in the order of floats, one for each."""
    bits = x.view(np.int64 if x.dtype == np.float64 else np.int32).astype(np.int64)
    lowest = np.int64(-(2**63) if x.dtype == np.float64 else -(2**31))
    return np.where(bits < 0, lowest - bits, bits)


def _floats(ordinals: np.ndarray, dtype: type) -> np.ndarray:
    integer, lowest = (np.int64, -(2**63)) if dtype is np.float64 else (np.int32, -(2**31))
    bits = np.where(ordinals < 0, np.int64(lowest) - ordinals, ordinals)
    return bits.astype(integer).view(dtype)


@dataclass(frozen=True, eq=False)
class Line:
    """An entry along the operand `place`; `others` are what the operands are, with anything at `place`."""

    entry: Entry
    dtype: type
    place: int = 0
    others: tuple[float, ...] = (0.0,)

    def operands(self, x: np.ndarray) -> list[np.ndarray]:
        full = [np.full(x.shape, other, x.dtype) for other in self.others]
        full[self.place] = x
        return full

    def _values(self, function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            operands = [tj.tensor(operand.astype(np.float64)) for operand in self.operands(x)]
            return np.asarray(function(*operands), np.float64)

    @functools.cached_property
    def grid(self) -> np.ndarray:
        grid = _grid(self.dtype)
        rows = zip(*map(np.ndarray.tolist, self.operands(grid)), strict=True)
        return grid[[bool(self.entry.inside(*row)) for row in rows]]

    @functools.cached_property
    def labels(self) -> dict[tuple[str, Orders], Callable[[np.ndarray], np.ndarray]]:
        """Each label by its kind and the derivative that it is of."""
        functions = {orders: function for orders, _, function in derivatives(self.entry)}
        result: dict[tuple[str, Orders], Callable[[np.ndarray], np.ndarray]] = {}
        for orders, function in functions.items():
            result["sign", orders] = functools.partial(self._sign, function)
            result["size", orders] = functools.partial(self._size, function)
            seams = Seams(function, self.dtype, len(self.others))
            result["seam", orders] = functools.partial(self._decisions, seams)
        return result

    def _sign(self, function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
        return np.nan_to_num(np.sign(self._values(function, x)), nan=2).astype(np.int64)

    def _size(self, function: Callable[..., Any], x: np.ndarray) -> np.ndarray:
        info = np.finfo(self.dtype)
        ends = [float(info.tiny) * part for part in _NEAR_ENDS]
        ends += [float(info.max) / part for part in _NEAR_ENDS[::-1] if part >= 1]
        return np.searchsorted(ends, abs(self._values(function, x)))

    def _decisions(self, seams: Seams, x: np.ndarray) -> np.ndarray:
        parts = []
        for begin in range(0, x.size, BLOCK):
            part = x[begin : begin + BLOCK]
            padded = np.concatenate([part, np.full(BLOCK - part.size, part[-1])])
            parts.append(seams.decisions(self.operands(padded))[: part.size])
        return np.concatenate(parts)

    @functools.cache  # noqa: B019
    def brackets(self, label: tuple[str, Orders]) -> np.ndarray:
        """Neighbours on the grid whose labels differ, as rows of ordinals."""
        if self.grid.size < 2:
            return np.empty((0, 2), np.int64)
        labels, ordinals = self.labels[label](self.grid), _ordinals(self.grid)
        places = np.flatnonzero(labels[1:] != labels[:-1])
        return np.stack([ordinals[places], ordinals[places + 1]], 1)

    @functools.cache  # noqa: B019
    def extrema(self) -> np.ndarray:
        """Neighbours on the grid between which the second derivatives turn, as rows of floats."""
        found = []
        for orders, function in {orders: f for orders, _, f in derivatives(self.entry)}.items():
            if sum(orders) == 2 and self.grid.size > 2:
                with np.errstate(all="ignore"):
                    steps = np.sign(np.diff(self._values(function, self.grid)))
                places = np.flatnonzero(steps[1:] * steps[:-1] < 0)
                found.append(np.stack([self.grid[places], self.grid[places + 2]], 1))
        return np.concatenate([np.empty((0, 2)), *found])

    def boundaries(
        self, rng: np.random.Generator, label: tuple[str, Orders], brackets: np.ndarray
    ) -> np.ndarray:
        """The numbers on both sides of a change of `label` in each of `brackets`, as rows of ordinals."""
        low, high = brackets[:, :1], brackets[:, 1:]
        while (high - low).max() > 1:
            cuts = low + (high - low) * np.arange(_PARTS + 1) // _PARTS
            x = _floats(cuts.ravel(), self.dtype)
            labels = self.labels[label](x).reshape(cuts.shape)
            changes = labels[:, 1:] != labels[:, :-1]
            places = np.argmax(changes * rng.random(changes.shape), 1)[:, None]
            low, high = np.take_along_axis(cuts, places, 1), np.take_along_axis(cuts, places + 1, 1)
        return np.concatenate([low, high], 1)

    def around(self, rng: np.random.Generator, label: tuple[str, Orders], count: int) -> np.ndarray:
        """`count` points around changes of `label`: some roundings and some hundredths from them."""
        brackets = self.brackets(label)
        if not brackets.size:
            return np.empty(0, self.dtype)
        brackets = rng.choice(brackets, min(4, len(brackets)), replace=False)
        ends = rng.choice(self.boundaries(rng, label, brackets), count)
        side = rng.integers(0, 2, count)
        end = np.where(side, ends[:, 1], ends[:, 0])
        near = _floats(end + (2 * side - 1) * rng.integers(0, 9, count), self.dtype)
        x = _floats(end, self.dtype).astype(np.float64)
        far = x + (2 * side - 1) * abs(x) * 10.0 ** rng.uniform(-15, -1, count)
        with np.errstate(all="ignore"):
            return np.where(rng.random(count) < 0.4, near, far.astype(self.dtype))

    def ends(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """`count` points next to the largest and the smallest normal numbers."""
        info, logs = np.finfo(self.dtype), rng.uniform(0, 3, count)
        x = np.where(rng.random(count) < 0.5, float(info.max) / 2**logs, float(info.tiny) * 2 ** (logs - 1.5))
        return np.asarray(x * rng.choice([-1, 1], count), self.dtype)

    def between(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """`count` points around extrema of the second derivatives."""
        extrema = self.extrema()
        if not extrema.size:
            return np.empty(0, self.dtype)
        low, high = rng.choice(extrema, count).T
        return np.asarray(low + (high - low) * rng.random(count), self.dtype)


#: Lines of functions of one operand, by name and dtype: grids are searched once.
_LINES: dict[tuple[str, type], Line] = {}


def hard(
    rng: np.random.Generator, dtype: type, entry: Entry, count: int, most: int | None = None
) -> list[np.ndarray]:
    """Operands of `entry`, about `count`, around changes of each label, or of `most` of those that change.

    A function of two is searched along a few lines, on which one operand is a number of the grid.
    """
    if entry.arity == 1:
        lines = [_LINES.setdefault((entry.name, dtype), Line(entry, dtype))]
    else:
        rows = zip(*[x[: 1 if most else 3].tolist() for x in chosen(rng, _grid(dtype), entry)], strict=True)
        lines = [Line(entry, dtype, int(rng.integers(2)), row) for row in rows]
    parts: list[Sequence[np.ndarray]] = [[np.empty(0, dtype)] * entry.arity]
    for line in lines:
        labels = [*line.labels]
        kinds = most or len(labels)
        each = -(-count // (len(lines) * (kinds + 2)))
        groups = [line.between(rng, each), line.ends(rng, each)]
        for place in rng.permutation(len(labels)):
            points = line.around(rng, labels[place], each)
            if points.size:
                groups.append(points)
            if len(groups) == kinds + 2:
                break
        for points in groups:
            operands = line.operands(points[np.isfinite(points)])
            rows = zip(*map(np.ndarray.tolist, operands), strict=True)
            inside = np.array([bool(entry.inside(*row)) for row in rows], bool)
            parts.append([operand[inside] for operand in operands])
    found = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = rng.permutation(found[0].size)
    return [x[order] for x in found]
