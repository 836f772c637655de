"""Arrays that leave a compiled loop by ``break``, ``else``, or the test of a ``while``. What is written
afterwards, by either name, is written."""

from __future__ import annotations

import pytest

from .common import Cases, agree, reports
from .returned_arrays import A, X, Y

case = Cases()


def row_by_break(a, v):
    r = a[0]
    for row in a:
        if row[0] > v:
            r = row
            break
    return r


@case(A)
def row_break(a):
    r = row_by_break(a, 2.0)
    r[1] = 100.0
    return a.sum()


def found_else(a, v):
    for i in range(4):
        if a[i].sum() > v:
            break
    else:
        return a[3]
    return a[0]


@case(A)
def best_by_else(a):
    r = found_else(a, 1e3)
    r[1] = 100.0
    return a.sum()


def pair_of(x, y):
    t = (x, y)
    for i in range(6):
        if x[i] > 0.5:
            t = (y, x)
            break
    return t


@case(X, Y)
def tuple_written(x, y):
    t = pair_of(x, y)
    t[0][0] = 33.0
    return x.sum() - y.sum()


def matched_of(x, y, k):
    for j in range(6):
        match k:
            case 1:
                r = x
            case _:
                r = y
        if x[j] > 0.5:
            break
    return r


@case(X, Y, 1)
def matched(x, y, k):
    r = matched_of(x, y, k)
    r[0] = 5.0
    return x.sum() - y.sum()


def until(x):
    cur = x
    while cur.sum() > 1.5:
        cur = cur * 0.5
    return cur


@case(X)
@case(Y)
def while_zero(x):
    r = until(x)
    r[0] = 4.0
    return r.sum()


@case(X)
@case(Y)
def while_zero_source(x):
    r = until(x)
    x[0] = 4.0
    return r.sum()


def named(x, y):
    k = 0
    while (r := x if x[k] > 0.5 else y)[0] < 0.0:
        k += 1
    return r


@case(X, Y)
def walrus_loop(x, y):
    r = named(x, y)
    r[1] = 50.0
    return x.sum() - y.sum()


@case(X, Y)
def walrus_loop_source(x, y):
    r = named(x, y)
    x[1] = 50.0
    return r.sum()


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (while_zero, (Y,)),
    ],
)
def test_what_python_and_a_copy_agree_on_is_compiled(function, arguments, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, *arguments, mode="auto")
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}
