"""Tape nodes for calls of jitted functions, and their differentiation."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .common import constant, entries_switched_off, leaf


@pytest.mark.parametrize("switch", ["on", "off"])
def test_arguments_that_are_modified_before_backward(switch: str) -> None:
    f = tj.jit(lambda x, y: x * y)
    x, y = leaf([1, 2]), constant([3, 4])
    f(x, y)
    if switch == "off":
        with entries_switched_off():
            result = f(x, y)
    else:
        result = f(x, y)
    y.add_(1)
    message = r"argument 1 of the jitted function, of shape \(2,\), was modified in place by add_: it is at"
    with pytest.raises(tj.GradientError, match=message):
        result.sum().backward()
    again = f(x, y)  # counts from now on
    again.sum().backward()
    assert x.grad.tolist() == [4, 5]


def test_a_view_of_an_argument_is_modified_before_backward() -> None:
    f = tj.jit(lambda x, y: x * y)
    x, y = leaf([1, 2]), constant([3, 4])
    f(x, y)
    view = y[:1]
    result = f(x, y)
    view.mul_(2)
    with pytest.raises(tj.GradientError, match="argument 1 of the jitted function"):
        result.sum().backward()


def test_a_graph_is_freed_by_backward() -> None:
    f, x = tj.jit(lambda x: tj.sin(x) * 2), leaf([1, 2])
    f(x)
    result = f(x).sum()
    result.backward(retain_graph=True)
    result.backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * np.cos([1, 2]), rtol=1e-12)
    with pytest.raises(tj.GradientError, match="backward through the graph a second time"):
        result.backward()


def test_gradients_of_gradients() -> None:
    f = tj.jit(lambda x, y, n: (tj.sin(x) * y * y * n).sum())
    for _ in range(2):
        x, y = leaf([1, 2]), leaf([3, 4])
        first = tj.autograd.grad(f(x, y, 2.0), [x, y], create_graph=True)
        second = tj.autograd.grad((first[0] * first[1]).sum(), [x, y])
        sin, cos, squares = np.sin([1, 2]), np.cos([1, 2]), np.array([9, 16])
        np.testing.assert_allclose(first[0].detach().numpy(), 2 * cos * squares, rtol=1e-12)
        # d/dx and d/dy of 2 cos(x) y^2 * 4 sin(x) y
        expected = 8 * (cos * cos - sin * sin) * squares * [3, 4], 24 * sin * cos * squares
        for gradient, values in zip(second, expected, strict=True):
            np.testing.assert_allclose(gradient.numpy(), values, rtol=1e-12)


def test_transforms_of_functions_that_call_it() -> None:
    f = tj.jit(lambda x: tj.sin(x) * 2)
    x = constant([1, 2])
    for _ in range(3):
        gradient = tj.grad(lambda x: (f(x) * f(x)).sum())(x)
        np.testing.assert_allclose(gradient.numpy(), 8 * np.sin([1, 2]) * np.cos([1, 2]), rtol=1e-12)
        assert not gradient.requires_grad
    hessian = tj.hessian(lambda x: f(x).sum())(x)
    np.testing.assert_allclose(hessian.numpy(), np.diag(-2 * np.sin([1, 2])), rtol=1e-12)


def test_chains_of_calls() -> None:
    """Arguments that are results: of the tape, and of recorded calls with several results."""
    f = tj.jit(lambda x: (x * 2, x * 3))
    x = leaf([1, 2])
    for _ in range(2):
        x.grad = None
        first, second = f(x + 1)
        third, fourth = f(second * first)
        (third + fourth).sum().backward()
        assert x.grad.tolist() == [2 * 6 * 5 * 2, 2 * 6 * 5 * 3]


def test_hooks_on_saved_values_and_on_nodes() -> None:
    f, x = tj.jit(lambda x: tj.sin(x) * 2), leaf([1, 2])
    f(x)
    packed = []

    def pack(value: tj.Tensor) -> Any:
        packed.append(value)
        return value * 1

    with tj.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        result = f(x)
    assert packed
    seen = []
    result.register_hook(lambda gradient: seen.append(gradient.tolist()))
    result.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(inputs)))
    result.sum().backward()
    assert seen == [[1, 1], 1]
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([1, 2]), rtol=1e-12)


def test_a_hook_that_raises_is_an_error_of_the_call() -> None:
    f, x = tj.jit(lambda x: (tj.sin(x) * 2, x + 1)), leaf([1, 2])
    f(x)

    def fail(value: tj.Tensor) -> Any:
        raise ValueError("nowhere to keep it")

    before = sys.getrefcount(x), sys.getrefcount(x._data)
    for _ in range(100):
        with (
            pytest.raises(ValueError, match="nowhere to keep it"),
            tj.autograd.graph.saved_tensors_hooks(fail, lambda value: value),
        ):
            f(x)
    assert max(abs(sys.getrefcount(x) - before[0]), abs(sys.getrefcount(x._data) - before[1])) < 10
    assert f(x)[0].requires_grad


def test_anomaly_detection_names_the_line_of_a_warm_call() -> None:
    f, x = tj.jit(lambda x: tj.sqrt(x)), leaf([0.0, -1.0])
    f(x)
    with np.errstate(all="ignore"), tj.autograd.detect_anomaly():
        result = f(x)
        assert result.grad_fn.location.file == __file__
        with pytest.raises(tj.GradientError, match="JitBackward"):
            result.sum().backward()


def test_errors_of_recorded_calls() -> None:
    f, x = tj.jit(lambda x, i: tj.take(x, i) * 2), leaf([1, 2, 3])
    assert f(x, np.array([2])).tolist() == [6]
    for _ in range(2):
        with pytest.raises(IndexError):
            f(x, np.array([5]))
    f(x, np.array([2])).sum().backward()
    assert x.grad.tolist() == [0, 0, 2]
