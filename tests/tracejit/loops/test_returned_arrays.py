"""Arrays and containers that leave a compiled loop by ``return``. What is written afterwards, by either
name, is written."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree
from .returned_arrays import A, X, Y

TABLE = np.arange(6.0)
case = Cases()


def filled(out, x):
    for i in range(6):
        if x[i] > 0.5:
            return out
        out[i] = x[i]
    return out


@case(X)
@case(X * 0)
def bare_return_written(x):
    out = np.zeros(6)
    r = filled(out, x)
    r[0] = 7.0
    return out.sum()


@case(X)
@case(X * 0)
def bare_return_source_written(x):
    out = np.zeros(6)
    r = filled(out, x)
    out[0] = 7.0
    return r.sum()


@case(X)
@case(X * 0)
def bare_return_in_loop(x):
    out = np.zeros(6)
    for k in range(3):
        r = filled(out, x)
        r[0] = 7.0 + k
    return out.sum()


@case(X)
@case(X * 0)
def bare_return_in_loop_and_source(x):
    out = np.zeros(6)
    s = 0.0
    for k in range(3):
        r = filled(out, x)
        out[0] = 7.0 + k
        s += r[0]
    return s


def rows(a, v):
    for i in range(4):
        if a[i, 0] > v:
            return a[i]
    return a[0]


@case(A)
def row_written(a):
    r = rows(a, 2.0)
    r[1] = 100.0
    return a.sum()


@case(A)
def row_source(a):
    r = rows(a, 2.0)
    a[1, 1] = 100.0
    return r.sum()


@case(A)
def row_written_loop(a):
    for i in range(3):
        r = rows(a, 2.0)
        r[1] = 100.0 + i
    return a.sum()


def nested(x, y):
    for i in range(3):
        for j in range(3):
            if x[i + j] > 0.5:
                return x[j:] if j == 0 else x
    return y


@case(X, Y)
def nested_return(x, y):
    r = nested(x, y)
    r[1] = 50.0
    return x.sum() - y.sum()


def table_or(x):
    for j in range(6):
        if x[j] > 0.5:
            return TABLE
    return x


def global_written(x):
    r = table_or(x)
    r[0] += 3.0
    return r.sum() + TABLE[0]


def held(h, x):
    for j in range(6):
        if x[j] > 0.5:
            return h
    return h


@case(np.array(2.0), X)
def rank_0(h, x):
    r = held(h, x)
    r += 1.0
    return h * 1.0


def pick(d, e, x):
    for i in range(6):
        if x[i] > 0.5:
            return d
    return e


@case(X)
def dict_returned(x):
    d = {"a": x * 1.0}
    e = {"a": x * 2}
    r = pick(d, e, x)
    r["a"] = x * 3
    return d["a"]


@case(X)
def list_returned(x):
    d = [x * 1.0]
    e = [x * 2]
    r = pick(d, e, x)
    r.append(x * 3)
    return len(d) * 1.0


@case(X)
def list_returned_source(x):
    d = [x * 1.0]
    e = [x * 2]
    r = pick(d, e, x)
    d[0] = x * 3
    return r[0]


@case(X)
def list_returned_loop(x):
    d = [x * 1.0]
    e = [x * 2]
    for _k in range(3):
        r = pick(d, e, x)
        r[0] = r[0] + 1.0
    return d[0]


@case({"a": X}, {"a": Y}, X)
def argument_dicts(d, e, x):
    r = pick(d, e, x)
    r["a"] = x * 3
    return d["a"] * 1.0


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
def test_an_array_of_the_module_is_written(monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    results = []
    for function in (global_written, tj.jit(global_written)):
        TABLE[:] = np.arange(6.0)
        results.append(float(function(X)))
    assert results[0] == results[1]
