"""Functions inside of loops, and around them, that rebind variables of the function around."""

from __future__ import annotations

import numpy as np
import pytest

from .common import Cases, agree

X = np.linspace(0.125, 1.0, 8)
case = Cases()


@case(X)
def defined_in_a_loop(x):
    t = 1.5
    for i in range(8):

        def put(v):
            nonlocal t
            t = v * 0.5 + i  # noqa: B023
            return t

        w = put(x[i])
    return t, w


@case(X)
def assigned_by_the_loop_as_well(x):
    t = 1.5
    for s in x:
        t = t + s

        def halve():
            nonlocal t
            t = t * 0.5

        if s > 0.5:
            halve()
    return t


@case(X, 0.5)
def a_parameter(x, t):
    for i in range(8):

        def put(v):
            nonlocal t
            t = t * 0.5 + v

        put(x[i])
    return t


@case(X)
def two_functions_deep(x):
    t, q = 0.5, 0.0
    for i in range(8):
        q = 0.25

        def middle(v):
            r = v

            def inner():
                nonlocal q, r, t
                r = r * 0.5
                q = q + r
                t = t * 0.5 + q

            inner()
            return r

        q += middle(x[i])
    return t, q


@case(X, mode="auto")
def a_function_in_what_a_loop_calls(x):
    t = 0.5

    def outer(v):
        def inner(e):
            nonlocal t
            t = t * 0.5 + e

        inner(v)

    for i in range(8):
        outer(x[i])
    return t


@case(X, mode="auto")
def a_loop_in_the_function_that_is_called(x):
    t = 0.5

    def outer(v):
        for i in range(8):

            def inner(e):
                nonlocal t
                t = t * 0.5 + e * i  # noqa: B023

            inner(v)

    outer(x[1])
    outer(x[2])
    return t


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
