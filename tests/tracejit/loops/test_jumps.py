"""break, continue, return and else in loops."""

import math

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 7)
M = np.arange(12.0).reshape(3, 4) / 7
case = Cases()


@case(X)
def early_return(x):
    for i in range(7):
        if x[i] > 0.5:
            return i
    return -1


@case(X)
@case(X * 0)
def early_return_tuple(x):
    for i in range(7):
        if x[i] > 0.5:
            return i, x[i]
    return -1, 0.0


@case(X)
def early_return_none_struct(x):
    s = 0.0
    for i in range(7):
        for j in range(7):
            if x[i] * x[j] > 0.6:
                return s + i * 10 + j
            s += x[j]
    return s


@case(100)
def primes(n):
    c = 0
    for i in range(2, n):
        prime = True
        for j in range(2, int(math.sqrt(i)) + 1):
            if i % j == 0:
                prime = False
                break
        if prime:
            c += 1
    return c


@case(100)
def primes_while_star(n):
    c = 0
    for i in range(2, n):
        j = 2
        while j * j <= i:
            if i % j == 0:
                break
            j += 1
        else:
            c += 1
    return c


@case(60)
def sieve(n):
    is_p = np.ones(n + 1, dtype=np.bool_) if isinstance(n, int) else tj.ones(61, dtype=bool)
    is_p[0] = False
    is_p[1] = False
    for i in range(2, 61):
        if is_p[i]:
            for j in range(i * i, 61, i):
                is_p[j] = False
    return is_p


@case(X)
def continue_in_while(x):
    i = 0
    s = 0.0
    while i < 7:
        i += 1
        if x[i - 1] < 0.5:
            continue
        s += x[i - 1]
    return s


@case(X)
def return_in_while_true(x):
    i = 0
    while True:
        if x[i] > 0.5:
            return x[i]
        i += 1


@case(X)
def bare_return(x):
    out = np.zeros(7)
    for i in range(7):
        if x[i] > 0.5:
            return out
        out[i] = x[i]
    return out


@case(X)
def break_keeps_index(x):
    for i in range(7):
        if x[i] > 0.5:
            break
    return i


@case(X)
def else_with_return(x):
    for i in range(7):
        if x[i] > 5:
            break
    else:
        return -1.0
    return x[i]


@case(X)
@case(X * 0)
def return_in_the_else_of_an_inner_loop(x):
    for i in range(3):
        for j in range(3):
            if x[j] > 0.2:
                break
        else:
            return i * 10.0
    return -1.0


@case(X)
@case(X * 0)
def else_of_a_loop_that_holds_a_loop_with_break(x):
    s = 0.0
    for i in range(3):
        for j in range(3):
            if x[j] * i > 0.2:
                break
            s += 1
        else:
            s += 100
        s += 7
    else:
        s += 0.5
    return s


@case(X)
@case(X * 0)
@case(X * 9)
def return_in_an_else(x):
    s = 0.0
    for i in range(7):
        if x[i] < 0.3:
            s += 1
        elif x[i] < 0.6:
            s += 10
        else:
            return s
    return -s


@case(X)
@case(X * 9)
def return_behind_continue(x):
    s = 0.0
    for i in range(7):
        s += x[i]
        if x[i] < 0.4:
            continue
        return s
    return -1.0


@case(X)
@case(X * 0)
def break_continue_and_return_in_the_else_of_a_while(x):
    s, i = 0.0, 0
    for k in range(4):
        i = 0
        while i < 3:
            i += 1
            if x[i] > 0.35 + 0.1 * k:
                break
        else:
            if k == 1:
                continue
            if s > 100:
                return s
            s += 1
            break
        s += 40
    else:
        s -= 0.25
    return s


def no_number(v):
    for i in range(3):
        if v > 0.3 * i:
            return
    return


@case(X)
def a_function_that_returns_nothing(x):
    s = 0.0
    for i in range(7):
        if no_number(x[i]) is None:
            s += x[i]
    return s


def summed(x, n):
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v

    for i in range(7):
        if x[i] > n:
            add(x[i])
    k = 0
    while k < 3:
        add(1.0)
        k += 1
    return s


@case(X, mode="auto")
def closures_that_rebind_variables(x):
    t = 0.0
    for k in range(4):
        t += summed(x, 0.2 * k)
    return t


@case(X, mode="auto")
@case(X * 0, mode="auto")
def a_number_or_nothing(x):
    def small(v):
        if v > 0.5:
            return None
        return v

    t = 0.0
    for i in range(7):
        w = small(x[i])
        if w is None:
            break
        t += w
    return t


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)


def left_in_a_short_loop(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(3):
            if x[i] * j > 0.8:
                break
            s += x[i]
    return s


def test_a_short_loop_that_is_left_inside_another_is_compiled():
    x = np.linspace(0.1, 1.0, 60)
    jitted = tj.jit(left_in_a_short_loop)
    np.testing.assert_allclose(jitted(x), left_in_a_short_loop(x))
    assert "unrolled" not in jitted.explain()
