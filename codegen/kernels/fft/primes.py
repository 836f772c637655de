"""Transforms of a prime size p as cyclic convolutions of p - 1 elements.

The places but 0 are the powers of a generator g of the integers modulo p, so that

    y[g^-q] = x[0] + sum_j x[g^j] exp(-2 pi i g^(j - q) / p),    0 <= q < p - 1

and y[0] is the sum of all.

Source: Rader 1968, Discrete Fourier transforms when the number of data samples is prime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg, constant
from .chirp import Convolution
from .codelets import Complex
from .roots import RootTable, unit_roots
from .stockham import Buffers, Change, RowPlanes, Source, Stockham, Target


def generator(prime: int) -> int | None:
    """The least number whose powers are all places but 0 modulo `prime`; None where that is no prime."""
    if prime < 3 or any(prime % divisor == 0 for divisor in range(2, int(prime**0.5) + 1)):
        return None
    order = prime - 1
    factors = [f for f in range(2, order + 1) if order % f == 0 and all(f % d for d in range(2, f))]
    return next(g for g in range(2, prime) if all(pow(g, order // f, prime) != 1 for f in factors))


class PrimeTransform(Convolution):
    """Rader's algorithm: a prime-size transform as a cyclic convolution; `inner` are the transforms of size
    p - 1."""

    def __init__(self, w: FunctionWriter, size: int, inner: Stockham, roots: RootTable) -> None:
        super().__init__(w, size, inner, roots)
        g = generator(size)
        assert g is not None
        powers = [pow(g, j, size) for j in range(size - 1)]
        self.powers = roots.add_places(powers)
        self.inverses = roots.add_places([powers[-q % (size - 1)] for q in range(size - 1)])
        real, imaginary = unit_roots([powers[-q % (size - 1)] for q in range(size - 1)], size)
        spectrum = np.fft.fft(real + 1j * imaginary) / inner.size
        spectrum[0] = 1  # the sum of all but x[0] is a result
        self.spectrum = self.add(spectrum.real, spectrum.imag)

    def run(
        self, source: Source, buffers: Buffers, target: Target | None = None, change: Change | None = None
    ) -> None:
        inner, planes = self.inner, buffers.following()
        change = change or (lambda row, value: value)

        def enter(row: Number, place: Number, column: Number, lanes: int) -> None:
            planes.store(row, column, source(place, column, lanes))

        def keep_first(column: Number, lanes: int) -> None:
            planes.store(inner.size, column, source(0, column, lanes))

        self._each_column(keep_first)
        self._each(self.powers, enter)
        inner.run(planes.load, buffers, change=self.filtered)
        self._each_column(lambda column, lanes: self._take_sum(planes, buffers.latest, column, lanes))
        inner.run(buffers.latest.load, buffers)
        result = buffers.latest
        store = target or buffers.following().store

        def leave_sum(column: Number, lanes: int) -> None:
            store(0, column, change(0, planes.load(inner.size, column, lanes)))

        def leave(row: Number, place: Number, column: Number, lanes: int) -> None:
            imaginary, real = result.load(row, column, lanes)
            store(place, column, change(place, (real, imaginary)))

        self._each_column(leave_sum)
        self._each(self.inverses, leave)

    def _take_sum(self, planes: RowPlanes, filtered: RowPlanes, column: Number, lanes: int) -> None:
        """Put y[0] in place of x[0] in the row that no pass writes, and add x[0] to all other results."""
        w = self.w
        imaginary, real = filtered.load(0, column, lanes)
        first: Complex = planes.load(self.inner.size, column, lanes)
        planes.store(self.inner.size, column, (w.add(first[0], real), w.add(first[1], imaginary)))
        # the roots but 1 have the sum -1
        real, imaginary = [
            w.fma(value, w.const(-1.0 / self.inner.size, value), own)
            for own, value in zip(first, (real, imaginary), strict=True)
        ]
        filtered.store(0, column, (imaginary, real))

    def _each(self, places: int, body: Callable[[Number, Number, Number, int], None]) -> None:
        """``body(row, place, column, lanes)`` for all rows but one, with their places from a table."""
        w = self.w

        def row(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = self.roots.place(w, places, index)
            self._each_column(lambda column, lanes: body(index, place, column, lanes))
            return ()

        w.loop(0, self.inner.size, 1, row)

    def _each_column(self, body: Callable[[Number, int], None]) -> None:
        """``body(column, lanes)`` for all transforms that are side by side."""
        if self.columns == 1:
            body(constant(0, "i64"), 1)
            return

        def some(column: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(column, self.lanes)
            return ()

        self.w.loop(0, self.columns, self.lanes, some)
