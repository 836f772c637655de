"""Arrays that loops of no steps hand on: the array from before the loop, which is written by either name."""

from __future__ import annotations

import numpy as np
import pytest

from .common import Cases, agree, reports
from .returned_arrays import X, halved

case = Cases()


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


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (zero_steps, (X, 2)),
        (zero_steps_source_written, (X, 2)),
        (zero_steps_source_written_by_a_loop, (X, 2)),
        (zero_steps_source_written_and_not_read, (X, 0)),
        (power, (X, 2)),
        (power_carried, (X, 2)),
    ],
)
def test_what_python_and_a_copy_agree_on_is_compiled(function, arguments, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, *arguments, mode="auto")
    assert {outcome for outcome, _ in reports(jitted)} == {"compiled"}
