"""Random arguments for NumPy's functions: arrays of every dtype, layout and kind of value, numbers, axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.ir.dtypes import BY_NAME

Array = np.ndarray[Any, Any]
DTYPES = [dtype for dtype in BY_NAME.values() if dtype.kind != "c"]
INTEGERS = [dtype for dtype in DTYPES if dtype.kind in "iu"]
FLOATS = [dtype for dtype in DTYPES if dtype.kind == "f"]
SHAPES = [(), (0,), (1,), (3,), (5,), (2, 3), (0, 3), (3, 0), (1, 3), (2, 1), (2, 1, 3), (3, 2, 2), (1, 1)]
#: Shapes beyond thresholds of the compiler: whole vectors and rests, many rows of a few columns, long lines.
LARGE = [(17,), (33,), (1000,), (600, 3), (3, 600), (65, 9), (2, 4, 40)]


@dataclass(frozen=True)
class Fixed:
    """An ndarray that stays one in every mode, as what decides a shape has to."""

    array: Array


class Arguments:
    """A source of random arguments; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def pick(self, options: Any) -> Any:
        """Draw an element of `options`."""
        return options[int(self.random.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """True so often."""
        return bool(self.random.random() < probability)

    def whole(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return int(self.random.integers(low, high + 1))

    def values(self, dtype: Any, shape: tuple[int, ...]) -> Array:
        """Elements of `dtype`: small numbers, with zeros of both signs and ties; sometimes extreme ones."""
        if dtype.kind == "b":
            return np.asarray(self.random.random(shape) < 0.5)
        low = 0 if dtype.kind == "u" else -4
        values = self.random.integers(low, 5, shape).astype(dtype)
        extreme = self.chance(0.25)
        if dtype.kind == "f":
            if self.chance(0.6):
                values = values + self.random.choice([0.0, 0.25, 0.5], shape).astype(dtype)
            values = np.where(self.random.random(shape) < 0.15, -0.0, values).astype(dtype)
            options = [np.nan, np.inf, -np.inf]
        else:
            options = [np.iinfo(dtype).min, np.iinfo(dtype).max]
        if extreme:
            chosen = self.random.random(shape) < 0.25
            values = np.where(chosen, self.random.choice(np.array(options, dtype), shape), values)
        if dtype.kind == "f" and self.chance(0.08):
            values = np.full(shape, -0.0)
        return np.asarray(values, dtype)

    def laid_out(self, array: Array) -> Array:
        """`array` with the same elements, often in memory of another order or with other strides."""
        layout = self.whole(0, 7)
        if layout == 0 and array.ndim:
            axis = self.whole(0, array.ndim - 1)
            return np.flip(np.ascontiguousarray(np.flip(array, axis)), axis)
        if layout == 1:
            return np.asfortranarray(array)
        if layout == 2 and array.ndim:
            wide = np.repeat(array, 2, axis=-1)
            return wide[..., ::2]
        return array

    def shape(self) -> tuple[int, ...]:
        """A shape, of any rank up to three."""
        return self.pick(LARGE if self.chance(0.06) else SHAPES)  # type: ignore[no-any-return]

    def array(self, dtypes: Any = DTYPES, shape: Any = None, *, least_rank: int = 0) -> Array:
        """An array of one of `dtypes`; sometimes one row repeated with stride 0."""
        dtype = self.pick(dtypes)
        if shape is None:
            shape = self.shape()
            while len(shape) < least_rank:
                shape = self.shape()
        if len(shape) > 1 and self.chance(0.06):
            return np.broadcast_to(self.values(dtype, shape[1:]), shape)
        return self.laid_out(self.values(dtype, shape))

    def number(self) -> Any:
        """A Python number."""
        return self.pick(
            [0, 1, 2, 3, -1, -2, 0.0, -0.0, 0.5, -1.5, 2.0, True, False, float("inf"), float("nan")]
        )

    def nested(self) -> Any:
        """Numbers in lists, of Python's and of NumPy's own types."""
        kind = self.pick([np.float32, np.float64, np.int8, np.int64, np.uint8, np.bool_, float, int, bool])
        element = lambda: kind(self.whole(0, 3))  # noqa: E731
        if self.chance(0.3):
            return [[element() for _ in range(3)] for _ in range(2)]
        return [element() for _ in range(self.pick([0, 1, 3, 3]))]

    def operand(self, dtypes: Any = DTYPES, shape: Any = None) -> Any:
        """An array, or sometimes a number or a list of numbers."""
        if shape is None and self.chance(0.08):
            return self.number()
        if shape is None and self.chance(0.08):
            return self.nested()
        return self.array(dtypes, shape)

    def broadcasting(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that goes with `shape`; now and then one that does not."""
        if self.chance(0.06):
            return self.shape()
        cut = shape[self.whole(0, len(shape)) :] if self.chance(0.3) else shape
        return tuple(1 if self.chance(0.2) else size for size in cut)

    def pair(self, dtypes: Any = DTYPES) -> tuple[Any, Any]:
        """Two operands of a binary function."""
        x = self.operand(dtypes)
        if self.chance(0.2):
            return (x, self.number()) if self.chance(0.7) else (self.number(), x)
        return x, self.array(dtypes, self.broadcasting(np.shape(x)))

    def axis(self, rank: int, *, several: bool = True, none: bool = True) -> Any:
        """An axis, now and then one that `rank` does not have."""
        if none and self.chance(0.25):
            return None
        if several and self.chance(0.25):
            return self.pick([(0,), (0, 1), (), (1, 0), (-1,), (-1, 0), (0, 0), (0, -2), (5,)])
        if rank == 0 or self.chance(0.08):
            return self.whole(-3, 3)
        return self.whole(-rank, rank - 1)
