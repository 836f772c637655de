"""Numbers of distributions from random words, by NumPy's algorithms and in its order of draws.

Sources: for normal and exponential numbers see `ziggurat`; D. Lemire, "Fast Random Integer Generation in an
Interval" (2019); G. Marsaglia's polar method for the normal numbers of ``np.random``. NumPy's C code rounds
each product, and so do sums with products here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..array.elementwise import floats, ufuncs
from ..control.branches import cond
from ..control.loops import while_loop
from ..dispatch.dispatch import apply
from ..ir.registry import OPS
from ..tensors.generator_states import GAUSS, HAS_GAUSS
from ..tensors.tensor import Tensor, wrap
from . import ziggurat
from .bit_generators import (
    LOW,
    BitGenerator,
    as_float,
    as_integer,
    high_product,
    overwrite,
    own_words,
    word,
)

_MAXIMUM: Final = (1 << 64) - 1


def _rounded(x: Any) -> Any:
    """`x`, a product that is rounded before it is added to anything."""
    return apply(OPS["rounded"], (x,), {})


def _of_c(function: str, x: Any) -> Any:
    """``log`` or ``log1p`` of x as NumPy's C code has it."""
    return apply(OPS["libm"], (x,), {"function": function})


def _chosen(
    bits: BitGenerator,
    test: Any,
    then: Callable[[BitGenerator], tuple[Any, ...]],
    otherwise: Callable[[BitGenerator], tuple[Any, ...]],
) -> Any:
    """The values of ``then(bits)`` where `test` holds, else of ``otherwise(bits)``; only that draws."""
    if isinstance(test, bool):
        return then(bits) if test else otherwise(bits)

    def branch(draw: Callable[[BitGenerator], tuple[Any, ...]]) -> Callable[[], tuple[Any, ...]]:
        def run() -> tuple[Any, ...]:
            own = type(bits)(own_words(bits.words))
            values = draw(own)
            return (own.words, *values)

        return run

    words, *values = cond(test, branch(then), branch(otherwise))
    overwrite(bits.words, words)
    return values


def _accepted(bits: BitGenerator, attempt: Callable[[BitGenerator], tuple[Any, Any]], zero: Any) -> Any:
    """The value of the first attempt that is not rejected; `attempt` gives whether it is, and its value,
    which has the type of `zero`."""

    def step(carry: tuple[Tensor, Any, Any]) -> tuple[Any, ...]:
        own = type(bits)(carry[0])
        rejected, value = attempt(own)
        return own.words, rejected, value

    words, _, value = while_loop(lambda carry: carry[1], step, (wrap(bits.words._data), True, zero))
    overwrite(bits.words, words)
    return value


# -- floating numbers ----------------------------------------------------------------------------------


def standard_normal(bits: BitGenerator) -> Any:
    """A normal number of mean 0 and deviation 1, by the ziggurat method."""
    tables = ziggurat.normal()

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = bits.next64()
        strip, place = (
            as_integer(drawn & (ziggurat.STRIPS - 1)),
            (drawn >> 9) & ((1 << ziggurat.NORMAL_BITS) - 1),
        )
        size = _rounded(as_float(as_integer(place)) * wrap(tables.widths)[strip])
        x = floats.where((drawn & (1 << 8)) != 0, -size, size)

        def tail(bits: BitGenerator) -> tuple[Any, Any]:
            def far(bits: BitGenerator) -> tuple[Any, Any]:
                behind = -(1 / ziggurat.NORMAL_TAIL) * _of_c("log1p", -bits.fraction())
                height = -_of_c("log1p", -bits.fraction())
                return height + height <= behind * behind, _rounded(behind)

            end = ziggurat.NORMAL_TAIL + _accepted(bits, far, 0.0)
            return word(0) != 0, floats.where((place & (1 << 8)) != 0, -end, end)

        def wedge(bits: BitGenerator) -> tuple[Any, Any]:
            return _is_above(tables, strip, bits.fraction(), ufuncs.exp(-0.5 * x * x)), x

        def outside(bits: BitGenerator) -> Any:
            return _chosen(bits, strip == 0, tail, wedge)

        inside = place < wrap(tables.inside)[strip]
        rejected, number = _chosen(bits, inside, lambda _: (word(0) != 0, x), outside)
        return rejected, number

    return _accepted(bits, attempt, 0.0)


