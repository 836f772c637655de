"""``checkpoint``: as in PyTorch, with its numbers."""

from __future__ import annotations

import gc
import weakref

import pytest

import tracejit as tj

from .common import leaf, values


def test_checkpoint_gives_the_same_gradients():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)

    def f(x, w, k):
        return (tj.exp(x) * w * k).sum()

    plain = tj.autograd.grad(f(x, w, 2.0), [x, w])
    again = tj.autograd.grad(tj.checkpoint(f, x, w, 2.0), [x, w])
    assert [values(g) for g in again] == [values(g) for g in plain]
    tj.checkpoint(f, x, w, 2.0).backward()
    assert values(w.grad) == values(plain[1])


def test_checkpoint_runs_the_function_again():
    calls = []

    def f(x):
        calls.append(tj.is_grad_enabled())
        return (x * x).sum()

    y = tj.checkpoint(f, leaf(1.0))
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2


def test_checkpoint_under_no_grad_runs_once():
    calls = []
    with tj.no_grad():
        y = tj.checkpoint(lambda x: calls.append(1) or x * 2, leaf(1.0))
    assert not y.requires_grad
    assert calls == [1]


def test_checkpoint_does_not_keep_what_is_inside():
    alive = []

    def f(x):
        y = tj.exp(x)
        alive.append(weakref.ref(y.detach().numpy()))
        return (y * y).sum()

    x = leaf(1.0)
    plain = f(x)
    checked = tj.checkpoint(f, x)
    gc.collect()
    assert alive[0]() is not None
    assert alive[1]() is None
    (plain + checked).backward()


def test_checkpoint_nests():
    calls = []

    def inner(x):
        calls.append("inner")
        return tj.sin(x) * x

    def outer(x):
        calls.append("outer")
        return tj.checkpoint(inner, x * x).sum()

    x = leaf(0.5, 1.5)
    (expected,) = tj.autograd.grad((tj.sin(x * x) * (x * x)).sum(), x)
    tj.checkpoint(outer, x).backward()
    assert values(x.grad) == pytest.approx(values(expected))
    assert calls.count("outer") == 2
    assert calls.count("inner") >= 2


def test_checkpoint_with_several_results_and_closures():
    x, w = leaf(2.0), leaf(5.0)
    a, b = tj.checkpoint(lambda x: (x * w, x * x), x)
    (a.sum() + b.sum()).backward()
    assert values(x.grad) == [9]
    assert values(w.grad) == [2]


def test_checkpoint_twice_differentiated():
    x = leaf(2.0)
    (g,) = tj.autograd.grad(tj.checkpoint(lambda x: (x**3).sum(), x), x, create_graph=True)
    assert values(tj.autograd.grad(g.sum(), x)[0]) == [12]


def test_checkpoint_with_retain_graph():
    x = leaf(2.0)
    y = tj.checkpoint(lambda x: (x * x).sum(), x)
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad) == [8]


def test_checkpoint_takes_keywords():
    x = leaf(2.0)
    tj.checkpoint(lambda x, k=1.0: (x * k).sum(), x, k=3.0).backward()
    assert values(x.grad) == [3]
