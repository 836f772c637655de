"""Products of complex matrices as real ones.

A matrix in memory, of pairs, is a real one whose rows have a number's parts in turns. With `i` times each row
of y below it,

    [x.re x.im ...] [y.re y.im ...; -y.im y.re ...; ...]  =  [z.re z.im ...]

is one real product, which reads x and writes z where they lie. Where x has so few rows that twice as many of
the result cost less than twice as many of y, it is ``[x.re; x.im] y``, whose halves are added up. Results are
as exact as real products are; the three products of Gauss would lose places of small imaginary parts.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from ...builder import Builder
from ...dtypes import INT64
from ...graph import Instruction, Value
from .complex_arithmetic import mul
from .planes import Planes, both

#: Elements up to which matrices are kept in planes: code for loops keeps those out of memory.
_SMALL: Final = 16


class PairWriter(Protocol):
    """The interface of the pass that products use."""

    b: Builder

    def together(self, planes: Planes) -> Value:
        """Planes as an array of pairs."""

    def columns(self, pairs: Value) -> Planes:
        """The planes in an array of pairs."""

    def is_zero(self, value: Value) -> bool:
        """Whether `value` is 0 everywhere."""


def contraction(writer: PairWriter, instruction: Instruction, x: Planes, y: Planes) -> Planes:
    """A product of sums as four real ones, two where one factor is real."""
    b, op, attrs = writer.b, instruction.op, instruction.attrs

    def product(first: Value, second: Value) -> Any:
        return b.append(op, (first, second), attrs)[0]

    if writer.is_zero(y.im):
        return Planes(product(x.re, y.re), product(x.im, y.re))
    if writer.is_zero(x.im):
        return Planes(product(x.re, y.re), product(x.re, y.im))
    return Planes(
        b.sub(product(x.re, y.re), product(x.im, y.im)), b.add(product(x.re, y.im), product(x.im, y.re))
    )


def matrix_product(writer: PairWriter, instruction: Instruction, x: Planes, y: Planes) -> Planes:
    """The product of matrices over the last two axes."""
    b, (rows, size), columns = writer.b, x.re.shape[-2:], y.re.shape[-1]
    if max(rows * size, size * columns, rows * columns) <= _SMALL or 0 in x.re.shape or columns == 0:
        return contraction(writer, instruction, x, y)
    if columns == 1:
        return _times_vector(writer, x, y)
    if writer.is_zero(y.im):
        return Planes(*_halves(b, b.matmul(_stacked(b, x), y.re)))
    if writer.is_zero(x.im):
        return writer.columns(_as_pairs(b, b.matmul(x.re, _as_rows(b, writer.together(y)))))
    if 4 * rows * size + 10 * rows * columns < 6 * size * columns:
        halves = _halves(b, b.matmul(_stacked(b, x), _as_rows(b, writer.together(y))))
        by_re, by_im = (writer.columns(_as_pairs(b, half)) for half in halves)
        return Planes(b.sub(by_re.re, by_im.im), b.add(by_re.im, by_im.re))
    product = b.matmul(_as_rows(b, writer.together(x)), _with_turned_rows(writer, y))
    return writer.columns(_as_pairs(b, product))


def _times_vector(writer: PairWriter, x: Planes, y: Planes) -> Planes:
    """The product with one column: sums, which read x once."""
    b, shape = writer.b, x.re.shape

    def across(part: Value) -> Any:
        return b.broadcast(b.reshape(part, shape=(*shape[:-2], 1, shape[-1])), shape=shape)

    factor = both(b, across, y)
    if writer.is_zero(y.im):
        terms = Planes(b.mul(x.re, factor.re), b.mul(x.im, factor.re))
    elif writer.is_zero(x.im):
        terms = Planes(b.mul(x.re, factor.re), b.mul(x.re, factor.im))
    else:
        terms = mul(b, x, factor)

    def total(part: Value) -> Any:
        return b.reshape(b.sum(part, axes=(len(shape) - 1,)), shape=(*shape[:-1], 1))

    return both(b, total, terms)


def _as_rows(b: Builder, pairs: Value) -> Any:
    """Pairs as a matrix of real numbers, whose rows have the parts in turns."""
    *shape, columns, _ = pairs.shape
    return b.reshape(pairs, shape=(*shape, 2 * columns))


def _as_pairs(b: Builder, rows: Value) -> Any:
    """The opposite of `_as_rows`."""
    return b.reshape(rows, shape=(*rows.shape[:-1], rows.shape[-1] // 2, 2))


def _stacked(b: Builder, x: Planes) -> Any:
    """The real parts above the imaginary ones."""
    return b.concat(x.re, x.im, axis=len(x.re.shape) - 2)


def _halves(b: Builder, x: Value) -> list[Any]:
    """The upper and the lower half of the rows."""
    *batch, rows, columns = x.shape
    none, size = (0,) * len(batch), (*batch, rows // 2, columns)
    return [b.slice(x, start=(*none, first, 0), size=size, step=(1,) * len(size)) for first in (0, rows // 2)]


def _with_turned_rows(writer: PairWriter, y: Planes) -> Any:
    """The rows of y with their parts in turns, each followed by `i` times itself."""
    b, (*batch, size, columns) = writer.b, y.re.shape
    shape = (*batch, size, 2, columns)

    def twice(part: Value) -> Any:
        return b.broadcast(b.reshape(part, shape=(*batch, size, 1, columns)), shape=shape)

    place = b.iota(shape=(*[1] * (len(shape) - 2), 2, 1), axis=len(shape) - 2, dtype=INT64)
    is_first = b.broadcast(b.eq(place, 0), shape=shape)
    re, im = twice(y.re), twice(y.im)
    pairs = writer.together(Planes(b.where(is_first, re, b.neg(im)), b.where(is_first, im, re)))
    return b.reshape(pairs, shape=(*batch, 2 * size, 2 * columns))