def standard_exponential(bits: BitGenerator) -> Any:
    """An exponential number of mean 1, by the ziggurat method."""
    tables = ziggurat.exponential()

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = bits.next64() >> 3
        strip, place = as_integer(drawn & (ziggurat.STRIPS - 1)), drawn >> 8
        x = _rounded(as_float(as_integer(place)) * wrap(tables.widths)[strip])

        def tail(bits: BitGenerator) -> tuple[Any, Any]:
            return word(0) != 0, ziggurat.EXPONENTIAL_TAIL - _of_c("log1p", -bits.fraction())

        def wedge(bits: BitGenerator) -> tuple[Any, Any]:
            return _is_above(tables, strip, bits.fraction(), ufuncs.exp(-x)), x

        def outside(bits: BitGenerator) -> Any:
            return _chosen(bits, strip == 0, tail, wedge)

        inside = place < wrap(tables.inside)[strip]
        rejected, number = _chosen(bits, inside, lambda _: (word(0) != 0, x), outside)
        return rejected, number

    return _accepted(bits, attempt, 0.0)


def _is_above(tables: ziggurat.Ziggurat, strip: Any, fraction: Any, height: Any) -> Any:
    """Whether a `fraction` of the `strip` is not below the curve's `height`."""
    heights = wrap(tables.heights)
    top, bottom = heights[floats.where(strip > 0, strip - 1, 0)], heights[strip]
    return (top - bottom) * fraction + bottom >= height


def legacy_normal(bits: BitGenerator) -> Any:
    """A normal number of ``np.random``, of mean 0 and deviation 1, one of a pair; the other is kept."""

    def keeps(bits: BitGenerator) -> tuple[Any]:
        kept = apply(OPS["bits_float"], (bits.words[GAUSS],), {})
        bits.words[HAS_GAUSS] = bits.words[GAUSS] = 0
        return (kept,)

    def draws(bits: BitGenerator) -> tuple[Any]:
        def attempt(bits: BitGenerator) -> tuple[Any, Any]:
            x, y = 2.0 * bits.fraction() - 1.0, 2.0 * bits.fraction() - 1.0
            square = _rounded(x * x) + _rounded(y * y)
            return (square >= 1.0) | (square == 0.0), (x, y, square)

        x, y, square = _accepted(bits, attempt, (0.0, 0.0, 0.0))
        factor = ufuncs.sqrt(-2.0 * _of_c("log", square) / square)
        bits.words[GAUSS] = apply(OPS["float_bits"], (_rounded(factor * x),), {})
        bits.words[HAS_GAUSS] = 1
        return (_rounded(factor * y),)

    return _chosen(bits, bits.words[HAS_GAUSS] != 0, keeps, draws)[0]


def legacy_exponential(bits: BitGenerator) -> Any:
    """An exponential number of ``np.random``, of mean 1."""
    return -_of_c("log", 1.0 - bits.fraction())


def moved(low: Any, scale: Any, number: Any) -> Any:
    """``low + scale * number``"""
    return low + _rounded(scale * number)


def scaled(scale: Any, number: Any) -> Any:
    """``scale * number``"""
    return _rounded(scale * number)


# -- integers ------------------------------------------------------------------------------------------


def bounded(bits: BitGenerator, span: Any, *, masked: bool) -> Any:
    """A word from 0 to `span`, a Python integer or a word, both included. Where `masked`, as ``np.random``
    does: by its lowest bits, again until they are not too large; else by a product."""
    if isinstance(span, int):
        span, tests = word(span), (span == 0, span < LOW, span == LOW, span < _MAXIMUM)
    else:
        tests = (span == 0, span < LOW, span == LOW, span < word(_MAXIMUM))

    def narrow(bits: BitGenerator) -> tuple[Any]:
        return (_masked(bits, span, 32) if masked else _product_32(bits, span),)

    def wide(bits: BitGenerator) -> tuple[Any]:
        return (_masked(bits, span, 64) if masked else _product_64(bits, span),)

    def from_64(bits: BitGenerator) -> Any:
        return _chosen(bits, tests[3], wide, lambda bits: (bits.next64(),))

    def from_33(bits: BitGenerator) -> Any:
        return _chosen(bits, tests[2], lambda bits: (bits.next32(),), from_64)

    def drawn(bits: BitGenerator) -> Any:
        return _chosen(bits, tests[1], narrow, from_33)

    return _chosen(bits, tests[0], lambda _: (word(0),), drawn)[0]


def _product_32(bits: BitGenerator, span: Any) -> Any:
    count = span + 1
    least = (LOW - span) % count

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        product = bits.next32() * count
        return (product & LOW) < least, product >> 32

    return _accepted(bits, attempt, word(0))


def _product_64(bits: BitGenerator, span: Any) -> Any:
    count = span + 1
    least = (word(_MAXIMUM) - span) % count

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = bits.next64()
        return drawn * count < least, high_product(drawn, count)

    return _accepted(bits, attempt, word(0))


def _masked(bits: BitGenerator, span: Any, size: int) -> Any:
    mask = span
    for shift in (1, 2, 4, 8, 16, 32):
        mask = mask | (mask >> shift)

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = (bits.next32() if size == 32 else bits.next64()) & mask
        return drawn > span, drawn

    return _accepted(bits, attempt, word(0))
