"""Lambdas that loops call."""

# ruff: noqa: B023, E731 - lambdas as users write them

import math

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports

X = np.linspace(-1.0, 1.0, 12)
case = Cases()
square = lambda v: v * v
larger = (lambda a, b=0.3: a if a > b
          else (b
                - a))  # fmt: skip
pair = [lambda a: a + 1, lambda a: a * 2]
named = {"é": lambda z: math.sin(z) + (1)}


@case(X)
def of_the_module(x):
    s = 0.0
    for i in range(40):
        s = s * 0.5 + square(x[i % 12]) + larger(x[i % 12], s) + larger(s)
    return s


@case(X)
def several_in_a_line(x):
    f, g = pair
    s = 0.0
    for i in range(40):
        s = f(s) * 0.25 + g(x[i % 12])
    return s


@case(X)
def in_a_container(x):
    s = 0.0
    for i in range(40):
        s = named["é"](s) * 0.25 + x[i % 12]
    return s


@case(X, 3)
def of_the_function(x, k):
    f = lambda a, i: (a * k if x[i] > 0 else -a) + x[i % 3]
    s = 0.0
    for i in range(40):
        g = lambda a: max(a, 0.3) if a < 5 and s > -9 else f(a, 2)
        s = f(s, i % 12) * 0.25 + g(x[i % 12])
    return s


def trapezoids(f, a, b, n):
    h = (b - a) / n
    s = 0.5 * (f(a) + f(b))
    for i in range(1, n):
        s += f(a + i * h)
    return s * h


@case(0.25, 1.5, 40)
def as_arguments(a, b, n):
    return trapezoids(lambda t: math.exp(-t) if t < 1.0 else 0.25, a, b, n)


def test_a_lambda_without_source_is_named():
    unknown = eval("lambda v: v * 2")

    def f(x):
        s = 0.0
        for i in range(100):
            s = s * 0.5 + unknown(x[i % 12])
        return s

    jitted = tj.jit(f)
    np.testing.assert_allclose(np.asarray(jitted(X)), f(X))
    ((outcome, reason),) = reports(jitted)
    assert outcome == "unrolled"
    assert "<lambda>" in reason
    assert "source" in reason


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
