"""Gradient modes around and inside jitted functions, in threads, after errors."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

import tracejit as tj
from tracejit.state import STATE

from .common import grad, jit, leaf, total


def test_modes_inside_a_jitted_function_are_those_of_eager_code():
    def f(x):
        with tj.no_grad():
            with tj.enable_grad():
                y = x * 2
            constant = x * 3
        with tj.set_grad_enabled(False):
            also = x * 5
        with tj.inference_mode():
            too = tj.no_grad()(lambda x: x * 7)(x)
        return (y * constant * also * too).sum()

    # 210 x^4, of which one x is differentiated
    x = tj.tensor([1.0, 2.0])
    for way in (grad(f), jit(grad(f)), grad(jit(f))):
        assert way(x).tolist() == [210.0, 1680.0]
    for run in (f, jit(f)):
        arguments = leaf(1.0, 2.0)
        run(arguments).backward()
        assert arguments.grad.tolist() == [210.0, 1680.0]


def test_modes_around_jitted_functions():
    x = leaf(1.0, 2.0)
    for mode in (tj.no_grad(), tj.inference_mode(), tj.set_grad_enabled(False)):
        with mode:
            assert not total(x).requires_grad
            # a gradient asked for explicitly is there in any mode
            assert jit(grad(lambda x: (x * x).sum()))(x.detach()).tolist() == [2.0, 4.0]
            with tj.enable_grad():
                assert total(x).requires_grad
    assert not tj.no_grad()(total)(x).requires_grad
    assert total(x).requires_grad
    assert tj.is_grad_enabled()


def test_a_function_compiled_under_no_grad_is_differentiated_later():
    f = jit(lambda x: (x * x).sum())
    x = leaf(1.0, 2.0)
    with tj.no_grad():
        assert f(x).item() == 5.0
    f(x).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_an_exception_in_a_trace_leaves_modes_as_they_were():
    @jit
    def f(x):
        with tj.no_grad(), tj.inference_mode():
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        f(tj.ones(2))
    assert tj.is_grad_enabled()
    assert not tj.is_inference_mode_enabled()
    assert STATE.tracer is None


def test_modes_of_threads_that_trace_at_once():
    """A thread that traces, and one under no_grad, see nothing of each other."""
    # SimpleQueue has no state in Python: what the other thread does with it breaks no guard of `f`
    to_recording, to_silent, gradients = SimpleQueue[None](), SimpleQueue[None](), {}

    def recording():
        def f(x):
            to_silent.put(None)
            to_recording.get(timeout=120)
            y = (x * x).sum()
            to_silent.put(None)
            to_recording.get(timeout=120)
            return y

        gradients["recording"] = jit(grad(f))(tj.tensor([1.0, 2.0])).tolist()

    def silent():
        def meet():
            to_recording.put(None)
            to_silent.get(timeout=120)

        with tj.no_grad():
            meet()
            y = leaf(1.0) * 2
            meet()
            gradients["silent"] = (y.requires_grad, y.is_traced, STATE.tracer)

    threads = [threading.Thread(target=body) for body in (recording, silent)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert gradients == {"recording": [2.0, 4.0], "silent": (False, False, None)}
