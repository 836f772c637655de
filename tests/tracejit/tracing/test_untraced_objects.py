"""Changes that a step makes beside the graph are found and taken back: the loop runs step by step."""

from __future__ import annotations

import functools
import operator
from collections import deque
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.tracing.untraced_objects import UntracedObjects

from ..loops.common import agree, reports

X = np.linspace(0.1, 1.0, 40)


class Counter:
    def __init__(self) -> None:
        self.n = 0
        self.array = np.zeros(3)

    def count(self) -> None:
        self.n += 1


def out_of_a_function(x):
    t, s = np.linspace(0, 1, 5)[1:], 0.0
    for k in range(len(x)):
        np.multiply(t, 0.5, out=t)
        s += x[k] * t[0]
    return s, t


def of_two(x):
    w = np.zeros(6)
    low, high = w[:3], w[3:]
    for k in range(len(x)):
        low += 1
        high -= k
    return w, x[0]


def in_a_new_list(x):
    t, s = np.arange(4.0), 0.0
    for k in range(len(x)):
        q = [t]
        q[0] += 1
        s += x[k]
    return t, s


def by_the_operator(x):
    t, s = np.zeros((2, 4))[0], 0.0
    for k in range(len(x)):
        operator.iadd(t, 1)
        s += x[k] * t[0]
    return s


def until_it_is_large(x):
    t, s = np.zeros(4)[1:], 0.0
    while t[0] < 35:
        np.add(t, 1, out=t)
        s += x[0]
    return t, s


def under_a_condition(x):
    t, s = np.eye(4)[1], 0.0
    for k in range(len(x)):
        if x[k] > 2:
            np.add(t, 1, out=t)
        s += x[k]
    return t, s


def by_the_class(x):
    items, s = [0], 0.0
    for k in range(len(x)):
        list.append(items, k)
        s += x[k]
    return s, len(items)


def of_a_queue(x):
    queue, s = deque([1, 2, 3]), 0.0
    for k in range(len(x)):
        deque.rotate(queue, 1)
        s += x[k] * queue[0]
    return s


def of_a_dict(x):
    d, s = {"a": 0}, 0.0
    for k in range(len(x)):
        operator.setitem(d, "a", d["a"] + 1)
        s += x[k] * d["a"]
    return s


def of_an_object(x):
    c, s = Counter(), 0.0
    add = functools.partial(np.add, c.array, 1)
    for k in range(len(x)):
        add(c.array)
        s += x[k] * c.array[0]
    return s


@pytest.mark.parametrize(
    "function",
    [out_of_a_function, of_two, in_a_new_list, by_the_operator, until_it_is_large, by_the_class, of_a_queue,
     of_a_dict, of_an_object],
)  # fmt: skip
def test_each_step_changes_it(function: Any) -> None:
    jitted = agree(function, X, mode="auto")
    for outcome, reason in reports(jitted):
        assert outcome == "compiled" or reason


def test_a_side_that_never_runs_changes_nothing() -> None:
    with pytest.raises(tj.TracejitError):
        tj.jit(under_a_condition, loops="compiled")(X)


def test_what_is_kept() -> None:
    counter, inner = Counter(), np.arange(3)
    view = inner[1:]

    def closure() -> Any:
        return view

    objects = [[1, [2.0]], {"a": np.ones(2), "b": {3}}, closure, counter, counter.count, deque([4])]
    kept = UntracedObjects(objects)
    assert not kept.restore()
    objects[0][1].append(5)
    objects[1]["a"] += 1
    objects[1]["b"].add(4)
    inner[0] = 9
    counter.count()
    counter.array[1] = 2
    objects[5].popleft()
    assert kept.restore()
    assert objects[0] == [1, [2.0]]
    np.testing.assert_array_equal(objects[1]["a"], [1, 1])
    assert objects[1]["b"] == {3}
    np.testing.assert_array_equal(inner, [0, 1, 2])
    assert counter.n == 0
    assert not counter.array.any()
    assert list(objects[5]) == [4]
    assert not kept.restore()
