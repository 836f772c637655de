"""``if``, ``elif``, ``else``, ``and``, ``or``, ``not``, chained comparisons and conditional expressions."""

import numpy as np
import pytest

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


@case(X)
def elifs(x):
    s = 0.0
    for i in range(7):
        v = x[i]
        if v < 0.3:
            s += v
        elif v < 0.6:
            s -= v
        elif v < 0.9:
            s *= 2
        else:
            s += 1
    return s


@case(X)
def guards_index(x):
    s = 0.0
    for i in range(7):
        if (i > 0 and x[i - 1] < 0.5) or i == 6:
            s += x[i]
        if not (i < 6 and x[i + 1] > 0.5):
            s += 1
    return s


@case(X)
def nested_ternary(x):
    s = 0.0
    for i in range(7):
        s += 1.0 if x[i] < 0.3 else (2.0 if x[i] < 0.6 else x[i])
    return s


@case(X)
def ternary_int_float(x):
    s = 0.0
    for i in range(7):
        s += 1 if x[i] < 0.3 else 2.5
    return s


@case(X)
def branch_defines(x):
    s = 0.0
    for i in range(7):
        if x[i] > 0.5:
            w = x[i]
            k = 1
        else:
            w = 0.0
            k = 2
        s += w * k
    return s


@case(X)
def branch_int_or_float(x):
    m = 0
    for i in range(7):
        if x[i] > m:
            m = x[i]
    return m


@case(np.arange(7))
def argmax(x):
    best = x[0]
    bi = 0
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i]
            bi = i
    return best, bi


@case(X)
def inf_start(x):
    best = -np.inf
    bi = -1
    for i in range(len(x)):
        if x[i] > best:
            best, bi = x[i], i
    return best, bi


@case(X)
def in_tuple(x):
    s = 0.0
    for i in range(7):
        if i in (1, 3, 5):
            s += x[i]
    return s


@case(X)
def is_none_arg(x, w=None):
    s = 0.0
    for i in range(7):
        if w is None:
            s += x[i]
        else:
            s += w[i]
    return s


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)


def test_branches_that_read_what_their_tests_read_are_selects():
    def f(x, d):
        total = 0.0
        for i in range(1, len(x)):
            best = x[i]
            if d[i - 1, i] < best:
                best = d[i - 1, i]
            if x[i - 1] > best:
                best = x[i - 1]
            total = 0.5 * total + best
        return total

    rng = np.random.default_rng(8)
    arguments = rng.normal(size=70), rng.normal(size=(70, 70))
    jitted = agree(f, *arguments)
    assert "switch" not in jitted.lower(*arguments).as_text("trace")
