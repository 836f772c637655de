"""Transforms of any size as convolutions, for sizes with large prime factors.

With ``c[j] = exp(-pi i j^2 / n)`` it is j k = (j^2 + k^2 - (k - j)^2) / 2, and so

    y[k] = c[k] sum_j (x[j] c[j]) conj(c[k - j])

a convolution, made by two transforms of a size of at least 2 n - 1 that has small factors.

Source: Bluestein 1970, A linear filtering approach to the computation of discrete Fourier transform.
"""

from __future__ import annotations

import abc

import numpy as np

from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg, constant
from .codelets import Complex, times
from .roots import RootTable, unit_roots
from .rows import Rows
from .stockham import Buffers, Change, Source, Stockham, Target


class Convolution(abc.ABC):
    """Transforms of `size` elements by convolutions, which are made by transforms of another size."""

    #: Offset in the table of roots of the spectrum that the convolution multiplies by.
    spectrum: int

    def __init__(self, w: FunctionWriter, size: int, inner: Stockham, roots: RootTable) -> None:
        self.w, self.size, self.inner, self.roots = w, size, inner, roots
        self.columns, self.lanes = inner.columns, inner.lanes

    @abc.abstractmethod
    def run(
        self, source: Source, buffers: Buffers, target: Target | None = None, change: Change | None = None
    ) -> None:
        """Transform what `source` gives; as `Stockham.run`."""

    def filtered(self, row: Number, value: Complex) -> Complex:
        """Input of the second transform: `value` times the spectrum. Its parts are exchanged, since that
        transform is an inverse one."""
        factors = self.factors(self.spectrum, self.inner.size, row, value[0].lanes)
        return times(self.w, value, factors)[::-1]

    # -- tables -----------------------------------------------------------------------------------

    def add(self, real: object, imaginary: object) -> int:
        return self.roots.add(np.stack([np.asarray(real), np.asarray(imaginary)]))

    def factors(self, start: int, size: int, row: Number, lanes: int) -> Complex:
        """The factors of rows: of each lane's, or of the one row of all lanes."""
        shared = self.columns > 1
        count = 1 if shared else lanes
        real, imaginary = (self.roots.vector(self.w, start + part * size, row, count) for part in (0, 1))
        return (self.w.splat(real, lanes), self.w.splat(imaginary, lanes)) if shared else (real, imaginary)


class Chirp(Convolution):
    """Bluestein's algorithm: the transform as a convolution with a chirp, by transforms of at least twice as
    many elements."""

    def __init__(self, w: FunctionWriter, size: int, inner: Stockham, roots: RootTable) -> None:
        super().__init__(w, size, inner, roots)
        real, imaginary = unit_roots(np.arange(size) ** 2, 2 * size)
        self.chirp = self.add(real, imaginary)
        response = np.zeros(inner.size, np.clongdouble)
        response[:size] = real - 1j * imaginary
        response[inner.size - size + 1 :] = response[size - 1 : 0 : -1]
        spectrum = np.fft.fft(response) / inner.size
        self.spectrum = self.add(spectrum.real, spectrum.imag)

    def run(
        self, source: Source, buffers: Buffers, target: Target | None = None, change: Change | None = None
    ) -> None:
        w, inner, rows = self.w, self.inner, Rows(self.w, self.columns, self.lanes)
        planes = buffers.following()

        def enter(row: Reg, column: Number, lanes: int) -> None:
            value = source(row, column, lanes)
            planes.store(row, column, times(w, value, self.factors(self.chirp, self.size, row, lanes)))

        def clear(row: Reg, column: Number, lanes: int) -> None:
            zero = constant(0.0, planes.dtype, lanes)
            planes.store(row, column, (zero, zero))

        rows.each(0, self.size, enter)
        rows.each(self.size, inner.size, clear)
        inner.run(planes.load, buffers, change=self.filtered)
        inner.run(buffers.latest.load, buffers)
        result = buffers.latest
        store = target or buffers.following().store

        def leave(row: Reg, column: Number, lanes: int) -> None:
            imaginary, real = result.load(row, column, lanes)
            factors = self.factors(self.chirp, self.size, row, lanes)
            value = times(w, (real, imaginary), factors)
            store(row, column, value if change is None else change(row, value))

        rows.each(0, self.size, leave)
