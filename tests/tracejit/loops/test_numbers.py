"""Functions of numbers, counters and their dtypes, locals of loops."""

import math

import numpy as np
import pytest

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


@case(X)
def scalar_functions(x):
    s = 0.0
    n = 0
    for i in range(7):
        s += min(x[i], 0.5) + max(x[i], 0.2, i) + abs(-x[i]) + sum((x[i], 1.0)) + round(x[i] * 3, 1)
        n += round(x[i] * 10) + divmod(i * 5, 3)[1] + int(x[i] * 9) + int(-x[i] * 9)
        q, r = divmod(x[i] * 7, 2.0)
        s += q * r + float(i) + float(x[i] > 0.3)
        if bool(i % 2):
            s += 1
        s += pow(x[i], 2) + x[i] ** 0.5
        n += abs(i - 3) + min(i, 3) + max(i, 4) + sum([i, 1])
    return s, n


@case(X)
def maths(x):
    s = 0.0
    n = 0
    for i in range(7):
        v = x[i] * 0.9
        s += math.sin(v) + math.cos(v) + math.tan(v) + math.asin(v) + math.acos(v) + math.atan(v)
        s += (
            math.atan2(v, 0.3)
            + math.sinh(v)
            + math.cosh(v)
            + math.tanh(v)
            + math.asinh(v)
            + math.acosh(1 + v)
            + math.atanh(v)
        )
        s += (
            math.exp(v)
            + math.expm1(v)
            + math.log(v)
            + math.log(v, 3)
            + math.log1p(v)
            + math.log2(v)
            + math.log10(v)
        )
        s += math.sqrt(v) + math.hypot(v, 1) + math.pow(v, 3) + math.fabs(-v) + math.fmod(v * 10, 3)
        s += (
            math.copysign(v, -1.0)
            + math.degrees(v)
            + math.radians(v)
            + math.erf(v)
            + math.erfc(v)
            + math.gamma(v)
            + math.lgamma(v)
        )
        s += math.cbrt(v) + math.exp2(v)
        n += math.floor(v * 7) + math.ceil(v * 7) + math.trunc(-v * 7)
        n += math.isnan(v) + math.isinf(v) + math.isfinite(v) + math.isclose(v, 0.5)
        n += math.gcd(i + 4, 6) if i else 0
        s += math.pi * math.e + math.inf * 0.0 if i > 100 else 0.0
    return s, n


@case(X)
def maths2(x):
    s = 0.0
    for i in range(7):
        v = x[i] * 0.9
        f, w = math.modf(v * 7)
        s += (
            f
            + w
            + math.ldexp(v, 2)
            + math.remainder(v * 7, 2)
            + math.dist((v, 1.0), (0.0, v))
            + math.fsum([v, 1.0])
        )
        m, e = math.frexp(v)
        s += m * e
        s += math.prod([v, 2.0])
    return s


@case(X)
def numpy_scalars(x):
    s = 0.0
    for i in range(7):
        s += (
            np.sqrt(x[i])
            + np.sin(x[i])
            + np.maximum(x[i], 0.4)
            + np.float64(i)
            + np.where(x[i] > 0.4, 1.0, 2.0)
        )
        s += np.int64(3) * x[i] + np.abs(x[i]) + np.exp(-x[i])
    return s


@case(np.arange(7, dtype=np.int8))
@case(np.arange(7, dtype=np.uint8))
@case(np.arange(7, dtype=np.int32))
def int_counter(x):
    n = 0
    m = np.int16(0)
    for i in range(7):
        n += x[i]
        m += x[i]
    return n, m


@case(np.arange(7, dtype=np.float32))
def f32(x):
    s = np.float32(0)
    c = 0
    t = 1.0
    for i in range(7):
        s += x[i] * 0.5
        c += 1
        t = t * x[i] / c + i
    return s, c, t


@case(X)
def int_becomes_float(x):
    c = 0
    for i in range(7):
        c = c + x[i]
    return c


@case(X, 7)
def int_div(x, n):
    c = 0
    for i in range(n):
        c = c / 2 + i
    return c


@case(X, 5)
def wrap_mod(x, n):
    s = 0.0
    for i in range(n):
        s += x[(i - 3) % n] + x[(i + 1) % len(x)]
    return s


@case(X)
def local_first(x):
    for i in range(7):
        if i == 0:
            prev = x[i]
        else:
            prev = prev * 0.5 + x[i]
    return prev


@case(X)
def local_arrays(x):
    s = 0.0
    for i in range(3):
        tmp = np.zeros(4)
        for j in range(4):
            tmp[j] = x[i] * x[j]
        s += tmp.sum() + tmp[2]
    return s


ROWS, COLUMNS, WEIGHTS = (1, 0, -1, 0), (0, 1, 0, -1), (0.5, 0.25, 0.125)


@case(np.linspace(-1, 1, 12).reshape(3, 4), 2)
def tuples_of_numbers(m, n):
    s, k = np.zeros_like(m), 0
    for i in range(3):
        for j in range(4):
            for d in range(4):
                s[i, j] += m[(i + ROWS[d]) % 3, (j + COLUMNS[-d - 1]) % 4] * WEIGHTS[n]
            k += ROWS[j]
    return s, k


@case(np.linspace(-1, 1, 12).astype(np.float32))
def tuples_keep_dtypes(x):
    s = np.float32(0)
    for i in range(12):
        s = s * WEIGHTS[i % 3] + x[i]
    return s


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
