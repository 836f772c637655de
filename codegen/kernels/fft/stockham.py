"""Passes of a transform over memory, in Stockham's order, which needs no reversal of indices.

A pass of radix r over n = S r m elements, with S the product of the radices of the passes before it, makes

    y[q + S (r p + j)] = w_(r m)^(j p) sum_k x[q + S (p + m k)] w_r^(j k),    q < S, p < m, j < r

of x, from one buffer to another. Lanes are either *columns*, elements of as many transforms side by side, or
elements of one transform: neighbouring q where there are enough of them, neighbouring q and p in the first
passes, whose results are interleaved then.

Source: Van Loan, Computational Frameworks for the Fast Fourier Transform, 1.7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ....base.records import record
from ...llvm.emitter import BITS
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number, Reg
from ...llvm.transpose import transposed
from .codelets import Complex, dft, times
from .roots import RootTable, unit_roots

#: ``source(row, column, lanes)``: elements of the operand; a row is an element's place in its transform.
Source: TypeAlias = Callable[[Number, Number, int], Complex]
#: ``target(row, column, value)``: elements of the result.
Target: TypeAlias = Callable[[Number, Number, Complex], None]
#: ``change(row, value)``: what is stored in place of elements.
Change: TypeAlias = Callable[[Number, Complex], Complex]


@record(eq=False)
class RowPlanes:
    """The real and the imaginary parts of the rows of `columns` transforms, each in a piece of memory."""

    w: FunctionWriter
    dtype: str
    columns: int
    real: str
    imaginary: str

    def _place(self, plane: str, row: Number, column: Number) -> str:
        return self.w.offset(plane, self.dtype, plus(self.w, times_size(self.w, row, self.columns), column))

    def load(self, row: Number, column: Number, lanes: int) -> Complex:
        """Elements, as a `Source`."""
        real, imaginary = self._place(self.real, row, column), self._place(self.imaginary, row, column)
        return self.w.load(real, self.dtype, lanes), self.w.load(imaginary, self.dtype, lanes)

    def load_real(self, row: Number, column: Number, lanes: int) -> Complex:
        """Elements whose imaginary parts are zero and not stored, as a `Source`."""
        real = self.w.load(self._place(self.real, row, column), self.dtype, lanes)
        return real, self.w.const(0.0, real)

    def store(self, row: Number, column: Number, value: Complex) -> None:
        """Elements, as a `Target`."""
        self.w.store(value[0], self._place(self.real, row, column))
        self.w.store(value[1], self._place(self.imaginary, row, column))


def _changed(target: Target, change: Change) -> Target:
    return lambda row, column, value: target(row, column, change(row, value))


def times_size(w: FunctionWriter, x: Number, size: int) -> Number:
    """An index times a size."""
    return x * size if isinstance(x, int) else w.mul(x, size)


def plus(w: FunctionWriter, x: Number, y: Number) -> Number:
    """The sum of two indices."""
    return x + y if isinstance(x, int) and isinstance(y, int) else w.add(x, y)


class Buffers:
    """Double buffer of real and imaginary planes in one block of memory: each pass reads one generation and
    writes the other."""

    def __init__(self, w: FunctionWriter, dtype: str, rows: int, columns: int, memory: str) -> None:
        plane = plane_elements(dtype, rows, columns)
        self._planes = []
        for generation in range(2):
            pointers = [w.offset(memory, dtype, (2 * generation + part) * plane) for part in range(2)]
            self._planes.append(RowPlanes(w, dtype, columns, *pointers))
        self._turn = 0

    @property
    def latest(self) -> RowPlanes:
        """Planes that were written last."""
        return self._planes[self._turn]

    def following(self) -> RowPlanes:
        """Planes to write next, which are the latest from now on."""
        self._turn = 1 - self._turn
        return self.latest


def plane_elements(dtype: str, rows: int, columns: int) -> int:
    """Elements of a plane: a vector more than there are, and an odd number of cache lines, since addresses a
    multiple of a page apart disturb each other."""
    line = 512 // BITS[dtype]
    return (-(-rows * columns // line) + 1 | 1) * line


def buffer_bytes(dtype: str, rows: int, columns: int) -> int:
    """The size of `Buffers`."""
    return 4 * plane_elements(dtype, rows, columns) * BITS[dtype] // 8


class Stockham:
    """Transforms of ``prod(radices)`` elements with `columns` side by side, in vectors of at most `lanes`."""

    def __init__(
        self,
        w: FunctionWriter,
        dtype: str,
        radices: Sequence[int],
        columns: int,
        lanes: int,
        roots: RootTable,
    ) -> None:
        self.w, self.dtype, self.radices, self.columns, self.roots = w, dtype, radices, columns, roots
        self.lanes = min(lanes, columns) if columns > 1 else lanes
        self.size = math.prod(radices)
        self._places: dict[tuple[int, int], int] = {}

    def run(
        self, source: Source, buffers: Buffers, target: Target | None = None, change: Change | None = None
    ) -> None:
        """Transform what `source` gives; between passes elements are in `buffers`, and where there is no
        `target` the result is. It is what `change` makes of it."""
        done = 1
        for radix in self.radices:
            rest = self.size // (done * radix)
            store = target
            if rest > 1 or store is None:
                planes = buffers.following()
                store = planes.store
            if rest == 1 and change is not None:
                store = _changed(store, change)
            self._pass(done, rest, radix, source, store)
            if rest > 1:
                source = planes.load
            done *= radix

    def _pass(self, done: int, rest: int, radix: int, source: Source, target: Target) -> None:
        """A pass of `radix` with S = `done` and m = `rest`."""
        if self.columns > 1:
            self._across_columns(done, rest, radix, source, target)
        elif done < self.lanes and rest > 1 and done & (done - 1) == 0 and _power(done * rest) > done:
            self._along_rows(done, rest, radix, source, target)
        else:
            self._along_rows_within(done, rest, radix, source, target)

    # -- lanes ------------------------------------------------------------------------------------

    def _across_columns(self, done: int, rest: int, radix: int, source: Source, target: Target) -> None:
        w, roots = self.w, self._shared_roots(done, rest, radix)

        def group(p: Reg, q: Reg, column: Reg) -> None:
            first = w.add(q, w.mul(p, done))
            x = [source(w.add(first, done * rest * k), column, self.lanes) for k in range(radix)]
            y = self._turned(dft(w, x), roots, p)
            first = w.add(q, w.mul(p, done * radix))
            for j, value in enumerate(y):
                target(w.add(first, done * j), column, value)

        nest(w, [(rest, 1), (done, 1), (self.columns, self.lanes)], group)

    def _along_rows_within(self, done: int, rest: int, radix: int, source: Source, target: Target) -> None:
        """Write a pass whose lanes are neighbouring q; the last vector may overlap the one before."""
        w, roots = self.w, self._shared_roots(done, rest, radix)
        lanes = min(self.lanes, _power(done))

        def group(p: Reg, q: Reg) -> None:
            q = w.min(q, done - lanes) if done % lanes else q
            first = w.add(q, w.mul(p, done))
            x = [source(w.add(first, done * rest * k), 0, lanes) for k in range(radix)]
            y = self._turned(dft(w, x), roots, p)
            first = w.add(q, w.mul(p, done * radix))
            for j, value in enumerate(y):
                target(w.add(first, done * j), 0, value)

        nest(w, [(rest, 1), (done, lanes)], group)

    def _along_rows(self, done: int, rest: int, radix: int, source: Source, target: Target) -> None:
        """Write a pass whose lanes are neighbouring q and p: their places are t = q + S p."""
        w, count = self.w, done * rest
        lanes = min(self.lanes, _power(count))
        roots = self._places.get((done, radix))
        if roots is None:
            exponents = np.outer(np.arange(1, radix), np.arange(count) // done)
            real, imaginary = unit_roots(exponents, radix * rest)
            # for each j its parts, at each t
            roots = self._places[done, radix] = self.roots.add(np.stack([real, imaginary], axis=1))

        def group(t: Reg) -> None:
            t = w.min(t, count - lanes) if count % lanes else t
            y = dft(w, [source(w.add(t, count * k), 0, lanes) for k in range(radix)])
            for j in range(1, radix):
                factor = [
                    self.roots.vector(w, roots + (2 * (j - 1) + part) * count, t, lanes) for part in range(2)
                ]
                y[j] = times(w, y[j], (factor[0], factor[1]))
            self._interleave(y, w.mul(t, radix), done, target)

        nest(w, [(count, lanes)], group)

    def _interleave(self, y: list[Complex], first: Reg, group: int, target: Target) -> None:
        """Write groups of lanes of each of `y` in turns, from row `first` on."""
        w, radix, lanes = self.w, len(y), y[0][0].lanes
        planes = [[value[part] for value in y] for part in range(2)]
        if radix & (radix - 1) == 0:
            rows = [interleaved(w, plane, group) for plane in planes]
            for i, value in enumerate(zip(*rows, strict=True)):
                target(w.add(first, i * lanes), 0, value)
        elif group == 1:
            # a row of the square is longer than `radix`: what is too much is overwritten by the next one
            blocks = range(0, radix, lanes)
            squares = [
                [transposed(w, _filled(plane[start : start + lanes], lanes)) for start in blocks]
                for plane in planes
            ]
            for row in range(lanes):
                for start, real, imaginary in zip(blocks, *squares, strict=True):
                    target(w.add(first, row * radix + start), 0, (real[row], imaginary[row]))
        else:
            for start in range(0, lanes, group):
                for j, value in enumerate(y):
                    picks = range(start, start + group)
                    part = w.shuffle(value[0], None, picks), w.shuffle(value[1], None, picks)
                    target(w.add(first, start * radix + group * j), 0, part)

    # -- roots of unity ---------------------------------------------------------------------------

    def _shared_roots(self, done: int, rest: int, radix: int) -> int | None:
        """Place of the twiddle factors that lanes share: for each p those of j = 1 ... r - 1. None in the
        last pass, which has none."""
        if rest == 1:
            return None
        place = self._places.get((done, radix))
        if place is None:
            exponents = np.outer(np.arange(rest), np.arange(1, radix))
            place = self._places[done, radix] = self.roots.add_complex(*unit_roots(exponents, radix * rest))
        return place

    def _turned(self, y: list[Complex], roots: int | None, p: Reg) -> list[Complex]:
        """`y` times the factors of p."""
        if roots is None:
            return y
        w, lanes, count = self.w, y[0][0].lanes, len(y) - 1
        place = w.mul(p, count)
        factors = [self.roots.pair(w, roots, w.add(place, j), lanes) for j in range(count)]
        return [y[0], *[times(w, value, factor) for value, factor in zip(y[1:], factors, strict=True)]]


def _power(count: int) -> int:
    """The largest power of two that is not more than `count`."""
    return 1 << count.bit_length() - 1


def _filled(vectors: list[Reg], count: int) -> list[Reg]:
    """`vectors`, up to `count` of them, the others undefined."""
    return vectors + [Reg("poison", vectors[0].dtype, count)] * (count - len(vectors))


def interleaved(w: FunctionWriter, vectors: Sequence[Reg], group: int) -> list[Reg]:
    """Groups of lanes of a power of two of `vectors` in turns: the first group of each, the second, ..."""
    rows = [[vector] for vector in vectors]
    lanes = vectors[0].lanes
    while len(rows) > 1:
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows = [_alternating(w, first, second, group, lanes) for first, second in pairs]
        group *= 2
    return rows[0]


def _alternating(w: FunctionWriter, first: list[Reg], second: list[Reg], group: int, lanes: int) -> list[Reg]:
    """Groups of two rows of vectors in turns."""
    if group >= lanes:
        step = group // lanes
        return [
            vector
            for start in range(0, len(first), step)
            for row in (first, second)
            for vector in row[start : start + step]
        ]
    picks = [
        (lane // group % 2) * lanes + lane // (2 * group) * group + lane % group for lane in range(2 * lanes)
    ]
    return [
        w.shuffle(x, y, picks[start : start + lanes])
        for x, y in zip(first, second, strict=True)
        for start in (0, lanes)
    ]


def nest(w: FunctionWriter, loops: Sequence[tuple[int, int]], body: Callable[..., None]) -> None:
    """Call `body` with the indices of nested `loops`, of an extent and a step each."""

    def level(depth: int, indices: tuple[Reg, ...]) -> None:
        if depth == len(loops):
            body(*indices)
            return
        extent, step = loops[depth]

        def inner(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            level(depth + 1, (*indices, index))
            return ()

        w.loop(0, extent, step, inner)

    level(0, ())
