"""Counts of distributions, by NumPy's algorithms and in its order of draws.

Sources: W. Hoermann, "The transformed rejection method for generating Poisson random variables" (1993); for
binomial counts inversion, and V. Kachitvichyanukul and B. Schmeiser, "Binomial Random Variate Generation"
(1988). NumPy's C code rounds each product, and so do sums with products here.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from ..array.elementwise import floats, ufuncs
from ..control.branches import cond
from ..control.loops import while_loop
from .bit_generators import BitGenerator, word
from .rejection import accepted, chosen, float64, of_c, repeated, rounded

#: The coefficients of Stirling's series in 1 / x^2, and log(2 pi), as NumPy has them.
_STIRLING: Final = (
    8.333333333333333e-02, -2.777777777777778e-03, 7.936507936507937e-04, -5.952380952380952e-04,
    8.417508417508418e-04, -1.917526917526918e-03, 6.410256410256410e-03, -2.955065359477124e-02,
    1.796443723688307e-01, -1.39243221690590e00,
)  # fmt: skip
_LOG_2_PI: Final = 1.8378770664093453e00


def poisson(bits: BitGenerator, mean: Any) -> Any:
    """A Poisson count of the `mean`, a float64."""

    def low(bits: BitGenerator) -> Any:
        return chosen(
            bits, mean == 0.0, lambda _: (float64(0.0),), lambda bits: (_poisson_by_products(bits, mean),)
        )

    return chosen(bits, mean >= 10.0, lambda bits: (_poisson_by_rejection(bits, mean),), low)[0]


def _poisson_by_products(bits: BitGenerator, mean: Any) -> Any:
    least = of_c("exp", -mean)

    def step(bits: BitGenerator, product: Any, count: Any) -> tuple[Any, ...]:
        product = rounded(product * bits.fraction())
        return product > least, product, count + 1.0

    return repeated(bits, step, (1.0, -1.0))[1]


def _poisson_by_rejection(bits: BitGenerator, mean: Any) -> Any:
    mean = float64(mean)
    root, log_mean = ufuncs.sqrt(mean), of_c("log", mean)
    b = 0.931 + rounded(2.53 * root)
    a = -0.059 + rounded(0.02483 * b)
    log_alpha = of_c("log", 1.1239 + 1.1328 / (b - 3.4))
    most = 0.9277 - 3.6224 / (b - 2.0)

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        u = bits.fraction() - 0.5
        v = bits.fraction()
        distance = 0.5 - ufuncs.abs(u)
        count = ufuncs.floor(rounded((2.0 * a / distance + b) * u) + mean + 0.43)

        def beside(_: BitGenerator) -> tuple[Any]:
            left = of_c("log", v) + log_alpha - of_c("log", a / rounded(distance * distance) + b)
            right = -mean + rounded(count * log_mean) - _log_gamma(count + 1.0)
            return (np.logical_not(left <= right),)

        def outside(bits: BitGenerator) -> Any:
            fails = (count < 0.0) | ((distance < 0.013) & (v > distance))
            return chosen(bits, fails, lambda _: (word(0) == 0,), beside)

        inside = (distance >= 0.07) & (v <= most)
        (rejected,) = chosen(bits, inside, lambda _: (word(0) != 0,), outside)
        return rejected, count

    return accepted(bits, attempt, 0.0)


def _log_gamma(x: Any) -> Any:
    """The logarithm of gamma at the integer x > 0, a float64."""
    far = floats.where(x < 7.0, 7.0, x)
    inverse = 1.0 / far
    square = rounded(inverse * inverse)
    series: Any = float64(_STIRLING[-1])
    for coefficient in _STIRLING[-2::-1]:
        series = rounded(series * square) + coefficient
    value = series / far + 0.5 * _LOG_2_PI + rounded((far - 0.5) * of_c("log", far)) - far

    def nearer(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        value, at = carry
        return value - of_c("log", at - 1.0), at - 1.0

    value, _ = while_loop(lambda carry: carry[1] > x, nearer, (value, far))
    return floats.where((x == 1.0) | (x == 2.0), 0.0, value)


class BinomialVersion(NamedTuple):
    """Differences between NumPy's versions, and between its two kinds of generator.

    Attributes:
        has_shortcut: whether nothing is drawn where no trial can succeed.
        is_exact: whether the logarithm of 1 - p is that of ``log1p``.
        is_corrected: whether the errors of Stirling's series are those of the formula, and not of the paper.
    """

    has_shortcut: bool
    is_exact: bool
    is_corrected: bool


_NUMPY: Final = np.lib.NumpyVersion(np.__version__)
GENERATOR_BINOMIAL: Final = BinomialVersion(True, _NUMPY >= "2.4.0", _NUMPY >= "2.5.0")
LEGACY_BINOMIAL: Final = BinomialVersion(False, "2.4.0" <= _NUMPY < "2.5.0", False)


def binomial(bits: BitGenerator, trials: Any, p: Any, version: BinomialVersion) -> Any:
    """The number of successes in `trials` of the probability `p`, both float64."""

    def successes(bits: BitGenerator, p: Any) -> Any:
        return chosen(
            bits, p * trials <= 30.0, lambda bits: (_binomial_by_inversion(bits, trials, p, version),),
            lambda bits: (_binomial_by_rejection(bits, trials, p, version),),
        )  # fmt: skip

    def mirrored(bits: BitGenerator) -> Any:
        return (trials - successes(bits, 1.0 - p)[0],)

    def drawn(bits: BitGenerator) -> Any:
        return chosen(bits, p <= 0.5, lambda bits: successes(bits, p), mirrored)

    if not version.has_shortcut:
        return drawn(bits)[0]
    return chosen(bits, (trials == 0.0) | (p == 0.0), lambda _: (float64(0.0),), drawn)[0]


def _binomial_by_inversion(bits: BitGenerator, trials: Any, p: Any, version: BinomialVersion) -> Any:
    trials, p = float64(trials), float64(p)
    q = 1.0 - p
    none = of_c("exp", rounded(trials * (of_c("log1p", -p) if version.is_exact else of_c("log", q))))
    mean = rounded(trials * p)
    far = mean + rounded(10.0 * ufuncs.sqrt(rounded(mean * q) + 1.0))
    most = ufuncs.floor(floats.where(trials < far, trials, far))

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        def further(carry: tuple[Any, Any, Any]) -> tuple[Any, ...]:
            fraction, share, count = carry
            following = rounded((trials - (count + 1.0) + 1.0) * p * share) / rounded((count + 1.0) * q)
            return fraction - share, following, count + 1.0

        start = bits.fraction(), none, float64(0.0)
        _, _, count = while_loop(lambda carry: (carry[0] > carry[1]) & (carry[2] <= most), further, start)
        return count > most, count

    return accepted(bits, attempt, 0.0)


def _binomial_by_rejection(bits: BitGenerator, trials: Any, p: Any, version: BinomialVersion) -> Any:
    n, r = float64(trials), float64(p)
    q = 1.0 - r
    top = rounded(n * r) + r
    mode = ufuncs.floor(top)
    variance = rounded(n * r * q)
    width = ufuncs.floor(rounded(2.195 * ufuncs.sqrt(variance)) - rounded(4.6 * q)) + 0.5
    middle = mode + 0.5
    left, right = middle - width, middle + width
    c = 0.134 + 20.5 / (15.3 + mode)
    falls = []
    for slope in ((top - left) / (top - rounded(left * r)), (right - top) / rounded(right * q)):
        falls.append(rounded(slope * (1.0 + slope / 2.0)))
    ends = [width, rounded(width * (1.0 + 2.0 * c))]
    for fall in falls:
        ends.append(ends[-1] + c / fall)

    def attempt(bits: BitGenerator) -> tuple[Any, Any]:
        u = rounded(bits.fraction() * ends[3])
        v = bits.fraction()

        def triangle() -> tuple[Any, ...]:
            return ufuncs.floor(middle - rounded(width * v) + u), v, u < 0.0, u >= 0.0

        def parallelogram() -> tuple[Any, ...]:
            x = left + (u - width) / c
            height = rounded(v * c) + 1.0 - ufuncs.abs(mode - x + 0.5) / width
            return ufuncs.floor(x), height, height > 1.0, u < 0.0

        def left_tail() -> tuple[Any, ...]:
            count = ufuncs.floor(left + of_c("log", v) / falls[0])
            return count, rounded(v * (u - ends[1]) * falls[0]), (count < 0.0) | (v == 0.0), u < 0.0

        def right_tail() -> tuple[Any, ...]:
            count = ufuncs.floor(right - of_c("log", v) / falls[1])
            return count, rounded(v * (u - ends[2]) * falls[1]), (count > n) | (v == 0.0), u < 0.0

        def tail() -> Any:
            return cond(u > ends[2], right_tail, left_tail)

        def beside() -> Any:
            return cond(u > ends[1], tail, parallelogram)

        count, height, fails, inside = cond(u > ends[0], beside, triangle)

        def tested() -> Any:
            distance = ufuncs.abs(count - mode)
            is_far = (distance > 20.0) & (distance < variance / 2.0 - 1.0)
            return cond(
                is_far, lambda: _is_above_series(version, n, r, q, mode, middle, variance, count, height),
                lambda: height > _binomial_ratio(n, r, q, mode, count),
            )  # fmt: skip

        return cond(fails | inside, lambda: fails, tested), count

    return accepted(bits, attempt, 0.0)


def _binomial_ratio(n: Any, r: Any, q: Any, mode: Any, count: Any) -> Any:
    """The probability of `count` over that of the `mode`, by a product."""
    s = r / q
    a = rounded(s * (n + 1.0))

    def up(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        ratio, i = carry
        return rounded(ratio * (a / i - s)), i + 1.0

    def down(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        ratio, i = carry
        return ratio / (a / i - s), i + 1.0

    ratio, _ = while_loop(lambda carry: carry[1] <= count, up, (float64(1.0), mode + 1.0))
    return while_loop(lambda carry: carry[1] <= mode, down, (ratio, count + 1.0))[0]


def _is_above_series(
    version: BinomialVersion, n: Any, r: Any, q: Any, mode: Any, middle: Any, variance: Any, count: Any,
    height: Any,
) -> Any:  # fmt: skip
    """Whether the `height` is not below the probability of `count`, by bounds and Stirling's series."""
    distance = ufuncs.abs(count - mode)
    inner = rounded(distance * (distance / 3.0 + 0.625)) + 0.16666666666666666
    width = rounded((distance / variance) * (inner / variance + 0.5))
    center = -distance * distance / (2.0 * variance)
    log = of_c("log", height)

    def between() -> Any:
        x, f, z, w = count + 1.0, mode + 1.0, n + 1.0 - mode, n - count + 1.0
        limit = rounded(middle * of_c("log", f / x)) + rounded((n - mode + 0.5) * of_c("log", z / w))
        limit = limit + rounded((count - mode) * of_c("log", rounded(w * r) / rounded(x * q)))
        for place, y in enumerate((f, z, x, w)):
            error = _series_error(version, y)
            limit = limit - error if version.is_corrected and place > 1 else limit + error
        return log > limit

    return cond(
        log < center - width, lambda: log < -math.inf,
        lambda: cond(log > center + width, lambda: log > -math.inf, between),
    )  # fmt: skip


def _series_error(version: BinomialVersion, x: Any) -> Any:
    """The error of Stirling's formula for log x!, by its series."""
    square = rounded(x * x)
    total = 140.0 / square
    for coefficient in (99.0, 132.0, 462.0):
        total = (coefficient - total) / square
    return ((13860.0 if version.is_corrected else 13680.0) - total) / x / 166320.0
