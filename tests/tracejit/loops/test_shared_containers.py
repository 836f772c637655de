"""Lists, dicts and objects with several names behind a compiled loop or branch: a change by one of the names
is seen by all, and ``is`` tells objects apart as in Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports

X = np.array([0.1, -0.2, 0.7, 1.0, 0.0, 0.0])
case = Cases()


@dataclass
class Pair:
    s: object


def put(d, v):
    d["s"] = v


def undone(d, e, v):
    kept = d["s"]
    d.update(s=v)
    v = e["s"].sum()
    d["s"] = kept
    return v


def both(d):
    return d, d


@case(X)
def list_by_two_names(x):
    for i in range(6):
        r = [x * i]
        q = r
    r.append(x)
    return float(len(q))


@case(X)
def dict_by_two_names(x):
    for i in range(6):
        r = q = {"s": x * i}
    put(q, x + 100.0)
    return r["s"]


@case(X)
def dict_by_two_names_in_the_loop(x):
    for i in range(6):
        r = {"s": x * i}
        q = r
        put(r, x + i)
    return q["s"]


@case(X)
def dict_of_a_helper(x):
    for i in range(6):
        r, q = both({"s": x * i})
    put(q, x + 100.0)
    return r["s"]


@case(X)
def tuple_of_a_dict_twice(x):
    for i in range(6):
        c = both({"s": x * i})
    put(c[0], x + 100.0)
    return c[1]["s"]


@case(X)
def dict_of_dicts(x):
    for i in range(6):
        r = {"s": x * i}
        g = {"p": r, "q": [r]}
    put(g["p"], x + 100.0)
    return g["q"][0]["s"], r["s"]


@case(X)
def list_times_two(x):
    for i in range(6):
        r = [[x * i]] * 2
    r[0].append(x)
    return float(len(r[1]))


@case(X)
def names_swapped(x):
    d, e = {"s": x * 2}, {"s": x * 3}
    c = d
    for _i in range(3):
        d, e = e, d
    put(c, x + 100.0)
    return d["s"], e["s"]


@case(X, 0)
@case(X, 2)
def tuple_of_dicts_with_other_names(x, n):
    d, e = {"s": x * 2}, {"s": x * 3}
    g = {"p": d}
    c = (d, e)
    for _i in range(2):
        for _j in range(n):
            c = (c[1], e)
    g["p"]["s"] = x + 100.0
    return c[0]["s"], c[1]["s"]


@case(X, 0)
@case(X, 1)
@case(X, 3)
def the_one_before(x, n):
    d = {"s": x * 2}
    e = q = d
    for i in range(n):
        q = d
        d = {"s": x * i}
    put(e, x + 100.0)
    return d["s"], q["s"]


@case(X, 0)
@case(X, 3)
def no_steps(x, n):
    d = {"s": x * 2}
    e = d
    for i in range(n):
        d = {"s": x * i}
    put(e, x + 100.0)
    return d["s"]


@case({"s": X}, 0)
@case({"s": X}, 2)
def an_argument_without_steps(d, n):
    r = d
    for _i in range(n):
        r = {"s": r["s"] * 2}
    put(r, r["s"] + 1.0)
    return r["s"]


@case(X)
def dict_of_an_outer_step(x):
    s = 0.0
    for i in range(4):
        d = {"s": x * i}
        for _j in range(3):
            r = d
        put(d, x + 3.0)
        s = s + r["s"].sum()
    return s


@case(X)
def dict_of_an_outer_step_by_a_branch(x):
    s = 0.0
    for i in range(4):
        d, r = {"s": x * i}, {"s": x * i + 1}
        if x[i] > 0.5:
            r = d
        put(d, x + 3.0)
        s = s + r["s"].sum()
    return s


@case(X)
def dict_of_an_outer_step_by_an_expression(x):
    s = 0.0
    for i in range(4):
        d, e = {"s": x * i}, {"s": x * i + 1}
        r = d if x[i] > 0.5 else e
        put(d, x + 3.0)
        s = s + r["s"].sum()
    return s


@case(X)
def new_by_a_condition(x):
    d = {"s": x * 2}
    e = d
    for i in range(6):
        if x[i] > 5:
            d = {"s": x * i}
    put(e, x + 100.0)
    return d["s"]


def returned_of(x):
    for i in range(6):
        r = {"s": x * i}
        if x[i] > 0.5:
            return r, [r]
    return r, [r]


@case(X)
def returned(x):
    r, q = returned_of(x)
    put(r, x + 100.0)
    return q[0]["s"]


def object_of(o, e, x):
    r = o
    for i in range(6):
        r = o if x[i] > 0.5 else e
    return r


@case(Pair(X), Pair(X * 2), X)
def object_by_a_name(o, e, x):
    r = object_of(o, e, x)
    r.s = x + 100.0
    return o.s * 1.0, e.s * 1.0


@case(X)
def appended_twice(x):
    items = []
    for i in range(6):
        r = {"s": x * i}
        items.append(r)
        items.append(r)
    put(items[0], x + 100.0)
    return items[1]["s"]


@case(X)
def item_of_appended(x):
    items = []
    for i in range(6):
        items.append({"s": x * i})
    put(items[2], x + 100.0)
    return items[2]["s"]


@case(X)
def list_of_an_inner_loop(x):
    for j in range(3):
        items = []
        for i in range(6):
            items.append(x[i] * j)
        other = items
    other.reverse()
    return items[0], items[5]


@case(X)
def change_that_is_undone(x):
    for i in range(6):
        r = q = {"s": x * i}
    return undone(r, q, x + 100.0) + r["s"].sum()


@case(X)
def compared(x):
    for i in range(6):
        r = q = {"s": x * i}
    return r["s"] if q is r else q["s"] * 2


@case(X)
def arrays_compared(x):
    for i in range(6):
        r = q = x * i
    return r if q is r else q * 2


@case(X)
def compared_in_the_loop(x):
    r, q = {"s": x}, {"s": x}
    s = 0.0
    for i in range(6):
        if q is r:
            s += 1.0
        r = q = {"s": x * i}
    return s


@case(X, 0)
@case(X, 2)
def arrays_without_steps(x, n):
    r, q = x, x * 3
    for _i in range(n):
        r = q = x * 2.0
    x[0] = 5.0
    return r.sum() + q.sum()


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")


def state_of_a_simulation(x, n):
    state = {"s": x * 1.0, "t": 0.0}
    for i in range(n):
        for _j in range(2):
            state = {"s": state["s"] * 0.5 + x[i], "t": state["t"] + 1.0}
    state["t"] = state["t"] + 1.0
    return state["s"], state["t"]


def best_state(x):
    best = state = {"s": x, "t": 0.0}
    for i in range(6):
        state = {"s": state["s"] * 0.5 + x[i], "t": state["t"] + x[i]}
        if state["t"] > best["t"]:
            best = state
    return best["s"], state["t"]


def list_that_grows_behind(x):
    p = [x * 1.0, x * 2.0]
    for i in range(6):
        p = [p[0] * 0.5, p[1] + x[i]]
    p.append(x)
    return p[0], float(len(p))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (state_of_a_simulation, (X, 3)),
        (best_state, (X,)),
        (list_that_grows_behind, (X,)),
        (item_of_appended, (X,)),
        (an_argument_without_steps, ({"s": X}, 2)),
        (no_steps, (X, 3)),
    ],
)
def test_what_has_one_name_is_compiled(function, arguments, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    assert {outcome for outcome, _ in reports(agree(function, *arguments, mode="auto"))} == {"compiled"}


def test_such_a_change_is_named_once(monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = tj.jit(dict_by_two_names)
    with pytest.warns(tj.UncompiledCallWarning, match="changed that has another name.*write a copy"):
        jitted(X)
    jitted(X)
    with pytest.raises(tj.TracejitError, match="changed that has another name"):
        tj.jit(dict_by_two_names, loops="compiled")(X)
