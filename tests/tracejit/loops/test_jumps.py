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


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
