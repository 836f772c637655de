"""``no_grad``, ``enable_grad``, ``set_grad_enabled``: context managers, decorators, threads, exceptions."""

from __future__ import annotations

import threading

import pytest

import tracejit as tj


@pytest.fixture
def x():
    return tj.tensor([1.0], requires_grad=True)


def test_no_grad_and_enable_grad_nest(x):
    with tj.no_grad():
        assert not (x * 2).requires_grad
        with tj.enable_grad():
            assert (x * 2).requires_grad
            with tj.no_grad():
                assert not (x * 2).requires_grad
            assert tj.is_grad_enabled()
        assert not tj.is_grad_enabled()
    assert (x * 2).requires_grad


def test_one_manager_entered_twice():
    mode = tj.no_grad()
    with mode, mode:
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()


def test_exceptions_put_the_mode_back():
    for mode in (tj.no_grad, lambda: tj.set_grad_enabled(False)):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert tj.is_grad_enabled()


def test_decorators(x):
    @tj.no_grad()
    def double(t):
        """Doc."""
        return t * 2

    @tj.set_grad_enabled(False)
    def triple(t):
        return t * 3

    assert tj.is_grad_enabled()
    assert not double(x).requires_grad
    assert not triple(x).requires_grad
    assert tj.is_grad_enabled()
    assert double.__name__ == "double"
    assert double.__doc__ == "Doc."
    with tj.no_grad():
        assert tj.enable_grad()(lambda t: t * 2)(x).requires_grad


def test_set_grad_enabled_at_once():
    try:
        tj.set_grad_enabled(False)
        assert not tj.is_grad_enabled()
    finally:
        tj.set_grad_enabled(True)
    assert tj.is_grad_enabled()
    with tj.set_grad_enabled(False):
        assert not tj.is_grad_enabled()
        with tj.set_grad_enabled(True):
            assert tj.is_grad_enabled()
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()


def test_modes_belong_to_a_thread():
    seen = []
    with tj.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tj.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_requires_grad_inside_no_grad():
    with tj.no_grad():
        x = tj.ones(2, requires_grad=True)
        assert x.requires_grad
        assert x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
