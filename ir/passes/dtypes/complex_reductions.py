"""Products of complex matrices as real ones, and products, maxima and minima of complex values, on planes.

A rule is ``rule(b, instruction, operands)``.

A matrix in memory, of pairs, is a real one whose rows have a number's parts in turns. With `i` times each row
of y below it,

    [x.re x.im ...] [y.re y.im ...; -y.im y.re ...; ...]  =  [z.re z.im ...]

is one real product, which reads x and writes z where they lie. Where x has so few rows that twice as many of
the result cost less than twice as many of y, it is ``[x.re; x.im] y``, whose halves are added up. Results are
as exact as real products are; the three products of Gauss would lose places of small imaginary parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from ...builder import Builder
from ...dtypes import INT64
from ...graph import Instruction, Value
from ...ops.reductions import spread
from .complex_arithmetic import Planes, both, choose, mul

#: Elements up to which matrices are kept in planes: code for loops has those in registers.
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


Rule = Callable[[Builder, Instruction, list[Any]], Any]
#: Parts of a line that one loop nest multiplies with each other.
_FACTORS: Final = 8


def _extremum(*, largest: bool) -> Rule:
    """The last or the first in NumPy's order: by real parts, and where these are equal by imaginary parts. If
    any element has a NaN, the first one that has."""
    worst = -math.inf if largest else math.inf

    def rule(b: Builder, instruction: Instruction, operands: list[Any]) -> Planes:
        (x,), axes = operands, instruction.attrs["axes"]
        fold = b.max if largest else b.min

        def best(condition: Any, part: Any) -> Any:
            """The best of `part` where `condition` holds; NaN where that has one."""
            others = b.full(value=worst, shape=part.shape, dtype=part.dtype)
            return fold(b.where(condition, part, others), axes=axes)

        def is_at(value: Any, reduced: Any) -> Any:
            return b.eq(value, spread(b, reduced, x.re.shape, axes))

        nan = b.logical_or(b.isnan(x.re), b.isnan(x.im))
        number = b.logical_not(nan)
        re = best(number, x.re)
        im = best(b.logical_and(number, is_at(x.re, re)), x.im)
        place = _places(b, x.re.shape, axes)
        behind = b.full(value=x.re.type.size, shape=x.re.shape, dtype=place.dtype)
        first = is_at(place, b.min(b.where(nan, place, behind), axes=axes))
        first_nan = both(b, lambda part: best(first, part), x)
        return choose(b, b.any(nan, axes=axes), first_nan, Planes(re, im))

    return rule


def _places(b: Builder, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """The number of elements that come before each element along `axes`, in memory's order."""
    place, stride = b.full(value=0, shape=tuple(shape), dtype=np.dtype(np.int64)), 1
    for axis in sorted(axes, reverse=True):
        count = b.iota(axis=axis, shape=tuple(shape), dtype=np.dtype(np.int64))
        place, stride = b.add(place, b.mul(count, stride)), stride * shape[axis]
    return place


def _product(b: Builder, instruction: Instruction, operands: list[Any]) -> Planes:
    """The product along axes, one after the other."""
    x: Planes = operands[0]
    for axis in sorted(instruction.attrs["axes"], reverse=True):
        x = _along(b, x, axis)
    return x


def _along(b: Builder, x: Planes, axis: int) -> Planes:
    """The product along `axis`: parts of lines are multiplied with each other, until one element is left."""
    shape, size, rest = x.re.shape, x.re.shape[axis], list[Planes]()
    left = (*shape[:axis], *shape[axis + 1 :])
    if size == 0:
        return Planes(*[b.full(value=value, shape=left, dtype=x.dtype) for value in (1.0, 0.0)])

    def some(x: Planes, start: int, count: int) -> Planes:
        at = tuple([start if dim == axis else 0 for dim in range(len(shape))])
        sizes = (*shape[:axis], count, *shape[axis + 1 :])
        return both(b, lambda part: b.slice(part, start=at, size=sizes, step=(1,) * len(shape)), x)

    while size > 1:
        parts = min(_FACTORS, size)
        count = size // parts
        rest += [some(x, place, 1) for place in range(count * parts, size)]
        x, size = _product_of(b, [some(x, count * part, count) for part in range(parts)]), count
    x = _product_of(b, [x, *rest])
    return both(b, lambda part: b.reshape(part, shape=left), x)


def _product_of(b: Builder, factors: list[Planes]) -> Planes:
    """The product of values, in pairs."""
    while len(factors) > 1:
        pairs = [mul(b, *factors[i : i + 2]) for i in range(0, len(factors) - 1, 2)]
        factors = pairs + factors[len(factors) // 2 * 2 :]
    return factors[0]


REDUCTIONS: Final[dict[str, Rule]] = {
    "max": _extremum(largest=True),
    "min": _extremum(largest=False),
    "prod": _product,
}
