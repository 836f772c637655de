"""Arrays of draws and random orders: one draw after the other, in the order of NumPy's elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..array.elementwise.floats import where
from ..array.operands import broadcast, filled, reshaped
from ..control.scans import scan
from ..ir.dtypes import BOOL, INT64, DType
from ..ir.types import Shape
from ..tensors.tensor import Tensor, wrap
from .bit_generators import BitGenerator, as_integer, as_word, overwrite
from .distributions import bounded


class Uncovered(Exception):
    """A draw that is not compiled. Nothing was drawn."""


#: A draw of one number, with the parameters behind the generator.
Draw = Callable[..., Any]


def shape_of(size: Any, parameters: Sequence[Any]) -> Shape | None:
    """The shape of draws with the option `size` and `parameters`; None of a single number."""
    own = [parameter.shape for parameter in parameters if isinstance(parameter, Tensor)]
    try:
        common = np.broadcast_shapes(*own)
        if size is None:
            return common or None
        shape = tuple(map(operator.index, size if isinstance(size, (tuple, list)) else (size,)))
    except (TypeError, ValueError):
        raise Uncovered from None
    if any(part < 0 for part in shape):
        raise Uncovered
    try:
        covers = np.broadcast_shapes(shape, common) == shape
    except ValueError:
        covers = False
    if not covers:
        raise Uncovered
    return shape


def drawn(bits: BitGenerator, draw: Draw, size: Any, parameters: Sequence[Any], dtype: DType) -> Any:
    """``draw(bits, *parameters)``, once for each element of `parameters`, which are numbers or tensors, in
    the shape `size`. The numbers have the `dtype`."""
    shape = shape_of(size, parameters)
    if shape is None:
        return draw(bits, *parameters)
    count = math.prod(shape)
    if not count:
        return filled(0, shape, dtype)
    lines = {
        place: reshaped(broadcast(parameter, shape), (count,))
        for place, parameter in enumerate(parameters)
        if isinstance(parameter, Tensor) and parameter.shape
    }

    def step(words: Tensor, elements: dict[int, Tensor]) -> tuple[Tensor, Any]:
        own = type(bits)(words)
        number = draw(own, *[elements.get(place, one) for place, one in enumerate(parameters)])
        return own.words, number

    words, numbers = scan(step, wrap(bits.words._data), lines, length=count)
    overwrite(bits.words, words)
    return reshaped(numbers, shape)


def shuffled(bits: BitGenerator, order: Tensor, least: int = 1, *, masked: bool = True) -> Tensor:
    """`order`, a line, shuffled from its end to the place `least`, as NumPy shuffles: each element changes
    places with one that is drawn from those up to it, where `masked` by its lowest bits."""
    places = np.arange(order.shape[0] - 1, least - 1, -1)
    if not len(places):
        return order

    def step(carry: tuple[Tensor, Tensor], place: Any) -> tuple[Any, None]:
        words, own = carry
        inner = type(bits)(words)
        other = as_integer(bounded(inner, as_word(place), masked=masked))
        first, second = own[place], own[other]
        own[place], own[other] = second, first
        return (inner.words, own), None

    (words, order), _ = scan(step, (wrap(bits.words._data), order), wrap(places))
    overwrite(bits.words, words)
    return order


def sampled(bits: BitGenerator, population: int, count: int, *, shuffle: bool) -> Tensor:
    """`count` different integers below `population`, as ``Generator.choice`` draws them."""
    if population > 10_000 and count > population // (50 if shuffle else 20):
        order = shuffled(bits, wrap(np.arange(population)), max(population - count, 1), masked=False)
        return order[population - count :]
    # Floyd's: where an integer was drawn before, the largest one takes its place
    marks = population <= count * count
    seen = filled(False, (population,), BOOL) if marks else filled(-1, (count,), INT64)

    def step(carry: tuple[Tensor, Tensor], at: tuple[Any, Any]) -> tuple[Any, Any]:
        (words, own), (place, largest) = carry, at
        inner = type(bits)(words)
        number = as_integer(bounded(inner, as_word(largest), masked=False))
        number = where(own[number] if marks else (own == number).any(), largest, number)
        if marks:
            own[number] = True
        else:
            own[place] = number
        return (inner.words, own), number

    places = wrap(np.arange(count)), wrap(np.arange(population - count, population))
    (words, _), numbers = scan(step, (wrap(bits.words._data), seen), places)
    overwrite(bits.words, words)
    return shuffled(bits, numbers, masked=False) if shuffle else numbers
