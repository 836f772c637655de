"""Products, maxima and minima of complex values along axes, on planes.

A rule is ``rule(b, instruction, operands)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...builder import Builder
from ...graph import Instruction
from ...ops.reductions import spread
from .complex_arithmetic import mul
from .planes import Planes, both, choose

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
