"""Gradient modes: as in PyTorch, with its numbers."""

from __future__ import annotations

import threading

import pytest

import tracejit as tj

from .common import leaf, refuses, values


def test_no_grad_and_enable_grad_nest():
    x = leaf(1.0)
    with tj.no_grad():
        assert not (x * 2).requires_grad
        with tj.enable_grad():
            assert (x * 2).requires_grad
            with tj.no_grad():
                assert not tj.is_grad_enabled()
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()


def test_one_manager_entered_twice():
    mode = tj.no_grad()
    with mode, mode:
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()


def test_modes_are_restored_after_an_exception():
    for mode in (tj.no_grad, lambda: tj.set_grad_enabled(False), tj.inference_mode):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert tj.is_grad_enabled()


def test_modes_as_decorators():
    @tj.no_grad()
    def off(x):
        """Doubles."""
        return x * 2

    @tj.no_grad
    def bare(x):
        return x * 2

    @tj.enable_grad()
    def on(x):
        return x * 2

    @tj.set_grad_enabled(False)
    def tripled(x):
        return x * 3

    assert tj.is_grad_enabled()
    x = leaf(1.0)
    assert not tripled(x).requires_grad
    assert not off(x).requires_grad
    assert not bare(x).requires_grad
    assert off.__name__ == "off"
    assert off.__doc__ == "Doubles."
    with tj.no_grad():
        assert on(x).requires_grad


def test_a_decorated_function_may_call_itself():
    @tj.no_grad()
    def down(n):
        assert not tj.is_grad_enabled()
        return down(n - 1) if n else 0

    down(3)
    assert tj.is_grad_enabled()


def test_no_grad_on_a_generator_function():
    @tj.no_grad()
    def numbers():
        for i in range(3):
            assert not tj.is_grad_enabled()
            yield i
        assert not tj.is_grad_enabled()

    results = []
    for i in numbers():
        assert tj.is_grad_enabled()
        results.append(i)
    assert results == [0, 1, 2]


def test_no_grad_on_a_generator_that_receives():
    closed = []

    @tj.no_grad()
    def echo():
        got = None
        try:
            while got != "stop":
                try:
                    got = yield got
                except KeyError:
                    got = "thrown"
                assert not tj.is_grad_enabled()
            return "result"
        finally:
            closed.append(tj.is_grad_enabled())

    g = echo()
    assert next(g) is None
    assert g.send(5) == 5
    assert tj.is_grad_enabled()
    assert g.throw(KeyError) == "thrown"
    with pytest.raises(StopIteration) as end:
        g.send("stop")
    assert end.value.value == "result"
    g = echo()
    next(g)
    g.close()
    assert closed == [False, False]
    assert tj.is_grad_enabled()


def test_set_grad_enabled():
    tj.set_grad_enabled(False)
    try:
        assert not tj.is_grad_enabled()
    finally:
        tj.set_grad_enabled(True)
    with tj.set_grad_enabled(False):
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()

    @tj.set_grad_enabled(False)
    def off():
        return tj.is_grad_enabled()

    assert tj.is_grad_enabled()
    assert not off()
    assert tj.is_grad_enabled()


def test_modes_belong_to_their_thread():
    seen = []
    with tj.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tj.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_leaves_made_under_no_grad_may_require_grad():
    with tj.no_grad():
        x = tj.ones(2, requires_grad=True)
    assert x.requires_grad
    (x * 2).sum().backward()
    assert values(x.grad) == [2, 2]


def test_backward_under_no_grad():
    x = leaf(2.0)
    y = (x * x).sum()
    with tj.no_grad():
        y.backward()
    assert values(x.grad) == [4]


def test_inference_mode():
    x = leaf(1.0)
    with tj.inference_mode():
        assert tj.is_inference_mode_enabled()
        assert not tj.is_grad_enabled()
        y = x * 2
        with tj.inference_mode(False):
            assert not tj.is_inference_mode_enabled()
            assert (x * 2).requires_grad
    assert not tj.is_inference_mode_enabled()
    assert tj.is_grad_enabled()
    assert not y.requires_grad


def test_inference_mode_as_decorator():
    @tj.inference_mode()
    def double(x):
        assert tj.is_inference_mode_enabled()
        return x * 2

    @tj.inference_mode
    def bare(x):
        assert tj.is_inference_mode_enabled()
        return x * 2

    assert not double(leaf(1.0)).requires_grad
    assert not bare(leaf(1.0)).requires_grad
    assert not tj.is_inference_mode_enabled()


def test_tensors_made_in_inference_mode_are_ordinary():
    # PyTorch refuses to save or write them outside; ours keep their counts of writes all the same
    x = leaf(1.0)
    with tj.inference_mode():
        c = tj.ones(1)
        c.mul_(2.0)
    (x * c).sum().backward()
    assert values(x.grad) == [2]
    y = x * c
    c.mul_(2.0)
    with refuses(tj.GradientError, "mul saved", "place by mul_"):
        y.sum().backward()
