"""Discrete Fourier transforms of few elements, in registers.

Composite sizes are taken apart by Cooley and Tukey's identity: for n = a b, j = j1 b + j2 and k = k1 + a k2,

    y[k] = sum_j2 w_b^(j2 k2) w_n^(j2 k1) sum_j1 x[j] w_a^(j1 k1)

A prime size adds and subtracts elements j and n - j first, which halves the multiplications.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

from ...llvm.loops import FunctionWriter
from ...llvm.registers import Reg
from .roots import root

#: A complex number, or a vector of them: real and imaginary parts.
Complex: TypeAlias = tuple[Reg, Reg]

#: The primes that transforms in registers are written for.
PRIMES: Final = (2, 3, 5, 7, 11, 13)


def dft(w: FunctionWriter, x: Sequence[Complex]) -> list[Complex]:
    """``y[k] = sum_j x[j] exp(-2 pi i j k / n)``."""
    n = len(x)
    if n == 1:
        return list(x)
    if n == 2:
        return [_sum(w, *x), _difference(w, *x)]
    if n == 4:
        even, odd = dft(w, x[::2]), dft(w, x[1::2])
        return [
            _sum(w, even[0], odd[0]), _turned_sum(w, even[1], odd[1]),
            _difference(w, even[0], odd[0]), _turned_difference(w, even[1], odd[1]),
        ]  # fmt: skip
    factors = _factors(n)
    if factors is None:
        return _prime(w, x)
    a, b = factors
    inner = [dft(w, x[j2::b]) for j2 in range(b)]
    result: list[Complex] = [x[0]] * n
    for k1 in range(a):
        column = dft(w, [times_root(w, inner[j2][k1], j2 * k1, n) for j2 in range(b)])
        for k2 in range(b):
            result[k1 + a * k2] = column[k2]
    return result


def _factors(n: int) -> tuple[int, int] | None:
    """The factors that `n` is taken apart into; None for primes."""
    if n % 4 == 0:
        return (4, n // 4) if n != 8 else (4, 2)
    smallest = next((factor for factor in range(2, math.isqrt(n) + 1) if n % factor == 0), None)
    return None if smallest is None else (n // smallest, smallest)


def _prime(w: FunctionWriter, x: Sequence[Complex]) -> list[Complex]:
    """The transform of an odd number of elements, by sums and differences of those at both ends."""
    n, half = len(x), len(x) // 2
    sums = [_sum(w, x[k], x[n - k]) for k in range(1, half + 1)]
    differences = [_difference(w, x[k], x[n - k]) for k in range(1, half + 1)]
    total = x[0]
    for value in sums:
        total = _sum(w, total, value)
    result = [total] * n
    for j in range(1, half + 1):
        roots = [root(j * k, n) for k in range(1, half + 1)]
        even = [x[0][part] for part in (0, 1)]
        odd = [w.mul(differences[0][part], roots[0][1]) for part in (0, 1)]
        for k, (cosine, sine) in enumerate(roots):
            even = [w.fma(sums[k][part], cosine, even[part]) for part in (0, 1)]
            if k:
                odd = [w.fma(differences[k][part], sine, odd[part]) for part in (0, 1)]
        result[j] = w.sub(even[0], odd[1]), w.add(even[1], odd[0])
        result[n - j] = w.add(even[0], odd[1]), w.sub(even[1], odd[0])
    return result


def times_root(w: FunctionWriter, x: Complex, exponent: int, n: int) -> Complex:
    """`x` times ``exp(-2 pi i exponent / n)``."""
    re, im = x
    eighths, rest = divmod(exponent % n * 8, n)
    if rest:
        return times(w, x, root(exponent, n))
    if eighths % 2:
        re, im = w.mul(w.add(re, im), math.sqrt(0.5)), w.mul(w.sub(im, re), math.sqrt(0.5))
    for _ in range(eighths // 2):
        re, im = im, w.neg(re)
    return re, im


def times(w: FunctionWriter, x: Complex, factor: tuple[Reg, Reg] | tuple[float, float]) -> Complex:
    """`x` times a complex number."""
    (re, im), (c, s) = x, factor
    return w.sub(w.mul(re, c), w.mul(im, s)), w.add(w.mul(re, s), w.mul(im, c))


def _sum(w: FunctionWriter, x: Complex, y: Complex) -> Complex:
    return w.add(x[0], y[0]), w.add(x[1], y[1])


def _difference(w: FunctionWriter, x: Complex, y: Complex) -> Complex:
    return w.sub(x[0], y[0]), w.sub(x[1], y[1])


def _turned_sum(w: FunctionWriter, x: Complex, y: Complex) -> Complex:
    """``x - i y``."""
    return w.add(x[0], y[1]), w.sub(x[1], y[0])


def _turned_difference(w: FunctionWriter, x: Complex, y: Complex) -> Complex:
    """``x + i y``."""
    return w.sub(x[0], y[1]), w.add(x[1], y[0])
