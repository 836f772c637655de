"""Minimax polynomials for ``codegen/maths/data/elementary.txt``: a Remez exchange on a dense grid, in mpmath.

Run ``python -m tests.codegen.maths.maths_minimax [name ...]`` to print the tables again. Each `Spec` says:
approximate `target(t)` by a polynomial of `degree` in t over [low, high], minimising ``|weight(t) * error|``;
the coefficients are then rounded one by one to the dtype.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath as mp

from ...number_tables import block

mp.mp.dps = 60
Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Spec:
    """One table: what is approximated, where, and how the error is weighed."""

    name: str
    target: Function
    weight: Function
    low: Any
    high: Any
    degree: int
    dtype: str


def remez(spec: Spec, grid_per_degree: int = 24) -> tuple[list[Any], Any]:
    """Coefficients, lowest first, and the largest weighted error."""
    count = spec.degree + 2
    points = grid_per_degree * count
    low, high = mp.mpf(spec.low), mp.mpf(spec.high)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + 0.5) / points) for i in range(points)]
    values = [spec.target(t) for t in grid]
    weights = [abs(spec.weight(t)) for t in grid]
    chosen = [min(points - 1, i * points // (count - 1)) for i in range(count)]
    coefficients: list[Any] = []
    for _ in range(60):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, i in enumerate(chosen):
            for k in range(count - 1):
                matrix[row, k] = grid[i] ** k
            matrix[row, count - 1] = (-1) ** row / weights[i]
            right[row] = values[i]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[k] for k in range(count - 1)]
        level = abs(solution[count - 1])
        errors = [w * (value_at(coefficients, t) - v) for t, v, w in zip(grid, values, weights, strict=True)]
        extrema: list[int] = []  # one index per run of equal sign: its largest error
        for i, error in enumerate(errors):
            if extrema and (error > 0) == (errors[extrema[-1]] > 0):
                if abs(error) > abs(errors[extrema[-1]]):
                    extrema[-1] = i
            else:
                extrema.append(i)
        while len(extrema) > count:
            if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]):
                extrema.pop(0)
            else:
                extrema.pop()
        worst = max(abs(error) for error in errors)
        if len(extrema) < count or worst < level * 1.001:
            return coefficients, worst
        chosen = extrema
    return coefficients, worst


def value_at(coefficients: Sequence[Any], t: Any) -> Any:
    """The polynomial's value, by Horner's rule."""
    total = mp.mpf(0)
    for coefficient in reversed(coefficients):
        total = total * t + coefficient
    return total


def rounded(value: Any, dtype: str) -> float:
    """The nearest float of `dtype`."""
    number = float(value)
    return float(struct.unpack("<f", struct.pack("<f", number))[0]) if dtype == "f32" else number


def odd_excess(function: Function, power: int = 1) -> Function:
    """(f(x) - x) / x**3 as a function of t = x**2."""

    def target(t: Any) -> Any:
        x = mp.sqrt(t) if t > 0 else mp.mpf(10) ** -12
        with mp.workdps(90):
            return (function(x) - x) / x**3

    return target


def odd_weight(function: Function) -> Function:
    def weight(t: Any) -> Any:
        x = mp.sqrt(t)
        return x**3 / function(x)

    return weight


def guarded(function: Function) -> Function:
    """The function with a removable singularity at 0 stepped over."""

    def target(t: Any) -> Any:
        with mp.workdps(120):
            return function(mp.mpf(t) if abs(t) > mp.mpf(10) ** -14 else mp.mpf(10) ** -14)

    return target


def odd(name: str, function: Function, high: Any, f32: int, f64: int) -> list[Spec]:
    top = mp.mpf(high) ** 2 * (1 + mp.mpf(2) ** -16)
    pair = (("f32", f32), ("f64", f64))
    return [
        Spec(name, odd_excess(function), odd_weight(function), mp.mpf(10) ** -12, top, n, d)
        for d, n in pair
        if n
    ]


HALF_LN2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -16)
LOW_F, HIGH_F = mp.sqrt(0.5) - 1 - mp.mpf(2) ** -16, mp.sqrt(2) - 1 + mp.mpf(2) ** -16
TOP_Z = (HIGH_F / (2 + HIGH_F)) ** 2


def both(
    name: str, target: Function, weight: Function, low: Any, high: Any, f32: int, f64: int
) -> list[Spec]:
    pair = (("f32", f32), ("f64", f64))
    return [Spec(name, guarded(target), guarded(weight), low, high, n, d) for d, n in pair if n >= 0]


def scaled_erfc(t: Any, centre: float) -> Any:
    """(x + K) exp(x^2) erfc(x) at q = (x - K) / (x + K)."""
    x = centre * (1 + t) / (1 - t)
    return (x + centre) * mp.exp(x * x) * mp.erfc(x)


ERFC_K = {"f32": 2.0, "f64": 4.0}
ERF_MIDDLE = {"f32": 2.5, "f64": 3.5}


def erf_tail(dtype: str, top: float, degree: int) -> Spec:
    """erf x = 1 - exp(-x G(x - middle)), 1 <= x <= top."""
    middle, floor = ERF_MIDDLE[dtype], 1e-9 if dtype == "f32" else 1e-18

    def target(u: Any) -> Any:
        return -mp.log(mp.erfc(u + middle)) / (u + middle)

    def weight(u: Any) -> Any:
        return (u + middle) * mp.erfc(u + middle) + floor

    return Spec("ERF_TAIL", target, weight, 1 - middle, top - middle, degree, dtype)


def erfc(dtype: str, top: float, degree: int) -> Spec:
    """erfc x = d exp(-x^2) F(q), d = 1 / (x + K), q = (x - K) d, 0 <= x <= top."""
    centre = ERFC_K[dtype]

    def target(t: Any) -> Any:
        return scaled_erfc(t, centre)

    def weight(t: Any) -> Any:
        return 1 / scaled_erfc(t, centre)

    return Spec("ERFC", target, weight, -1, (mp.mpf(top) - centre) / (top + centre), degree, dtype)


def specs() -> list[Spec]:
    s, q = mp.sinh, mp.sqrt
    out: list[Spec] = []
    # e^r = 1 + r + r^2 Q(r)
    out += both(
        "EXP", lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r), -HALF_LN2, HALF_LN2, 5, 10
    )
    # 2^r = 1 + r Q(r)
    half = mp.mpf(0.5) * (1 + mp.mpf(2) ** -16)
    out += both("EXP2", lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r / 2**r, -half, half, 5, 11)
    # sinh r = r + r^3 A(r^2); cosh r = 1 + r^2 B(r^2)
    out += odd("SINH", s, HALF_LN2, 1, 4)
    out += both("COSH", lambda z: (mp.cosh(q(z)) - 1) / z, lambda z: z / mp.cosh(q(z)), 0, HALF_LN2**2, 2, 4)
    # log1p(f) = f - f^2/2 + f^3 Q(f)
    out += both(
        "LOG",
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3,
        lambda f: f**3 / mp.log1p(f),
        LOW_F,
        HIGH_F,
        8,
        -1,
    )
    # log1p(f) = 2 s + s z L(z), s = f / (2 + f), z = s^2
    out += both(
        "LOG", lambda z: (2 * mp.atanh(q(z)) / q(z) - 2) / z, lambda z: z / 2, mp.mpf(10) ** -10, TOP_Z, -1, 6
    )
    # sin r = r + r^3 A(r^2) up to pi/2, and up to pi/4; cos r = 1 - z/2 + z^2 C(z) up to pi/4
    out += odd("SIN", mp.sin, mp.pi / 2, 3, 7)
    out += odd("SIN_QUARTER", mp.sin, mp.pi / 4, 2, 5)
    # tan r = r + r^3 A(r^2) up to pi/4
    out += odd("TAN", mp.tan, mp.pi / 4, 6, 13)
    out += both(
        "COS_QUARTER",
        lambda z: (mp.cos(q(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mp.cos(q(z)),
        mp.mpf(10) ** -10,
        (mp.pi / 4) ** 2 * (1 + mp.mpf(2) ** -16),
        2,
        5,
    )
    # asin x = x + x^3 A(x^2), x <= 1/2; atan x = x + x^3 A(x^2), x <= 1
    out += odd("ASIN", mp.asin, 0.5, 4, 11)
    out += odd("ATAN", mp.atan, 1, 8, 19)
    # erf x = x + x A(x^2), x <= 1
    out += both(
        "ERF_SMALL",
        lambda z: mp.erf(q(z)) / q(z) - 1,
        lambda z: q(z) / mp.erf(q(z)),
        mp.mpf(10) ** -10,
        1,
        6,
        11,
    )
    out += [erf_tail("f32", 4, 5), erf_tail("f64", 6, 16)]
    out += [erfc("f32", 10.1, 10), erfc("f64", 27.3, 22)]
    # pow in f32, through f64: log2(1 + f) = f Q(f)
    ln2 = mp.log(2)
    out += both(
        "LOG2_IN_F64", lambda f: mp.log1p(f) / f / ln2, lambda f: f / mp.log1p(f), LOW_F, HIGH_F, -1, 12
    )
    # pow in f64: log2(m) = s (2 + 2/3 z + z^2 Q(z)) / ln 2
    out += both(
        "LOG2_WIDE",
        lambda z: (2 * mp.atanh(q(z)) / q(z) - 2 - 2 * z / 3) / z**2 / ln2,
        lambda z: z**2,
        mp.mpf(10) ** -8,
        TOP_Z,
        -1,
        6,
    )
    return out


def table_of(spec: Spec) -> tuple[list[float], Any]:
    """The coefficients as they stand in the table, and the largest weighted error before rounding."""
    coefficients, worst = remez(spec)
    return [rounded(coefficient, spec.dtype) for coefficient in coefficients], worst


def main() -> None:
    expected = set(sys.argv[1:])
    for spec in specs():
        if expected and spec.name not in expected:
            continue
        row, worst = table_of(spec)
        comment = f"degree {spec.degree}, weighted error 2^{float(mp.log(worst, 2)):.1f}"
        print(block(spec.name, [spec.dtype], [row], comment), flush=True)


if __name__ == "__main__":
    main()
