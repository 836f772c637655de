"""Variables whose first value a branch or an inner loop gives them, which are read behind the loop."""

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree

X = np.linspace(-1.0, 1.0, 12)
case = Cases()


@case(X)
def at_one_index(x):
    z = 0.0
    for i in range(12):
        z = z * 0.5 + x[i]
        if i == 3:
            w = z
    return z, w


@case(X)
def at_the_last_value(x):
    z = 0.0
    for i in range(12):
        z = z * 0.5 + x[i]
        if x[i] > 0.3:
            w, row = z, x * i
        elif x[i] > 0.2:
            w = x[i]
    return z, w, row


@case(X)
def read_in_the_loop(x):
    z = 0.0
    for i in range(12):
        z = z * 0.5 + x[i]
        if i == 0:
            w = z
        z += w
    return z, w


@case(X)
def in_an_inner_loop(x):
    for i in range(12):
        for j in range(i):
            w = x[i] * j
    return w


@case(X)
def in_while(x):
    i = 0
    while i < 12:
        if x[i] > 0:
            w = x[i]
        i += 1
    return w


@case(X, 5)
def before_a_break(x, n):
    for i in range(n):
        if x[i] > -0.5:
            w = i
            break
    return w


def test_a_variable_that_is_never_assigned_is_unbound():
    def f(x):
        for i in range(0):
            w = x[i]
        return w

    with pytest.raises(NameError):
        tj.jit(f)(X)


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
