"""Rows that leave a compiled loop as its item, or in a list that the steps append to. What is written
afterwards, by either name, is written."""

from __future__ import annotations

import pytest

from .common import Cases, agree
from .returned_arrays import A

case = Cases()


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


@case(A)
def item_behind_the_loop(a):
    for row in a:
        s = row[0] * 2
    row[1] = s
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


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode="auto")
