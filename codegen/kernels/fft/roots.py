"""Roots of unity, rounded once from more bits where the machine has them, and tables of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...llvm.function import Table
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg

#: The integers with a float's bits, in memory.
_BITS: Final = {"f32": ("i32", np.float32, np.int32), "f64": ("i64", np.float64, np.int64)}


def unit_roots(exponents: Any, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The real and imaginary parts of ``exp(-2 pi i e / n)`` for each integer e of `exponents`.

    The angle is taken to the first octant by integers, so that what is rounded is small.
    """
    places = np.asarray(exponents, np.int64) % n * 8
    octant, rest = places // n, places % n  # the angle is (octant + rest / n) * pi / 4
    backward = octant % 2 == 1
    rest = np.where(backward, n - rest, rest)
    angle = rest.astype(np.longdouble) * (_quarter_pi() / n)
    cosine, sine = np.cos(angle), np.sin(angle)
    halves = (
        np.where(backward, (octant + 1) // 2, octant // 2) % 4
    )  # quarter turns to turn, or turn back from
    sine = np.where(backward, -sine, sine)
    real = np.select([halves == 0, halves == 1, halves == 2], [cosine, -sine, -cosine], sine)
    imaginary = np.select([halves == 0, halves == 1, halves == 2], [sine, cosine, -sine], -cosine)
    return real, -imaginary


@functools.cache
def _quarter_pi() -> Any:
    """pi / 4, exact to the last place of NumPy's longest float."""
    digits = np.longdouble("0.785398163397448309615660845819875721")
    return digits if np.finfo(np.longdouble).nmant > 52 else np.longdouble(math.pi / 4)


@functools.lru_cache(maxsize=1024)
def root(exponent: int, n: int) -> tuple[float, float]:
    """``exp(-2 pi i exponent / n)``."""
    real, imaginary = unit_roots([exponent], n)
    return float(real[0]), float(imaginary[0])


class RootTable:
    """A table of floats beside a kernel, to which its writers append, and one of places."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = f"@{name}_roots", dtype
        self._places_name, self._places = f"@{name}_places", list[int]()
        self._parts: list[NDArray[Any]] = []
        self._size = 0

    def add(self, values: NDArray[Any]) -> int:
        """Append `values`, rounded to the table's dtype; the place of the first one."""
        start = self._size
        self._parts.append(np.asarray(values).reshape(-1).astype(_BITS[self.dtype][1]))
        self._size += self._parts[-1].size
        return start

    def add_complex(self, real: NDArray[Any], imaginary: NDArray[Any]) -> int:
        """Append complex numbers as pairs."""
        return self.add(np.stack([real, imaginary], axis=-1))

    def add_places(self, places: Sequence[int]) -> int:
        """Append places of elements to the other table; where the first one is."""
        start = len(self._places)
        self._places += places
        return start

    def place(self, w: FunctionWriter, start: int, index: Reg) -> Reg:
        """Place number `index` from `start` on."""
        return w.load(w.offset(self._places_name, "i64", w.add(index, start)), "i64")

    def vector(self, w: FunctionWriter, start: int, index: Number, lanes: int) -> Reg:
        """The `lanes` values from ``start + index`` on."""
        return w.load(w.offset(self.name, self.dtype, w.add(index, start)), self.dtype, lanes)

    def pair(self, w: FunctionWriter, start: int, index: Number, lanes: int) -> tuple[Reg, Reg]:
        """The pair of number `index` from `start` on, in all lanes."""
        place = w.offset(self.name, self.dtype, w.add(w.mul(index, 2), start))
        real = w.load(place, self.dtype)
        imaginary = w.load(w.offset(place, self.dtype, 1), self.dtype)
        return w.splat(real, lanes), w.splat(imaginary, lanes)

    def at(self, w: FunctionWriter, start: int, places: Reg) -> Reg:
        """The values at `places` behind `start`, for each lane."""
        return w.gather_at(w.offset(self.name, self.dtype, start), self.dtype, places)

    def code(self) -> list[Table]:
        """The tables that have something in them."""
        integer, _, bits = _BITS[self.dtype]
        tables = [Table(self._places_name, "i64", self._places)] if self._places else []
        if self._parts:
            tables.append(Table(self.name, integer, np.concatenate(self._parts).view(bits).tolist()))
        return tables
