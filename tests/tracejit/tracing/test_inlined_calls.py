"""Jitted functions that traces call: their results have memory of their own, as outside of traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


@tj.jit
def row(a: Any) -> Any:
    return a[0]


@tj.jit
def same(tree: Any) -> Any:
    return tree


@tj.jit
def twice(x: Any) -> Any:
    y = x * 2
    return y, y


@tj.jit
def filled(x: Any) -> Any:
    x[0] = 7.0
    return x


def view(a: Any) -> Any:
    r = row(a)
    r[0] = 5.0
    return a.sum()


def argument(a: Any) -> Any:
    y = same(a)
    y += 1
    return a.sum()


def lists(a: Any) -> Any:
    parts = [a, a * 2]
    same(parts).append(a)
    return len(parts) + a.sum() * 0


def several_names(a: Any) -> Any:
    y, z = twice(a)
    y[0] = 100.0
    return z.sum()


def written(a: Any) -> Any:
    y = filled(a)
    y[1] = 50.0
    return a.sum()


def views_of_one_array(a: Any) -> Any:
    parts = same({"all": a, "rest": a[1:]})
    parts["all"][1] = 9.0
    return parts["rest"].sum() + a.sum()


def in_a_loop(a: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        r = row(a[i:])
        r[0] = 5.0
        s += a[i, 0]
    return s


def in_nested_loops(a: Any) -> Any:
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += same(a[i, j]) * 0.5
    return s


@pytest.mark.parametrize(
    "function",
    [view, argument, lists, several_names, written, views_of_one_array, in_a_loop, in_nested_loops],
)
@pytest.mark.parametrize("shape", [(3, 3), (20, 20)])
def test_a_trace_changes_no_result(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    outcomes = []
    for run in (function, tj.jit(function)):
        a = np.arange(np.prod(shape), dtype=float).reshape(shape)
        outcomes.append((np.asarray(run(a)), a))
    for value, expected in zip(outcomes[1], outcomes[0], strict=True):
        np.testing.assert_array_equal(value, expected)


def test_gradients_flow_through_copies() -> None:
    a = np.arange(4.0).reshape(2, 2)
    gradient = tj.jit(tj.grad(lambda a: (row(a) ** 2).sum() + same(a)[1, 1]))(a)
    np.testing.assert_array_equal(gradient, [[0.0, 2.0], [0.0, 1.0]])
