"""Arrays that leave a compiled loop by a name that a step gives another array. What is written afterwards, by
either name, is written."""

from __future__ import annotations

import pytest

import tracejit as tj

from .common import Cases, agree, reports
from .returned_arrays import A, X, Y, halved, ternary_of

case = Cases()


def two_of(x):
    for i in range(3):
        p = x * i
        q = p
    return p, q


@case(X)
def two_names(x):
    p, q = two_of(x)
    p[0] = 3.0
    return q.sum()


def dict_of(x):
    for i in range(3):
        p = x * i
        d = {"p": p, "q": p[1:]}
    return d


@case(X)
def two_names_dict(x):
    d = dict_of(x)
    d["p"][1] = 3.0
    return d["q"].sum()


def previous_of(x):
    cur = x
    for _i in range(3):
        last = cur
        cur = cur * 0.5
    return last, cur


@case(X)
def previous(x):
    a, b = previous_of(x)
    a[0] = 4.0
    b[1] = 2.0
    return a.sum() + b.sum()


def apart(x):
    a = b = x
    for i in range(3):
        a = a * 0.5 + i
        b = b * 2.0
    return a, b


@case(X)
def new_arrays_of_one(x):
    a, b = apart(x)
    a[0] = 4.0
    b[1] = 2.0
    return a.sum() + b.sum()


def prev_of_some(x, n):
    cur = x
    last = x
    for _i in range(n):
        last = cur
        cur = cur * 0.5
    return last, cur


@case(X, 1)
@case(X, 0)
@case(X, 3)
def previous_of_some(x, n):
    a, b = prev_of_some(x, n)
    a[0] = 4.0
    return a.sum() + b.sum()


def best(a):
    r = a[0]
    for i in range(4):
        if a[i].sum() > r.sum():
            r = a[i]
    return r


@case(A)
def best_row(a):
    r = best(a)
    r[1] = 100.0
    return a.sum()


@case(A)
def best_row_flat(a):
    r = best(a).reshape(-1)[1:]
    r[1] = 100.0
    return a.sum()


def swap(x, y):
    for _i in range(3):
        x, y = y, x
    return x, y


@case(X, Y)
def swapped(x, y):
    p, _ = swap(x, y)
    p[0] = 33.0
    return x.sum() - y.sum()


@case(X, Y)
def swapped_new(x, y):
    p, q = swap(x * 2, y * 2)
    p[0] = 33.0
    return p.sum() - 2 * q.sum()


@case(X, Y)
def ternary(x, y):
    r = ternary_of(x, y)
    r[1] = 50.0
    return x.sum() - y.sum()


def through(x, y):
    r = ternary_of(x, y)
    return r[1:]


@case(X, Y)
def through_two(x, y):
    r = through(x, y)
    r += 1
    return x.sum() - y.sum()


@case(X, Y)
def filled_behind(x, y):
    r = through(x, y)
    for j in range(len(r)):
        r[j] = j
    return x.sum() - y.sum()


@case(X, Y)
def filled_in_a_loop(x, y):
    for _k in range(2):
        r = through(x, y)
        for j in range(len(r)):
            r[j] = j
    return x.sum() - y.sum()


@case(X, Y)
def source_loop(x, y):
    r = through(x, y)
    for j in range(len(x)):
        x[j] = j
        y[j] = r[0]
    return x.sum() - y.sum()


@case(X, Y)
def written_and_assigned_in_a_loop(x, y):
    r = ternary_of(x, y)
    for i in range(3):
        r[0] = i + 2.0
        r = r * 0.5
    return x.sum() - y.sum() + r.sum()


@case(X, Y)
def the_function_handles_every_error(x, y):
    r = ternary_of(x, y)
    try:
        r[1] = 50.0
    except Exception:
        return 0.0
    return x.sum() - y.sum()


@case(X, Y)
def the_result_of_a_result(x, y):
    r = halved(ternary_of(x, y), 0)
    y[1] = 30.0
    return r.sum()


def last_of(d, e, x):
    r = d
    for i in range(6):
        if x[i] > 0.5:
            r = e
    return r


@case(X)
def dict_by_a_name(x):
    d = {"a": x * 1.0}
    e = {"a": x * 2}
    r = last_of(d, e, x)
    r["a"] = x * 3
    return e["a"]


@case(X)
def dict_rebound(x):
    d = {"a": x * 1.0}
    e = {"a": x * 2}
    r = d
    for _i in range(6):
        r = e
    r["a"] = x * 3
    return e["a"]


@case(X)
def dict_by_a_condition(x):
    d = {"a": x * 1.0}
    e = {"a": x * 2}
    for i in range(6):
        r = d if x[i] > 0.5 else e
    r["a"] = x * 3
    return e["a"]


@case(X)
def dict_new(x):
    r = {"a": x * 1.0}
    for i in range(6):
        r = {"a": r["a"] * 0.5 + x[i]}
    r["a"] = x + r["a"]
    return r["a"]


@case(X, Y, 2)
def read_only(x, y, n):
    r = ternary_of(x, y)
    return r.sum() + halved(x, n)[1]


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")


def test_such_a_write_is_named_once(monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = tj.jit(ternary)
    x, y = X.copy(), Y.copy()
    with pytest.warns(tj.UncompiledCallWarning, match="one of several.*write a copy"):
        jitted(x, y)
    jitted(x, y)
    with pytest.raises(tj.TracejitError, match="one of several"):
        tj.jit(ternary, loops="compiled")(x, y)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (read_only, (X, Y, 2)),
        (swapped_new, (X, Y)),
        (new_arrays_of_one, (X,)),
    ],
)
def test_what_python_and_a_copy_agree_on_is_compiled(function, arguments, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, *arguments, mode="auto")
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}
