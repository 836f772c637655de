"""What random programs are made of: arguments of all layouts, choices, and steps appended."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit as tj

from ..support import Array

DIMS = [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 13, 16, 17, 31, 33, 64, 65]
FLOATS = ["f4", "f8"]
INTS = ["i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8"]
LIMIT = 60.0

Values = list[Any]
Step = Callable[[Values], Any]


@dataclass
class Exact:
    """A program: steps over arguments, and which values are its results."""

    arguments: list[Array]
    steps: list[tuple[str, Step]]
    results: list[int]

    @property
    def names(self) -> list[str]:
        """What each step does, for the report of a failure."""
        return [name for name, _ in self.steps]

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        values: Values = list(arguments)
        for _, step in self.steps:
            values.append(step(values))
        return tuple(values[i] for i in self.results)


def laid_out(array: Array, kind: int) -> Array:
    """The same elements, elsewhere in memory: contiguous, Fortran, strided, reversed, misaligned,
    read-only."""
    shape, dtype = array.shape, array.dtype
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2 and array.ndim:
        wide = np.zeros((*shape[:-1], 2 * shape[-1] + 1), dtype)
        wide[..., 1::2] = array
        return wide[..., 1::2]
    if kind == 3 and array.ndim:
        return array[..., ::-1].copy()[..., ::-1]
    if kind == 4:
        raw = np.zeros(array.nbytes + 1, np.uint8)
        view = np.ndarray(shape, dtype, raw.data, 1)
        view[...] = array
        return view
    if kind == 5:
        copy = array.copy()
        copy.flags.writeable = False
        return copy
    if kind == 6 and array.ndim and shape[0] > 1 and (array == array[:1]).all():
        return np.broadcast_to(array[:1].copy(), shape)
    if kind == 7 and array.ndim > 1:
        return np.moveaxis(np.moveaxis(array, -1, 0).copy(), 0, -1)
    return array


class Unfit(Exception):
    """No value that this step could take."""


def broadcasts(one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(one, two)
    except ValueError:
        return False
    return True


def into(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    return broadcasts(shape, target) and np.broadcast_shapes(shape, target) == target


class Choices:
    """A program that is being built, running eagerly as it goes, and what is chosen for it."""

    def __init__(self, seed: int, *, smooth: bool = False, special: bool = False, largest: int = 6000):
        self.rng = np.random.default_rng([seed, 77])
        self.smooth, self.special, self.largest = smooth, special, largest
        self.arguments: list[Array] = []
        self.values: Values = []
        self.steps: list[tuple[str, Step]] = []

    # -- choices ----------------------------------------------------------------------------------

    def choose(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        while True:
            r = int(self.choose([0, 1, 1, 2, 2, 2, 3, 3, 4])) if rank is None else rank
            shape = tuple(int(self.choose(DIMS)) for _ in range(r))
            if math.prod(shape) <= self.largest:
                return shape

    def fresh(self, shape: tuple[int, ...], dtype: str) -> Array:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return np.asarray(self.rng.integers(0, 2, shape)).astype(kind)
        low = 0 if kind.kind == "u" else -5
        x = np.asarray(self.rng.integers(low, 6, shape)).astype(kind)
        if x.ndim and x.shape[0] > 1 and self.chance(0.08):
            x[...] = x[:1]
        if kind.kind == "f" and self.special:
            odd = self.rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0]), shape)
            x = np.where(self.rng.random(shape) < 0.08, odd, x).astype(kind)
        return x

    def dtype(self) -> str:
        if self.smooth:
            return "f8"
        return str(self.choose([*FLOATS, *FLOATS, *FLOATS, "i8", "i4", "?", self.choose(INTS)]))

    def array(self, index: int) -> Array:
        return np.asarray(self.values[index])

    def find(self, kinds: str = "biuf", rank: int = 0, most: int = 9, nonempty: bool = False) -> int:
        """The index of a value of these kinds, a recent one rather."""
        fits = [
            i
            for i, v in enumerate(self.values)
            if v.dtype.kind in kinds and rank <= v.ndim <= most and not (nonempty and 0 in v.shape)
        ]
        if not fits:
            raise Unfit
        return fits[-1 - min(int(self.rng.exponential(3)), len(fits) - 1)]

    def partner(self, i: int, *, same: bool = False) -> int:
        """A value that broadcasts with value `i`, mostly of its dtype."""
        x = self.values[i]
        fits = [
            j
            for j, v in enumerate(self.values)
            if v.dtype == x.dtype and (v.shape == x.shape if same else broadcasts(v.shape, x.shape))
        ]
        return int(self.choose(fits))

    # -- appending --------------------------------------------------------------------------------

    def add(self, name: str, step: Step) -> None:
        with np.errstate(all="ignore"):
            value = step(self.values)
        if not isinstance(value, tj.Tensor) or value.size > self.largest:
            raise Unfit
        data = np.asarray(value)
        if data.dtype.kind == "f" and data.size:
            sizes = np.abs(np.where(np.isfinite(data), data, 0))
            finite = sizes.max()
            if finite > 1e6 or (sizes % 0.125).any():  # f32 has 24 bits, and thirds come of gradients at ties
                raise Unfit
        self.steps.append((name, step))
        self.values.append(value)
        if data.dtype.kind == "f" and data.size and finite > LIMIT:
            last = len(self.values) - 1
            self.add("wrap", lambda v: v[last] % 13.0 - 6.0)
