"""Arrays that a function makes by NumPy out of numbers alone, and writes through views of them."""

import warnings

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports

X = np.linspace(0.1, 1.0, 24)
case = Cases()


@case(X)
def part_of_an_array(x):
    t = np.array([1.0, 2.0, 3.0])
    for i in range(len(x)):
        u = t[:2]
        u[i % 2] *= 1 + x[i]
    return t


@case(X)
def part_of_a_sum(x):
    t = np.zeros(3) + 1
    for i in range(len(x)):
        np.add.at(t[:2], i % 2, x[i])
    return t


@case(X)
def in_a_branch(x):
    t = np.linspace(0, 1, 4).reshape(2, 2)
    for i in range(len(x)):
        if x[i] > 0.4:
            u = t[0]
            u[0] = x[i]
    return t


@case(X)
def element_of_a_row(x):
    t, i = np.linspace(0, 1, 4).reshape(2, 2), 0
    while i < 24 and x[i] > -1:
        t[i % 2][0] = x[i]
        i += 1
    return t


@case(X)
def view_before_the_loop(x):
    t = np.array([1.0, 2.0, 3.0])
    u = t[:2]
    for i in range(len(x)):
        np.multiply.at(u, i % 2, 1 + x[i])
    return t


@case(X)
def copied_to(x):
    t = np.full(3, 0.5)
    for i in range(len(x)):
        u = t[1:]
        np.copyto(u, x[i])
    return t


@case(X)
def result_of_a_ufunc(x):
    t = np.arange(3) * 1.0
    for i in range(len(x)):
        u = t[:2]
        np.add(u, x[i], out=u)
    return t


@case(X)
def transposed(x):
    t = np.linspace(0, 1, 10).reshape(2, 5)
    for i in range(len(x)):
        t.T[i % 5] = x[i]
        np.ravel(t)[0] += 1
    return t


@case(X)
def rows(x):
    t = np.linspace(0, 1, 8).reshape(4, 2)
    for i in range(len(x)):
        for row in t:
            u = row[:1]
            u[0] += x[i]
    return t


@case(X)
def sorted_and_filled(x):
    t = np.linspace(0, 1, 10).reshape(2, 5)
    for i in range(len(x)):
        t[0][i % 5] -= x[i]
        t[:, i % 5].sort()
        t[1, :2].fill(x[i])
    return t


def test_elements_are_those_that_were_there(monkeypatch):
    """A loop along an array that is written behind it."""
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)

    def f(x):
        table, s = np.arange(12.0).reshape(4, 3), 0.0
        for v in table[1]:
            s += v * x[0]
        table[1:][0] = 1.5
        return s, v, table

    for result, expected in zip(tj.jit(f)(X), f(X), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def through_a_function(x):
    def view(t):
        return t[:2]

    t = np.linspace(0, 1, 4)
    for i in range(len(x)):
        u = view(t)
        u[i % 2] += x[i]
    return t


@case(X)
def through_a_list(x):
    t = np.linspace(0, 1, 4)
    same = [t, t]
    for i in range(len(x)):
        u = same[0][:2]
        u[i % 2] += x[i]
    return t


def through_a_row_of_a_list(x):
    t = [np.linspace(0, 1, 4)]
    for i in range(len(x)):
        for j in range(4):
            u = t[0][1:]
            u[j % 3] += x[i]
    return t[0]


@pytest.mark.parametrize(("function", "arguments", "mode"), case, ids=[f.__name__ for f, *_ in case])
def test_loops_are_compiled(function, arguments, mode):
    outcomes = [outcome for outcome, _ in reports(agree(function, *arguments, mode=mode))]
    assert outcomes
    assert set(outcomes) == {"compiled"}


@pytest.mark.parametrize("function", [through_a_function, through_a_row_of_a_list])
def test_runs_as_python_where_only_a_copy_would_be_written(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, expected = tj.jit(function)(X.copy()), function(X.copy())
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert any("is written through a view" in str(warning.message) for warning in caught)
