"""Arrays that are one of two, by a condition that is traced, and what is written by either name."""

from __future__ import annotations

import numpy as np
import pytest

from ..loops.common import Cases, agree, reports

X = np.array([0.5, -1.0, 1.75, 2.0, -0.25, 1.0])
U = np.array([1.5, 0.25, 0.75, -2.0, 0.5, 1.25])
case = Cases()


def fill(r, v):
    for q in range(len(r)):
        r[q] = v + q


def pick(a, b, v):
    if v > 1:
        return a
    return b


@case(X, U)
def a_name(x, u):
    for i in range(6):
        r = x if u[i] > 0.5 else u
        r[i] = 2.0


@case(X, U)
def an_expression(x, u):
    for i in range(6):
        (x if u[i] > 0.5 else u)[i] = 2.0


@case(X, U)
def an_argument(x, u):
    for i in range(6):
        fill(x if u[i] > 0.5 else u, i * 0.5)


@case(X, U)
def an_argument_of_two_branches(x, u):
    for i in range(6):
        if u[i] > 0.5:
            r = x
        else:
            r = u
        fill(r, i * 0.5)


@case(X, U)
def the_other_name_is_written(x, u):
    s = 0.0
    for i in range(6):
        if u[i] > 0.5:
            r = x
        else:
            r = u
        x[2] = s
        u[3] = 7.0
        s = s * 0.5 + r[2] + r[3]
    return s


@case(X, U)
def what_a_function_returns(x, u):
    s = 0.0
    for i in range(6):
        r = pick(x, u, u[i])
        r[2] = s
        s = s * 0.5 + r[2] + r[3]
    return s


def topped(r, v):
    if v > 0.5:
        r[0] = v
        return r
    return r


@case(X, U)
def what_a_function_writes_and_returns(x, u):
    for i in range(6):
        r = topped(x, u[i])
        r[i] = 2.0


@case(X, U)
def parts(x, u):
    for i in range(6):
        r = x[1:] if u[i] > 0.5 else u[:-1]
        r += 0.5


@case(X, U)
def nothing_is_written(x, u):
    s = 0.0
    for i in range(6):
        r = x if u[i] > 0.5 else u
        s += r[i]
    return s


@case(X, U)
def in_the_next_step(x, u):
    s = 0.0
    r = u
    for i in range(6):
        if i > 0:
            r[1] = s
        r = x if u[i] > 0.5 else u
        s += r[i]
    return s


@case(X, U)
def rank_0(x, u):
    h = np.array(0.5)
    g = np.array(0.25)
    for i in range(6):
        r = h if u[i] > 0.5 else g
        r += 1.0
    return h, g


@case(X, U)
def in_a_dictionary(x, u):
    s = 0.0
    for i in range(6):
        d = {"a": x if u[i] > 0.5 else u}
        d["a"][i] = 3.0
    return s


@case(X, U)
def elements_are_numbers(x, u):
    for i in range(6):
        r = x[i] if u[i] > 0.5 else u[i]
        r += 1
        x[i] = r


@case(X, U)
def new_arrays(x, u):
    y = np.zeros(6)
    for i in range(6):
        r = x + 1 if u[i] > 0.5 else u * 2
        r[i] += 1
        y[i] = r[i] + r[2]
    return y


@case(X, U)
def along_a_tuple(x, u):
    for i in range(3):
        for r in (x, u):
            w = r if r[i] > 0.5 else u
            w[i] = 2.0


@case(X, U)
def written_after_the_last_read(x, u):
    y = np.zeros((6, 2))
    for i in range(6):
        r = y[i] if u[i] > 0.5 else x[:2]
        y[i] = r + 1
    return y


@case(X, U)
def behind_an_inner_loop(x, u):
    s = 0.0
    r = x
    for i in range(6):
        r[1] = s
        for j in range(2):
            if u[i] + j > 0.5:
                r = x
            else:
                r = u
        x[2] = 1.0 + i
        s = s * 0.5 + r[2]
    return s


@case(X, U)
def a_part_of_one_of_two(x, u):
    s = 0.0
    for i in range(6):
        r = x if u[i] > 0.5 else u
        q = r[1:]
        x[2] = 1.0 + i
        s = s * 0.5 + q[1]
    return s


@case(X, U)
def written_by_an_inner_loop(x, u):
    s = 0.0
    for i in range(6):
        r = x if u[i] > 0.5 else u
        for j in range(3):
            x[j] = s + j
            s = s * 0.5 + r[j]
    return s


@case(X, U)
def written_by_a_branch(x, u):
    s = 0.0
    for i in range(6):
        r = x if u[i] > 0.5 else u
        if s > 1:
            x[1] = s
        else:
            x[0] += 1
        s = s * 0.5 + r[1] + r[0]
    return s


@case(X, U)
def two_names_of_a_new_array(x, u):
    s = 0.0
    for i in range(6):
        if u[i] > 0.5:
            w = x * 2
            r = w
        else:
            w = u * 3
            r = w[:]
        r[0] = 7.0
        s = s * 0.5 + w[0]
    return s


@case(X, U)
def two_conditions(x, u):
    s = 0.0
    for i in range(6):
        if u[i] > 0.5:
            r = x if s > 1 else u
        else:
            r = u
        x[1] = s
        s = s * 0.5 + r[1] + 1
    return s


@case(X, U)
def one_of_two_of_which_one_is_one_of_two(x, u):
    s = 0.0
    for i in range(6):
        r = x if u[i] > 0.5 else u
        t = r if s > 1 else x
        x[1] = s
        s = s * 0.5 + t[1] + 1
    return s


@case(X, U)
def rank_0_and_a_part(x, u):
    h = np.array(0.5)
    for i in range(6):
        g = h if u[i] > 0.5 else x[2, ...]
        g += 1
        h[...] = g * 0.5
    return h


@case(X, U)
def a_new_array_and_one_of_two(x, u):
    s = 0.0
    r = u * 1
    q = u * 2
    for i in range(6):
        r[1] = s
        s = s * 0.5 + q[1] + q[0]
        q = x * i
        r = q if u[i] > 0.5 else r
    return s


@case(X, U)
def one_of_two_and_a_new_array(x, u):
    s = 0.0
    r = u * 1
    z = u * 2
    for i in range(6):
        r[1] = s
        s = s * 0.5 + z[1] + z[0]
        z = x * i
        r = z if u[i] > 0.5 else r
    return s


@case(X, U)
def itself_or_a_new_array(x, u):
    y = np.zeros(6)
    r = u * 1
    for i in range(6):
        if r[2] > 0.1:
            r = r * 0.5
        y[i] = r[0] + x[i]
    return y, r


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")


@pytest.mark.parametrize(
    "function", [nothing_is_written, elements_are_numbers, written_after_the_last_read, itself_or_a_new_array]
)
def test_what_python_and_a_copy_agree_on_is_compiled(function, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, X, U, mode="auto")
    assert reports(jitted)[0][0] == "compiled"
