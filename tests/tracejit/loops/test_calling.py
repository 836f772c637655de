"""Functions, methods and nested functions that loops call."""

# ruff: noqa: B023, E731 - loops as users write them

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


def helper(v, w=2.0):
    if v > 0.5:
        return v * w
    return v


def helper_arrays(a, i):
    a[i] = a[i] + 1


def helper_two(v):
    return v + 1, v * 2


@tj.jit
def helper_jit(v):
    return v * v


@case(X)
def helpers(x):
    a = x.copy()
    s = 0.0
    for i in range(7):
        s += helper(x[i]) + helper(x[i], w=3.0)
        helper_arrays(a, i)
        p, q = helper_two(x[i])
        s += p * q + helper_jit(x[i])
        f = lambda v: v + i
        s += f(x[i])
    return s, a


@case(X)
def nested_fn(x):
    def inner(i, scale=1.0):
        t = 0.0
        for j in range(i):
            t += x[j] * scale
        return t

    s = 0.0
    for i in range(7):
        s += inner(i) + inner(i, 0.5)
    return s


def swapn(a, i, j):
    t = a[i]
    a[i] = a[j]
    a[j] = t


@case(X[::-1].copy())
def heap(a):
    n = len(a)
    for k in range(n // 2 - 1, -1, -1):
        i = k
        while 2 * i + 1 < n:
            c = 2 * i + 1
            if c + 1 < n and a[c + 1] > a[c]:
                c += 1
            if a[i] >= a[c]:
                break
            swapn(a, i, c)
            i = c
    return a


def part(a, lo, hi):
    p = a[hi]
    i = lo - 1
    for j in range(lo, hi):
        if a[j] <= p:
            i += 1
            a[i], a[j] = a[j], a[i]
    a[i + 1], a[hi] = a[hi], a[i + 1]
    return i + 1


@case(X[::-1].copy())
def quicksort_iter(a):
    stack = np.zeros(16, dtype=np.int64)
    top = -1
    top += 1
    stack[top] = 0
    top += 1
    stack[top] = len(a) - 1
    while top >= 0:
        hi = stack[top]
        top -= 1
        lo = stack[top]
        top -= 1
        p = part(a, lo, hi)
        if p - 1 > lo:
            top += 1
            stack[top] = lo
            top += 1
            stack[top] = p - 1
        if p + 1 < hi:
            top += 1
            stack[top] = p + 1
            top += 1
            stack[top] = hi
    return a


@case(X)
def values_of_written_variables(x):
    s = 0.0
    for i in range(7):
        row = helper_rows(x) if x[i] > 0.5 and not s > 4.0 else x + helper(x[i])
        row[0] = x[i]
        s += row[0] + row[1]
    return s


def helper_rows(x):
    total = x * 1.0
    if total[1] > 0.2:
        total[1] = 0.0
    return total


class Spring:
    stiffness = 0.5

    def __init__(self, kind=None):
        self.kind = kind or type(self)

    @staticmethod
    def force(v):
        return Spring.stiffness * v

    def total(self, x):
        s = 0.0
        for i in range(50):
            if isinstance(self, Spring) and self.kind is Spring:
                s += Spring.force(x[i % 7])
        return s


def test_methods_that_name_their_class():
    class Inner(Spring):
        def total(self, x):
            s = 0.0
            for i in range(50):
                s += Inner.force(x[i % 7])
            return s

    for spring in (Spring(), Inner()):
        jitted = agree(spring.total, X)
        assert [outcome for outcome, _ in reports(jitted)] == ["compiled"]


def test_calls_for_written_variables_are_checked():
    calls = []

    def noted(x):
        calls.append(len(calls))
        return x * 2.0

    def f(x):
        s = 0.0
        for i in range(50):
            row = noted(x)
            row[0] = 3.0
            s += row[1] * i
        return s

    jitted = tj.jit(f)
    np.testing.assert_allclose(np.asarray(jitted(X)), f(X))
    assert len(calls) == 100
    assert reports(jitted)[0][0] == "unrolled"


@case(np.arange(30, dtype=np.int32).reshape(6, 5) ** 2 % 11)
def outer_sums(path):
    for k in range(5):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))
    return np.maximum.reduce(path) + np.add.accumulate(path, axis=1)


@case(X)
def methods_of_ufuncs(x):
    s, bins = 0.0, np.zeros(5)
    for i in range(7):
        s += np.add.reduce(x * i) + np.multiply.reduce(x[:3])
        np.add.at(bins, [i % 5, i % 3], x[i])
        bins += np.minimum.accumulate(bins) * np.subtract.reduceat(x, [0, 2, 4, 5, 6])
    return s, bins


def test_methods_of_ufuncs_are_known():
    for function, arguments, _ in case:
        if function.__name__ in ("outer_sums", "methods_of_ufuncs"):
            assert [outcome for outcome, _ in reports(agree(function, *arguments))] == ["compiled"]


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
