"""Sums and multiples of columns of matrices, whose elements lie one behind the other, by vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number
from ...maths.support import muladd
from ..lapack.elements import Elements, Parts
from .arithmetic import numbers_of

#: Vectors in a step of a long loop: sums are as many chains.
_UNROLLED: Final = 4


class Columns(Elements):
    """Arithmetic on columns of elements. The parts of complex numbers are neighbouring lanes."""

    def __init__(self, w: FunctionWriter, lanes: int, dtype: str, parts: int) -> None:
        super().__init__(w, dtype, parts)
        #: Numbers in a vector.
        self.lanes = max(lanes, parts)
        self.numbers = numbers_of(w, parts)

    def spans(self, count: Number) -> list[tuple[Reg, Reg, int, int]]:
        """Loops over the numbers of `count` elements, each as start, stop, vectors in a step, and lanes of a
        vector. Several vectors come first, then one, then single elements."""
        w = self.w
        if isinstance(count, int):
            count = constant(count, "i64")
        numbers, start, result = w.mul(count, self.parts), constant(0, "i64"), []
        for vectors, lanes in ((_UNROLLED, self.lanes), (1, self.lanes)):
            stop = w.add(start, w.and_(w.sub(numbers, start), -vectors * lanes))
            result.append((start, stop, vectors, lanes))
            start = stop
        return [*result, (start, numbers, 1, self.parts)]

    def each(self, count: Number, some: Callable[[Reg, int], None]) -> None:
        """``some(first number, lanes)`` for the vectors of `count` elements."""
        for start, stop, vectors, lanes in self.spans(count):

            def step(at: Reg, _: list[Reg], vectors: int = vectors, lanes: int = lanes) -> Sequence[Reg]:
                for number in range(vectors):
                    some(self.w.add(at, number * lanes), lanes)
                return ()

            self.w.loop(start, stop, vectors * lanes, step)

    def fold(
        self,
        count: Number,
        sums: int,
        first: float,
        some: Callable[[Reg, int, list[Reg]], list[Reg]],
        combine: Callable[[Reg, Reg], Reg],
    ) -> list[list[Reg]]:
        """``values = some(first number, lanes, values)`` over the vectors of `count` elements, with as many
        `values` as `sums`, each `first` to begin with; by sum, its parts with all lanes combined."""
        w, totals = self.w, [[constant(first, self.dtype)] * self.parts for _ in range(sums)]
        for start, stop, vectors, lanes in self.spans(count):
            begin = [w.splat(constant(first, self.dtype), lanes)] * (vectors * sums)

            def step(at: Reg, values: list[Reg], vectors: int = vectors, lanes: int = lanes) -> Sequence[Reg]:
                following = []
                for number in range(vectors):
                    own = values[number * sums : (number + 1) * sums]
                    following += some(w.add(at, number * lanes), lanes, own)
                return following

            values = w.loop(start, stop, vectors * lanes, step, begin)
            for number in range(sums):
                total = values[number]
                for vector in range(1, vectors):
                    total = combine(total, values[vector * sums + number])
                for part in range(self.parts):
                    totals[number][part] = combine(totals[number][part], self._folded(total, part, combine))
        return totals

    def _folded(self, vector: Reg, part: int, combine: Callable[[Reg, Reg], Reg]) -> Reg:
        """The lanes of one part of elements, combined."""
        if vector.lanes == self.parts:
            return self.w.extract(vector, part)
        if self.parts > 1:
            vector = self.w.shuffle(vector, None, range(part, vector.lanes, self.parts))
        return self.w.fold_lanes(vector, combine)

    # -- of columns ---------------------------------------------------------------------------------

    def subtract(self, column: str, terms: Sequence[tuple[Parts, str]], count: Number) -> None:
        """Take ``factor * other`` from `column` for each (factor, other) of `terms`."""
        w = self.w

        def some(at: Reg, lanes: int) -> None:
            place = w.offset(column, self.dtype, at)
            total = w.load(place, self.dtype, lanes)
            for factor, other in terms:
                value = w.load(w.offset(other, self.dtype, at), self.dtype, lanes)
                total = self.numbers.minus_product(total, factor, value)
            w.store(total, place)

        self.each(count, some)

    def dot(self, x: str, y: str, count: Number, sign: Reg) -> Parts:
        """The sum of the products of two columns, of which `sign` is 1 where x is conjugated, else -1."""
        w = self.w

        def some(at: Reg, lanes: int, totals: list[Reg]) -> list[Reg]:
            a, b = (w.load(w.offset(column, self.dtype, at), self.dtype, lanes) for column in (x, y))
            results = [muladd(w, a, b, totals[0])]
            if self.parts > 1:
                swapped = w.shuffle(b, None, [lane ^ 1 for lane in range(lanes)])
                results.append(muladd(w, a, swapped, totals[1]))
            return results

        same, *crossed = self.fold(count, self.parts, 0.0, some, w.add)
        if self.parts == 1:
            return same
        ((real_imaginary, imaginary_real),) = crossed
        real = w.add(same[0], w.mul(sign, same[1]))
        return [real, w.sub(real_imaginary, w.mul(sign, imaginary_real))]

    def largest(self, column: str, count: Number) -> Reg:
        """The largest size of a number in a column, 0 of none."""
        w = self.w

        def some(at: Reg, lanes: int, values: list[Reg]) -> list[Reg]:
            size = w.abs(w.load(w.offset(column, self.dtype, at), self.dtype, lanes))
            return [w.max(size, values[0])]

        (parts,) = self.fold(count, 1, 0.0, some, w.max)
        return parts[0] if len(parts) == 1 else w.max(*parts)

    def norm(self, column: str, count: Number, largest: Reg) -> Reg:
        """The Euclidean norm of a column whose `largest` number is not zero."""
        w = self.w

        def some(at: Reg, lanes: int, totals: list[Reg]) -> list[Reg]:
            x = w.load(w.offset(column, self.dtype, at), self.dtype, lanes)
            scaled = w.div(x, w.splat(largest, lanes))
            return [muladd(w, scaled, scaled, totals[0])]

        (parts,) = self.fold(count, 1, 0.0, some, w.add)
        total = parts[0] if len(parts) == 1 else w.add(*parts)
        return w.mul(w.sqrt(total), largest)

    def multiply(self, column: str, factor: Parts, count: Number) -> None:
        """Multiply a column in place."""

        def element(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.store(self.mul(self.load(column, i), factor), column, i)
            return ()

        if self.parts > 1:
            self.w.loop(0, count if isinstance(count, Reg) else int(count), 1, element)
            return
        self._map(column, count, lambda x: self.w.mul(x, self.w.splat(factor[0], x.lanes)))

    def divide(self, column: str, divisor: Parts, count: Number) -> None:
        """Divide a column in place: real numbers with one rounding."""
        if self.parts > 1:
            self.multiply(column, self.inverse(divisor), count)
            return
        self._map(column, count, lambda x: self.w.div(x, self.w.splat(divisor[0], x.lanes)))

    def _map(self, column: str, count: Number, function: Callable[[Reg], Reg]) -> None:
        w = self.w

        def some(at: Reg, lanes: int) -> None:
            place = w.offset(column, self.dtype, at)
            w.store(function(w.load(place, self.dtype, lanes)), place)

        self.each(count, some)

    def quotient(self, x: Parts, divisor: Parts) -> Parts:
        """`x` divided, rounded once where it is real."""
        if self.parts == 1:
            return [self.w.div(x[0], divisor[0])]
        return self.mul(x, self.inverse(divisor))
