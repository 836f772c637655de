"""Writes of items and slices, swaps, augmented assignment, nested and triangular loops."""

# ruff: noqa: B007, E741 - loops as users write them

import math

import numpy as np
import pytest

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


@case(M @ M.T + np.eye(3))
def cholesky(a):
    n = a.shape[0]
    l = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= l[i, k] * l[j, k]
            if i == j:
                l[i, j] = math.sqrt(s)
            else:
                l[i, j] = s / l[j, j]
    return l


@case(M, M.T.copy())
def matmul3(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@case(X[::-1].copy())
def bubble_sort(x):
    x = x.copy()
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


@case(X[::-1].copy())
def insertion_sort(x):
    x = x.copy()
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


@case(X[::-1].copy())
def selection_sort(x):
    n = x.shape[0]
    for i in range(n):
        m = i
        for j in range(i + 1, n):
            if x[j] < x[m]:
                m = j
        tmp = x[i]
        x[i] = x[m]
        x[m] = tmp
    return x


@case(M)
def slice_rows(m):
    a = m * 1.0
    for i in range(1, 3):
        a[i] = a[i] + a[i - 1]
    for j in range(4):
        a[:, j] *= j
    for i in range(3):
        a[i, 1:3] = i
        a[i, ::2] += 1
    return a


@case(M)
def slice_rows2(m):
    a = m * 1.0
    for i in range(3):
        a[i, :] += a[i].sum()
        a[-1, i] = 5
        a[-i, -1] = 7.0
    return a


@case(X)
def neg_traced(x):
    a = x.copy()
    for i in range(7):
        a[-i - 1] = x[i] + a[i - 3]
    return a


@case(X, np.array([3, 1, 2, 0, 6, 5, 4]))
def traced_index(x, p):
    a = np.zeros(7)
    for i in range(7):
        a[p[i]] = x[i]
        a[p[i] - 7] += 1
    return a


@case(np.array([3, 1, 2, 0, 3, 3, 1]))
def histogram(d):
    h = np.zeros(5, dtype=np.int64)
    for i in range(d.shape[0]):
        h[d[i]] += 1
    return h


@case(M)
def transpose_write(m):
    out = np.empty((4, 3))
    for i in range(3):
        for j in range(4):
            out[j, i] = m[i, j]
    return out


@case(M)
def two_index_chain(m):
    a = m.copy()
    for i in range(3):
        for j in range(4):
            a[i][j] = a[i][j] * 2
    return a


@case(X)
def tuple_swap(x):
    a, b = 0.0, 1.0
    for i in range(7):
        a, b = b, a + b * x[i]
    return a, b


@case(X)
def tuple_swap_elements(x):
    a = x.copy()
    for i in range(3):
        a[i], a[6 - i] = a[6 - i], a[i]
    return a


@case(20)
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@case(X)
def star_swap(x):
    a, b, c = 0.0, 1.0, 2.0
    for i in range(7):
        a, b, c = b, c, a + x[i]
    return a, b, c


@case(X)
def aug_all(x):
    a = 1.0
    b = 3
    for i in range(1, 7):
        a += x[i]
        a -= 0.5
        a *= 1.5
        a /= 2
        a **= 2
        a %= 3
        a //= 0.1
        b += i
        b <<= 1
        b >>= 1
        b |= 4
        b ^= i
        b &= 255
        b //= 1
        b %= 17
        b -= 1
        b *= 2
    return a, b


@case(X, 4)
@case(X, 5)
@case(X, 0)
def three_arrays_rotate(x, n):
    a = x * 1.0
    b = x * 2.0
    c = x * 3.0
    for t in range(n):
        a[0] = b[1] + c[2]
        a, b, c = b, c, a
    return a, b, c


@case(X, 4, mode="auto")
@case(X, 5, mode="auto")
def swapped_in_an_inner_loop(x, n):
    a = x * 1.0
    b = x * 2.0
    for t in range(n):
        b[0] += 1
        for i in range(3):
            a[i] = b[i] + 1
            a, b = b, a
    return a, b


@case(X, 4)
@case(X, 5)
@case(X, 0)
def new_array_each_step(x, n):
    a = x * 1.0
    b = x * 2.0
    for t in range(n):
        c = a + b
        c[t] = 1
        a, b = b, c
    return a, b


@case(X, 3, mode="auto")
@case(X, 4, mode="auto")
def swapped_with_another_name(x, n):
    w = x * 1.0
    u = w
    v = np.zeros_like(u)
    for t in range(n):
        for i in range(1, 6):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u
    return u, w


@case(X, 4, mode="auto")
def swapped_in_a_branch(x, n):
    a = x * 1.0
    b = x * 2.0
    for t in range(n):
        a[t] = b[1] + 1
        if a[t] > 1.5:
            a, b = b, a
    return a, b


@case(X, 4, mode="auto")
@case(X, 0, mode="auto")
def becomes_an_array_from_outside(x, n):
    a = x * 1.0
    b = x * 2.0
    for t in range(n):
        a[t] = b[1] + 1
        a = b
    return a, b


@case(X.copy(), 20, mode="auto")
@case(X.copy(), 3, mode="auto")
def swapped_with_an_argument(u, n):
    v = np.zeros_like(u)
    for t in range(n):
        for i in range(1, 6):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u
    return u * 1.0


@case(X, 20)
@case(X, 0)
def swapped_copies(x, n):
    u = x.copy()
    v = u.copy()
    for t in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u, v


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
