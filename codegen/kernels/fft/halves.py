"""Transforms of n real numbers by complex ones of half the size h = n / 2.

The even and the odd elements are the real and the imaginary parts of z. With Z the transform of z,
w = exp(-2 pi i / n) and, for each k,

    E = Z[k] + conj(Z[h - k]),  D = Z[k] - conj(Z[h - k]),  T = -i w^k D

the transform of the real numbers is ``X[k] = (E + T) / 2`` and ``X[h - k] = conj(E - T) / 2``. The other way
it is ``Z[k] = E + T`` and ``Z[h - k] = conj(E - T)`` with X in place of Z and with ``T = i w^-k D``. All but
X[0] and X[h] stand for two numbers, and have a factor of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg
from .codelets import Complex
from .memory import scaled_target
from .roots import RootTable, unit_roots
from .rows import Rows
from .stockham import Source, Target


class Halves:
    """Step before or after a complex transform of half of `size` that makes a real transform of it.

    ``roots(k, lanes)`` gives w^k in all lanes, or of as many k where lanes are rows. What `split` gives is
    multiplied by `scale`, and what stands for two in the spectrum by `interior`.
    """

    def __init__(
        self,
        w: FunctionWriter,
        size: int,
        rows: Rows,
        roots: Callable[[Reg, int], Complex],
        scale: float,
        interior: float,
    ) -> None:
        self.w, self.rows, self.roots = w, rows, roots
        self.scale, self.interior = scale, interior
        self.half = size // 2
        #: Number of rows from 1 on whose mirror images are the others.
        self.count = self.half // 2

    def split(self, source: Source, target: Target) -> None:
        """Make the transform of real numbers from the complex transform of half the size."""
        self.split_ends(source, target)
        self.pairs(source, target, 1, self.count, join=False)

    def join(self, source: Source, target: Target) -> None:
        """Combine the spectrum of real numbers into that of a complex transform of half the size, for the
        inverse."""
        self.join_ends(source, target)
        self.pairs(source, target, 1, self.count, join=True)

    def split_ends(self, source: Source, target: Target) -> None:
        """The first and the last row of `split`."""
        w, scaled = self.w, scaled_target(self.w, target, self.scale)

        def ends(row: Number, column: Number, lanes: int) -> None:
            real, imaginary = source(0, column, lanes)
            zero = w.const(0.0, real)
            scaled(0, column, (w.add(real, imaginary), zero))
            scaled(self.half, column, (w.sub(real, imaginary), zero))

        self.rows.each(0, 1, ends)

    def join_ends(self, source: Source, target: Target) -> None:
        """The first row of `join`."""
        w = self.w

        def ends(row: Number, column: Number, lanes: int) -> None:
            first, last = source(0, column, lanes)[0], source(self.half, column, lanes)[0]
            target(0, column, (w.add(first, last), w.sub(first, last)))

        self.rows.each(0, 1, ends)

    def pairs(self, source: Source, target: Target, first: Number, count: int, *, join: bool) -> None:
        """`count` rows from `first` on, and their mirror images."""
        w = self.w
        target = scaled_target(w, target, self.interior if join else 0.5 * self.scale * self.interior)
        mirrored = self.rows.mirrored_source(source, self.half)
        opposite = self.rows.mirrored_target(target, self.half)

        def pair(index: Reg, column: Number, lanes: int) -> None:
            row = w.add(index, first)
            (a, b), (c, d) = source(row, column, lanes), mirrored(row, column, lanes)
            even = w.add(a, c), w.sub(b, d)
            odd = w.sub(a, c), w.add(b, d)
            cosine, sine = self.roots(row, lanes)
            if join:
                turned = (
                    w.sub(w.mul(sine, odd[0]), w.mul(cosine, odd[1])),
                    w.add(w.mul(cosine, odd[0]), w.mul(sine, odd[1])),
                )
            else:
                turned = (
                    w.add(w.mul(cosine, odd[1]), w.mul(sine, odd[0])),
                    w.sub(w.mul(sine, odd[1]), w.mul(cosine, odd[0])),
                )
            here = w.add(even[0], turned[0]), w.add(even[1], turned[1])
            there = w.sub(even[0], turned[0]), w.sub(turned[1], even[1])
            target(row, column, here)
            opposite(row, column, there)

        self.rows.each(0, count, pair)


def half_roots(w: FunctionWriter, size: int, rows: Rows, table: RootTable) -> Callable[[Reg, int], Complex]:
    """The `roots` of `Halves`, from a table of all of them."""
    count = size // 4 + 1
    start = table.add(np.stack(unit_roots(np.arange(count), size)))

    def factors(row: Reg, lanes: int) -> Complex:
        shared = rows.columns > 1
        real, imaginary = (
            table.vector(w, start + part * count, row, 1 if shared else lanes) for part in (0, 1)
        )
        return (w.splat(real, lanes), w.splat(imaginary, lanes)) if shared else (real, imaginary)

    return factors


def copy_rows(rows: Rows, first: int, stop: int, source: Source, target: Target) -> None:
    """Copy the rows from `first` to `stop`."""
    rows.each(first, stop, lambda row, column, lanes: target(row, column, source(row, column, lanes)))


def complete(
    w: FunctionWriter, rows: Rows, size: int, interior: float, source: Source, target: Target
) -> None:
    """Complete the transform of real numbers to all `size` rows, an odd number, of which `source` gives the
    first half. All rows but the first are multiplied by `interior`."""

    def first(row: Number, column: Number, lanes: int) -> None:
        real, _ = source(row, column, lanes)
        target(row, column, (real, w.const(0.0, real)))

    interior_target = scaled_target(w, target, interior)
    opposite = rows.mirrored_target(interior_target, size)

    def pair(row: Reg, column: Number, lanes: int) -> None:
        real, imaginary = source(row, column, lanes)
        interior_target(row, column, (real, imaginary))
        opposite(row, column, (real, w.neg(imaginary)))

    rows.each(0, 1, first)
    rows.each(1, size // 2 + 1, pair)
