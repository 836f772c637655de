"""Tests of loops whose second part does something beside computing: it is done where Python does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

ARRAYS = (
    np.array([-1.0, 0.3, 2.0, -1.0, 0.1, 0.2]), np.array([1.0, 0.5, 0.1, -2.0]), np.array([-1.0, -2.0, 0.1]),
    -np.ones(4),
)  # fmt: skip


def rebinds(x):
    w = x[0]

    def inner(v):
        nonlocal w
        w = v
        return v

    h = 0
    while h < 4 and (w > 0.0 and inner(x[1]) > 0.25):
        h += 1
    return w, h


def rebinds_deeper(x):
    w = x[0]

    def inner(v):
        q = v

        def deeper(e):
            nonlocal q, w
            q = q * 0.5 + e
            w = q
            return q

        return deeper(v)

    h = 0
    while h < 5 and (x[1] > 0.5 or inner(2.0) > 0.5 or inner(2.0) < -1.0):
        h += 1
    return w, h


def rebinds_in_a_branch(x):
    w = x[0]

    def inner(v):
        nonlocal w
        w = v
        return v

    h = 0
    if w > 0.0 and inner(x[1]) > 0.25:
        h = 1
    for i in range(len(x)):
        if x[i] > 0.0 and inner(x[i]) > 0.25:
            h += 1
    return w, h


def writes_a_list(x):
    w, i = [0.0], 0

    def inner(v):
        w[0] = v
        return v

    while i < len(x) and (x[i] < 0.0 or inner(x[i]) > 0.25):
        i += 1
    return w[0], i


def appends(x):
    w, i = [], 0

    def inner(v):
        w.append(v)
        return v

    while x[0] < 0 or (i < len(x) and (x[i] < 0.0 or inner(x[i]) > 0.25)):
        i += 1
        if i > 3:
            break
    return len(w), i


def writes_an_attribute(x):
    class Holder:
        value = 0.0

    def inner(v):
        Holder.value = v
        return v

    i = 0
    while i < len(x) and (x[i] < 0.0 or inner(x[i]) > 0.25):
        i += 1
    return Holder.value, i


def pops(x):
    left, h = [1.0, 2.0, 3.0], 0
    while x[0] > 0 and (len(left) > 0 and left.pop() > x[1]):
        h += 1
    return len(left), h


def has_a_number(x):
    h = 0
    while x[1] and h < 4:
        h += 1
    while h < 9 and (x[0] or x[1] - 0.5):
        h += 2
    return h, 0.0


@pytest.mark.parametrize(
    "function",
    [
        rebinds,
        rebinds_deeper,
        rebinds_in_a_branch,
        writes_a_list,
        appends,
        writes_an_attribute,
        pops,
        has_a_number,
    ],
)
@pytest.mark.parametrize("number", range(len(ARRAYS)))
@pytest.mark.filterwarnings("ignore::tracejit.UnrolledLoopWarning", "ignore::tracejit.UncompiledCallWarning")
def test_as_python_does(function: Callable[[Any], Any], number: int) -> None:
    x = ARRAYS[number]
    np.testing.assert_allclose([float(value) for value in tj.jit(function)(x)], function(x))
