"""Numbers of distributions from random words, by NumPy's algorithms and in its order of draws.

Sources: for normal and exponential numbers see `ziggurat`; D. Lemire, "Fast Random Integer Generation in an
Interval" (2019); G. Marsaglia's polar method for the normal numbers of ``np.random``; G. Marsaglia and W.
Tsang, "A Simple Method for Generating Gamma Variables" (2000). NumPy's C code rounds each product, and so do
sums with products here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ..array.elementwise import floats, ufuncs
from ..dispatch.dispatch import apply
from ..ir.registry import OPS
from ..tensors.generator_states import GAUSS, HAS_GAUSS
from ..tensors.tensor import wrap
from . import ziggurat
from .bit_generators import LOW, BitGenerator, as_float, as_integer, high_product, word
from .rejection import accepted, chosen, float64, of_c, power_of_c, rounded

_MAXIMUM: Final = (1 << 64) - 1


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
        size = rounded(as_float(as_integer(place)) * wrap(tables.widths)[strip])
        x = floats.where((drawn & (1 << 8)) != 0, -size, size)

        def tail(bits: BitGenerator) -> tuple[Any, Any]:
            def far(bits: BitGenerator) -> tuple[Any, Any]:
                behind = -(1 / ziggurat.NORMAL_TAIL) * of_c("log1p", -bits.fraction())
                height = -of_c("log1p", -bits.fraction())
                return height + height <= behind * behind, rounded(behind)

            end = ziggurat.NORMAL_TAIL + accepted(bits, far, 0.0)
            return word(0) != 0, floats.where((place & (1 << 8)) != 0, -end, end)

        def wedge(bits: BitGenerator) -> tuple[Any, Any]:
            return _is_above(tables, strip, bits.fraction(), ufuncs.exp(-0.5 * x * x)), x

        def outside(bits: BitGenerator) -> Any:
            return chosen(bits, strip == 0, tail, wedge)

        inside = place < wrap(tables.inside)[strip]
        rejected, number = chosen(bits, inside, lambda _: (word(0) != 0, x), outside)
        return rejected, number

    return accepted(bits, attempt, 0.0)


def standard_exponential(bits: BitGenerator) -> Any:
    """An exponential number of mean 1, by the ziggurat method."""
    tables = ziggurat.exponential()

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = bits.next64() >> 3
        strip, place = as_integer(drawn & (ziggurat.STRIPS - 1)), drawn >> 8
        x = rounded(as_float(as_integer(place)) * wrap(tables.widths)[strip])

        def tail(bits: BitGenerator) -> tuple[Any, Any]:
            return word(0) != 0, ziggurat.EXPONENTIAL_TAIL - of_c("log1p", -bits.fraction())

        def wedge(bits: BitGenerator) -> tuple[Any, Any]:
            return _is_above(tables, strip, bits.fraction(), ufuncs.exp(-x)), x

        def outside(bits: BitGenerator) -> Any:
            return chosen(bits, strip == 0, tail, wedge)

        inside = place < wrap(tables.inside)[strip]
        rejected, number = chosen(bits, inside, lambda _: (word(0) != 0, x), outside)
        return rejected, number

    return accepted(bits, attempt, 0.0)


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
            square = rounded(x * x) + rounded(y * y)
            return (square >= 1.0) | (square == 0.0), (x, y, square)

        x, y, square = accepted(bits, attempt, (0.0, 0.0, 0.0))
        factor = ufuncs.sqrt(-2.0 * of_c("log", square) / square)
        bits.words[GAUSS] = apply(OPS["float_bits"], (rounded(factor * x),), {})
        bits.words[HAS_GAUSS] = 1
        return (rounded(factor * y),)

    return chosen(bits, bits.words[HAS_GAUSS] != 0, keeps, draws)[0]


def legacy_exponential(bits: BitGenerator) -> Any:
    """An exponential number of ``np.random``, of mean 1."""
    return -of_c("log", 1.0 - bits.fraction())


#: A draw of one number of mean 1, or of mean 0 and deviation 1.
Draw: TypeAlias = Callable[[BitGenerator], Any]


def standard_gamma(bits: BitGenerator, shape: Any, normal: Draw, exponential: Draw) -> Any:
    """A gamma number of `shape` and scale 1, of numbers that `normal` and `exponential` draw."""

    def other(bits: BitGenerator) -> Any:
        return chosen(bits, shape == 0.0, lambda _: (float64(0.0),), positive)

    def positive(bits: BitGenerator) -> Any:
        return chosen(
            bits, shape < 1.0, lambda bits: (_gamma_below_1(bits, shape, exponential),),
            lambda bits: (_gamma_above_1(bits, shape, normal),),
        )  # fmt: skip

    return chosen(bits, shape == 1.0, lambda bits: (exponential(bits),), other)[0]


def _gamma_below_1(bits: BitGenerator, shape: Any, exponential: Draw) -> Any:
    power, rest = 1.0 / shape, 1.0 - shape

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        fraction, limit = bits.fraction(), exponential(bits)

        def near(_: BitGenerator) -> tuple[Any, Any]:
            x = power_of_c(fraction, power)
            return x > limit, x

        def far(_: BitGenerator) -> tuple[Any, Any]:
            y = -of_c("log", (1.0 - fraction) / shape)
            x = power_of_c(rest + rounded(shape * y), power)
            return x > limit + y, x

        rejected, x = chosen(bits, fraction <= rest, near, far)
        return rejected, x

    return accepted(bits, attempt, 0.0)


def _gamma_above_1(bits: BitGenerator, shape: Any, normal: Draw) -> Any:
    b = shape - 1.0 / 3.0
    c = 1.0 / rounded(ufuncs.sqrt(rounded(9.0 * b)))

    def positive(bits: BitGenerator) -> tuple[Any, Any]:
        x = normal(bits)
        v = 1.0 + rounded(c * x)
        return v <= 0.0, (x, v)

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        x, v = accepted(bits, positive, (0.0, 0.0))
        v, square, fraction = v * v * v, x * x, bits.fraction()

        def between(_: BitGenerator) -> tuple[Any]:
            limit = rounded(0.5 * x * x) + rounded(b * (1.0 - v + of_c("log", v)))
            return (of_c("log", fraction) >= limit,)

        inside = fraction < 1.0 - rounded(0.0331 * square * square)
        (rejected,) = chosen(bits, inside, lambda _: (word(0) != 0,), between)
        return rejected, rounded(b * v)

    return accepted(bits, attempt, 0.0)


def moved(low: Any, scale: Any, number: Any) -> Any:
    """``low + scale * number``"""
    return low + rounded(scale * number)


def scaled(scale: Any, number: Any) -> Any:
    """``scale * number``"""
    return rounded(scale * number)


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
        return chosen(bits, tests[3], wide, lambda bits: (bits.next64(),))

    def from_33(bits: BitGenerator) -> Any:
        return chosen(bits, tests[2], lambda bits: (bits.next32(),), from_64)

    def drawn(bits: BitGenerator) -> Any:
        return chosen(bits, tests[1], narrow, from_33)

    return chosen(bits, tests[0], lambda _: (word(0),), drawn)[0]


def _product_32(bits: BitGenerator, span: Any) -> Any:
    count = span + 1
    least = (LOW - span) % count

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        product = bits.next32() * count
        return (product & LOW) < least, product >> 32

    return accepted(bits, attempt, word(0))


def _product_64(bits: BitGenerator, span: Any) -> Any:
    count = span + 1
    least = (word(_MAXIMUM) - span) % count

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = bits.next64()
        return drawn * count < least, high_product(drawn, count)

    return accepted(bits, attempt, word(0))


def _masked(bits: BitGenerator, span: Any, size: int) -> Any:
    mask = span
    for shift in (1, 2, 4, 8, 16, 32):
        mask = mask | (mask >> shift)

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        drawn = (bits.next32() if size == 32 else bits.next64()) & mask
        return drawn > span, drawn

    return accepted(bits, attempt, word(0))
