"""Arrays that leave a compiled loop: by ``return``, ``break``, ``else``, or a name that a step gives another
array. What is written afterwards, by either name, is written."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports

X = np.array([0.1, -0.2, 0.7, 1.0, 0.0, 0.0])
Y = np.array([-1.0, 4.0, 5.0, 6.0, 7.0, 8.0])
A = np.arange(12.0).reshape(4, 3)
TABLE = np.arange(6.0)
case = Cases()


def halved(x, n):
    cur = x
    for _i in range(n):
        cur = cur * 0.5
    return cur


@case(X, 0)
@case(X, 2)
def zero_steps(x, n):
    r = halved(x, n)
    r[0] = 5.0
    return r.sum()


@case(X, 0)
@case(X, 2)
def zero_steps_same(x, n):
    cur = x
    for _i in range(n):
        cur = cur * 0.5
    cur[0] = 9.0
    return cur.sum()


@case(X, 0)
@case(X, 3)
def zero_steps_in_loop(x, n):
    t = 0.0
    for k in range(4):
        r = halved(x, n)
        r[0] = 5.0 + k
        t += r.sum()
    return t


@case(X, 0)
@case(X, 3)
def zero_steps_source_written(x, n):
    r = halved(x, n)
    x[0] = 5.0
    return r.sum()


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


@case(X)
def previous(x):
    a, b = previous_of(x)
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


def last_item(a):
    for row in a:
        s = row[0] * 2
    return row, s


@case(A)
def item_written(a):
    r, s = last_item(a)
    r[1] = s
    return a.sum()


@case(A)
def item_source(a):
    r, s = last_item(a)
    a[3] = s
    return r.sum()


def best_item(a):
    best = a[0]
    for _, (row, other) in enumerate(zip(a, a[::-1], strict=True)):
        if row[0] > 2.0 * other[0]:
            best = other
    return best


@case(A)
def best_item_written(a):
    r = best_item(a)
    r += 100.0
    return a.sum()


@case(A)
def best_item_written_in_a_loop(a):
    for i in range(3):
        r = best_item(a)
        r += 100.0 * i
    return a.sum()


def items_of(a):
    items = []
    for row in a:
        items.append(row)
    return items


@case(A)
def items_written(a):
    q = items_of(a)
    q[2][0] = 100.0
    return a.sum()


@case(A)
def item_behind_the_loop(a):
    for row in a:
        s = row[0] * 2
    row[1] = s
    return a.sum()


def collect(a):
    items = []
    for i in range(4):
        items.append(a[i])
    return items


@case(A)
def collected(a):
    q = collect(a)
    q[1][1] = 100.0
    return a.sum()


@case(A)
def collected_source(a):
    q = collect(a)
    a[1, 1] = 100.0
    return q[1].sum()


def collect_twice(a):
    items = []
    for i in range(4):
        r = a[i] * 2
        items.append(r)
        items.append(r)
    return items


@case(A)
def collected_twice(a):
    q = collect_twice(a)
    q[0][1] = 100.0
    return q[1].sum()


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


def ternary_of(x, y):
    for j in range(5):
        r = x if x[j] > 0 else y
    return r


@case(X, Y)
def ternary(x, y):
    r = ternary_of(x, y)
    r[1] = 50.0
    return x.sum() - y.sum()


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


def table_or(x):
    for j in range(6):
        if x[j] > 0.5:
            return TABLE
    return x


def global_written(x):
    r = table_or(x)
    r[0] += 3.0
    return r.sum() + TABLE[0]


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


@case(X, 2)
@case(X, 0)
def power(x, n):
    out = np.zeros(6)
    for i in range(6):
        cur = x
        for _k in range(n):
            cur = cur * 0.5 + i
        out[i] = cur.sum()
    return out


@case(X, 2)
@case(X, 0)
def power_carried(x, n):
    out = np.zeros(6)
    cur = x * 2
    for i in range(6):
        for _k in range(n):
            cur = cur * 0.5 + i
        out[i] = cur.sum()
    return out


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


@case(X, 2)
@case(X, 0)
def zero_steps_source_written_by_a_loop(x, n):
    r = halved(x, n)
    q = r[1:]
    for i in range(6):
        x[i] = r[5 - i] + i
    return r.sum() + q[2]


@case(X, 2)
@case(X, 0)
def zero_steps_source_written_and_not_read(x, n):
    r = halved(x, n)
    s = r.sum()
    x[1] = s
    return s


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


@case({"a": X}, {"a": Y}, X)
def argument_dicts(d, e, x):
    r = pick(d, e, x)
    r["a"] = x * 3
    return d["a"] * 1.0


@case(X, Y, 2)
def read_only(x, y, n):
    r = ternary_of(x, y)
    return r.sum() + halved(x, n)[1]


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


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (read_only, (X, Y, 2)),
        (zero_steps, (X, 2)),
        (zero_steps_source_written, (X, 2)),
        (zero_steps_source_written_by_a_loop, (X, 2)),
        (zero_steps_source_written_and_not_read, (X, 0)),
        (while_zero, (Y,)),
        (power, (X, 2)),
        (power_carried, (X, 2)),
        (swapped_new, (X, Y)),
        (new_arrays_of_one, (X,)),
    ],
)
def test_what_python_and_a_copy_agree_on_is_compiled(function, arguments, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, *arguments, mode="auto")
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}


def test_such_a_write_is_named_once(monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = tj.jit(ternary)
    x, y = X.copy(), Y.copy()
    with pytest.warns(tj.UncompiledCallWarning, match="one of several.*write a copy"):
        jitted(x, y)
    jitted(x, y)
    with pytest.raises(tj.TracejitError, match="one of several"):
        tj.jit(ternary, loops="compiled")(x, y)
