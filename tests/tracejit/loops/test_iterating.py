"""Iterables of loops: ranges, arrays, enumerate, zip, reversed, arange, indices, itertools, selections. While
loops, too."""

# ruff: noqa: B905, RUF007 - loops as users write them

import itertools

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


@case(X, 6)
@case(X, 0)
def neg_step_python(x, n):
    s = 0.0
    for i in range(n, -1, -1):
        s = s * 0.5 + x[i]
    return s


@case(X, 6, 0, -2)
@case(X, 0, 6, 2)
@case(X, 0, 6, -1)
@case(X, 3, 3, 1)
def traced_step(x, a, b, c):
    s = 0.0
    for i in range(a, b, c):
        s = s * 0.5 + x[i]
    return s


@case(X, np.int32(5))
def np_int_bound(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


@case(X, 5)
def index_changed_in_body(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
        i = i + 1
        s += x[i]
    return s


@case(X, 5)
def bound_changed_in_body(x, n):
    s = 0.0
    for i in range(n):
        n = n + 1
        s += x[i]
    return s, n


@case(M)
def for_rows(m):
    s = 0.0
    for row in m:
        s += row[1] * 2
    return s


@case(M)
def for_rows_nested(m):
    s = 0.0
    for row in m:
        for v in row:
            s = s * 0.9 + v
    return s


@case(M)
def enumerate_start(m):
    s = 0.0
    for i, row in enumerate(m, 2):
        for j, v in enumerate(row, start=1):
            s += v * i - j
    return s


@case(X, X * 2)
def zip_short(x, y):
    s = 0.0
    for a, b in zip(x[:4], y):
        s += a * b
    return s


@case(X, X * 2, 5)
def zip_range_traced(x, y, n):
    s = 0.0
    for i, b in zip(range(n), y):
        s += x[i] * b
    return s


@case(X, X * 2)
def zip_strict(x, y):
    s = 0.0
    for a, b in zip(x, y, strict=True):
        s += a * b
    return s


@case(X)
def zip_shifted(x):
    s = 0.0
    for a, b in zip(x[:-1], x[1:]):
        s += (b - a) ** 2
    return s


@case(X)
def reversed_enumerate_list(x):
    s = 0.0
    for a in reversed(x):
        s = s * 0.5 + a
    for i in reversed(range(2, 7, 3)):
        s = s * 0.5 + x[i]
    return s


@case(X, 5)
def reversed_range_traced(x, n):
    s = 0.0
    for i in reversed(range(1, n)):
        s = s * 0.5 + x[i]
    return s


@case(X)
def zip_reversed(x):
    s = 0.0
    for a, b in zip(x, reversed(x)):
        s += a * b
    return s


@case(X)
def enumerate_reversed(x):
    s = 0.0
    for i, b in enumerate(reversed(x)):
        s += i * b
    return s


@case(X)
def tj_arange(x):
    s = 0.0
    for i in tj.arange(7):
        s += x[i] * i
    return s


@case(X)
def np_arange(x):
    s = 0.0
    for i in np.arange(7):
        s += x[i] * i
    return s


@case(X)
def np_arange2(x):
    s = 0.0
    for i in np.arange(5, 0, -2):
        s += x[i] * i
    return s


@case(X)
def np_linspace(x):
    s = 0.0
    for i in np.linspace(0.0, 1.0, 5):
        s += x[1] * i
    return s


@case(np.zeros((0,)))
def empty_array(x):
    s = 1.0
    for v in x:
        s += v
    return s


@case(X.astype(np.float32))
def float32_elements(x):
    s = 0.0
    for v in x:
        s += v
    return s


@case(X > 0.5)
def bool_elements(x):
    n = 0
    for v in x:
        if v:
            n += 1
    return n


@case(np.arange(7))
def ints_as_index(p):
    s = 0.0
    for v in p:
        s += X[v]
    return s


@case(X, 3.0)
def while_cond(x, t):
    s = 0.0
    i = 0
    while s < t and i < 7:
        s += x[i]
        i += 1
    return s, i


@case(27)
@case(1)
def collatz(n):
    k = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        k += 1
    return k


@case(48, 18)
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@case(X, 0.7)
def bisect(x, v):
    lo = 0
    hi = len(x)
    while lo < hi:
        mid = (lo + hi) // 2
        if x[mid] < v:
            lo = mid + 1
        else:
            hi = mid
    return lo


@case(10.0)
def while_not(x):
    done = False
    n = 0
    while not done:
        x = x / 2
        n += 1
        done = x < 0.1
    return x, n


@case(X)
def while_else(x):
    i = 0
    while i < 7:
        if x[i] > 2:
            break
        i += 1
    else:
        i = -1
    return i


@case(X, 4)
def nested_while(x, n):
    s = 0.0
    i = 0
    while i < n:
        j = i
        while j < n:
            s += x[i] * x[j]
            j += 1
        i += 1
    return s


@case(X)
def while_len(x):
    i = 0
    s = 0.0
    while i < len(x):
        s += x[i]
        i += 2
    return s


@case(X, 5)
def arange_of_a_traced_bound(x, n):
    s = 0.0
    for i in np.arange(n):
        s += x[i] * i
    return s


@case(X, 5)
def arange_of_traced_bounds(x, n):
    s = 0.0
    for i in np.arange(1, n, 2):
        s += x[i] * i
    return s


@case(X, 5)
def enumerate_from_a_traced_number(x, n):
    s = 0.0
    for i, v in enumerate(x, n):
        s += v * i
    return s


@case(M)
@case(M[:0])
def flat(m):
    s = 0.0
    for i, v in enumerate(m.flat):
        s = s * 0.5 + v * i
    return s


@case(M)
@case(M[:, :1])
def indices(m):
    s = 0.0
    out = np.zeros_like(m)
    for i, j in np.ndindex(m.shape):
        s = s * 0.9 + m[i, j] * (i - 2 * j)
        out[i, j] = s
    for index in np.ndindex(*m.shape):
        out[index] = out[index] * 2
    for (i, j), v in np.ndenumerate(m):
        s = s * 0.9 + v * (i - 3 * j)
    return s, out


@case(X)
@case(X[:1])
@case(X[:0])
def pairs(x):
    s = 0.0
    for a, b in itertools.pairwise(x):
        s = s * 0.9 + a * b
    for i, j in itertools.pairwise(range(len(x))):
        s = s * 0.9 + x[i] * j
    return s


@case(X, M)
def combinations(x, m):
    s = 0.0
    for i, j in itertools.combinations(range(len(x)), 2):
        s = s * 0.9 + x[i] * x[j] * (j - i)
    for a, b, c in itertools.combinations(x, 3):
        s = s * 0.9 + a * b - c
    for a, b in itertools.combinations(m, 2):
        s = s * 0.9 + (a * b).sum()
    for i in range(2):
        for a, b in itertools.combinations(m[i], 2):
            s = s * 0.8 + a * b
    return s


@case(X, M)
def products(x, m):
    s = 0.0
    for i, j in itertools.product(range(len(x)), range(3)):
        s = s * 0.9 + x[i] * j
    for a, b in itertools.product(x, repeat=2):
        s = s * 0.9 + a * b
    for i, a, row in itertools.product(range(2), x, m):
        s = s * 0.9 + a * row[i]
    for i, (a, b) in enumerate(itertools.product(x, m.flat)):
        s = s * 0.9 + a * b * i
    return s


@pytest.mark.parametrize("x", [np.array([1.0, -2.0, 3.0, 0.5, -1.0, 3.0]), -X, X], ids=str)
def test_selections(x):
    def f(x):
        s, t = 0.0, 0.0
        for v in x[x > 0]:
            s = s * 0.5 + v
        for i, v in enumerate(x[x < 1]):
            t += i * v
        for i in np.where(x > 0)[0]:
            t = t * 0.9 + x[i]
        for v in np.unique(x):
            if v > 2:
                break
            t = t * 0.7 + v
        for a, b in zip(x[x > 0], np.arange(9.0)):
            s += a * b
        return s, t

    jitted = tj.jit(f)
    np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
    assert {loop.outcome for loop in jitted.explain().signatures[0].loops} == {"compiled"}
    np.testing.assert_allclose(
        tj.jit(tj.grad(lambda x: f(x)[0]))(x), tj.grad(lambda x: f(x)[0])(x), rtol=1e-12
    )


def test_rows_of_selections():
    def f(m):
        s = 0.0
        for row in m[m[:, 0] > 0.3]:
            s = s * 0.5 + (row * row).sum()
        return s

    np.testing.assert_allclose(tj.jit(f)(M), f(M), rtol=1e-12)


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
