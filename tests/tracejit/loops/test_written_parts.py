"""Parts of arrays that loops and functions write: what a traced index selects is a view, as in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree, reports

A = np.arange(30.0).reshape(6, 5) / 8
case = Cases()


def fill(r: Any, v: Any) -> None:
    for j in range(len(r)):
        r[j] = v * j


def fill_both(r: Any, v: Any) -> None:
    fill(r[1:], v)
    fill(r[::-2], v + 1)


@case(A)
def row_by_a_function(a):
    for i in range(a.shape[0]):
        fill(a[i], i)


@case(A)
def row_by_two_functions(a):
    for i in range(a.shape[0]):
        fill_both(a[i], i)


@case(A)
def row_by_an_inner_loop(a):
    b = a * 2
    for i in range(a.shape[0]):
        r = b[i]
        for j in range(a.shape[1]):
            r[j] = r[j] + i
        r += 1
    return b


@case(A)
def columns(a):
    for i in range(a.shape[1]):
        fill(a[:, i], i)


@case(A)
def parts_of_rows(a):
    for i in range(a.shape[0]):
        r = a[i, 1:]
        r[0] = 5.0
        r[::2] *= 2


@case(A)
def windows(a):
    flat = a.reshape(-1)
    for i in range(20):
        fill(flat[i : i + 2], i)


@case(A)
def fields_of_tuples(a):
    for i in range(a.shape[0]):
        pair = (a[i], a[i, :2])
        fill(pair[1], i)
        pair[0][3] += pair[1][1]


@case(A)
def items(a):
    for r in a:
        for j in range(1, len(r)):
            r[j] += r[j - 1]


@case(A)
def items_by_two_names(a):
    for i, r in enumerate(a):
        a[i, 0] = 7.0
        r[1] = r[0] + 1


@case(A)
def items_that_later_steps_read(a):
    x = a.reshape(-1)
    s = 0.0
    for i, v in enumerate(x):
        x[(i + 3) % 30] = v * 0.5
        s += v
    return s


@case(A, 2)
def row_by_an_argument(a, k):
    r = a[k]
    r[1] = 3.0
    fill(a[k - 1], k)
    return r.sum()


@case(A)
def branches(a):
    for i in range(a.shape[0]):
        r = a[i]
        if r[0] > 1:
            r[1] = -1.0
        else:
            fill(r, 2.0)


@case(A)
def branch_that_reads_and_does_nothing(a):
    u = a[0] * 0.5
    s = 0.0
    for i in range(5):
        s = u[i]
        if i * 0.5 > 0.25:
            s = 1.5
            if -0.5 < u[i] <= 1.0:
                u[::-1]
    return s


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    jitted = agree(function, *arguments, mode="auto")
    assert {outcome for outcome, _ in reports(jitted)} <= {"compiled"}


def test_gradients_of_rows_that_are_written() -> None:
    def loss(a: Any, w: Any) -> Any:
        b = a * 1.0
        for i in range(a.shape[0]):
            r = b[i]
            for j in range(1, a.shape[1]):
                r[j] = r[j - 1] * w + r[j]
        return (b * b).sum()

    def by_rows(a: Any, w: Any) -> Any:
        total = 0.0
        for i in range(6):
            last = a[i, 0]
            total = total + last * last
            for j in range(1, 5):
                last = last * w + a[i, j]
                total = total + last * last
        return total

    gradients = tj.jit(tj.grad(loss, argnums=(0, 1)), loops="compiled")(A, 0.5)
    expected = tj.jit(tj.grad(by_rows, argnums=(0, 1)), loops="unrolled")(A, 0.5)
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient.numpy(), other.numpy(), rtol=1e-12)
