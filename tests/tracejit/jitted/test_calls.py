"""Recorded calls: those of jitted functions on tensors that require gradients.

A warm call begins at a native entry and records one node. With the entries switched off, the same calls go
through Python; both must agree. `test_call_nodes` is about what the tape keeps of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.backward.engine import Engine
from tracejit.pytree import flatten

from .common import Layer, Point, constant, entries_switched_off, leaf, python_calls

#: The Python functions that a warm recorded call may run: `CallPlan.record` and what makes nodes.
MAX_PYTHON_CALLS = 10


# -- the calls of these tests: a function, and new arguments of which some require gradients ------------

WEIGHT = leaf([0.5, -1.5, 2.0])
SCALE = 3.0


def branch_free(x: Any, y: Any, z: Any) -> Any:
    return tj.sin(x) * y + z


CALLS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "one argument": (lambda x: tj.sin(x) * 2, lambda: ((leaf([0.1, 0.2, 0.3]),), {})),
    "first two of three": (branch_free, lambda: ((leaf([1, 2]), leaf([3, 4]), constant([5, 6])), {})),
    "last of three": (branch_free, lambda: ((constant([1, 2]), constant([3, 4]), leaf([5, 6])), {})),
    "arrays and numbers": (branch_free, lambda: ((leaf([1, 2]), np.array([3.0, 4.0]), 5.0), {})),
    "integers and bools": (
        lambda x, n, flag: x * n + tj.where(flag, x, -x),
        lambda: ((leaf([1, 2]), 3, True), {}),
    ),
    "one tensor twice": (lambda x, y: x * y, lambda: ((leaf([1, 2]),) * 2, {})),
    "keywords": (
        lambda x, *, scale, shift: x * scale + shift,
        lambda: ((constant([1, 2]),), {"shift": leaf([1, 1]), "scale": leaf([2, 3])}),
    ),
    "tree": (
        lambda params, x: tj.tanh(x @ params["layers"][0].x + params["layers"][0].y) * params["scale"],
        lambda: (
            (
                {"layers": [Point(leaf(np.ones((2, 3)) / 3), constant([1, 2, 3]))], "scale": leaf([1, 2, 3])},
                constant([0.3, 0.4]),
            ),
            {},
        ),
    ),
    "a dataclass, which the entry does not take apart": (
        lambda layer, x: layer.weight * x + layer.bias,
        lambda: ((Layer(leaf([1, 2]), leaf([3, 4])), constant([5, 6])), {}),
    ),
    "a captured tensor": (lambda x: x * WEIGHT * SCALE, lambda: ((constant([1, 2, 3]),), {})),
    "a captured tensor's shape": (lambda x: x * WEIGHT.shape[0], lambda: ((leaf([1, 2, 3]),), {})),
    "tree of results": (
        lambda x, y: {"sum": x + y, "rest": (x * y, [y.sum()])},
        lambda: ((leaf([1, 2]), constant([3, 4])), {}),
    ),
    "results of which some do not depend on it": (
        lambda x, y: (x * 2, y * 3, tj.argmax(x), tj.ones(2)),
        lambda: ((leaf([1, 2]), constant([3, 4])), {}),
    ),
    "an argument as the result": (lambda x: (x, x), lambda: ((leaf([1, 2]),), {})),
    "of rank 0": (lambda x: x * x, lambda: ((leaf(3.0),), {})),
    "no elements": (lambda x: tj.exp(x), lambda: ((leaf(np.ones((0, 3))),), {})),
    "no gradient for it": (lambda x, y: y * 2, lambda: ((leaf([1, 2]), constant([3, 4])), {})),
    "float32": (
        lambda x: tj.exp(x),
        lambda: ((tj.tensor(np.ones(3, np.float32), requires_grad=True),), {}),
    ),
}


def outcome(function: Any, arguments: Any) -> list[Any]:
    """Results, which of them require gradients, and the gradients of the arguments and of `WEIGHT`."""
    args, kwargs = arguments
    WEIGHT.grad = None
    results = flatten(function(*args, **kwargs))[0]
    roots = [result for result in results if result.requires_grad]
    if roots:
        tj.autograd.backward(roots, [tj.ones_like(root) * 1.5 for root in roots])
    leaves = [tensor for tensor in flatten((args, kwargs))[0] if isinstance(tensor, tj.Tensor)]
    gradients = [tensor.grad for tensor in (*leaves, WEIGHT) if tensor.is_leaf]
    values = [result.detach().numpy() for result in results]
    return [
        *values,
        [result.requires_grad for result in results],
        *[None if gradient is None else gradient.numpy() for gradient in gradients],
    ]


def assert_same(left: list[Any], right: list[Any]) -> None:
    for result, other in zip(left, right, strict=True):
        if isinstance(result, np.ndarray):
            np.testing.assert_array_equal(result, other)
            assert result.dtype == other.dtype
        else:
            assert result == other


@pytest.mark.parametrize("name", CALLS)
def test_entries_and_python_record_the_same(name: str) -> None:
    fn, arguments = CALLS[name]
    f = tj.jit(fn)
    first, warm = outcome(f, arguments()), outcome(f, arguments())
    with entries_switched_off():
        assert_same(outcome(f, arguments()), warm)
    assert_same(first, warm)
    eager = outcome(fn, arguments())
    for position, (result, other) in enumerate(zip(warm, eager, strict=True)):
        if isinstance(result, np.ndarray) and other is not None:
            np.testing.assert_allclose(result, other, rtol=1e-6, atol=1e-12, err_msg=str(position))


@pytest.mark.parametrize("name", CALLS)
def test_entries_and_python_agree_where_nothing_is_recorded(name: str) -> None:
    fn, arguments = CALLS[name]
    f = tj.jit(fn)
    with tj.no_grad():
        outcome(f, arguments())
        warm = outcome(f, arguments())
        with entries_switched_off():
            assert_same(outcome(f, arguments()), warm)
    assert not any(flag for result in warm if isinstance(result, list) for flag in result)


@pytest.mark.parametrize("name", [name for name in CALLS if "dataclass" not in name])
def test_few_python_functions_run_in_a_warm_call(name: str, slow_calls: list[Any]) -> None:
    fn, arguments = CALLS[name]
    f, (args, kwargs) = tj.jit(fn), arguments()
    f(*args, **kwargs)
    slow_calls.clear()
    names = python_calls(lambda: f(*args, **kwargs))
    assert "CallPlan.record" in names
    assert len(names) <= MAX_PYTHON_CALLS, names
    assert slow_calls == []


def test_few_python_functions_run_in_backward_of_a_call() -> None:
    f, x = tj.jit(lambda x: tj.sin(x) * 2), leaf([1, 2, 3])
    f(x).sum().backward()
    node, engine = f(x).grad_fn, Engine(tensors=False)
    for cotangent in (np.ones(3), np.broadcast_to(1.0, (3,))):
        node.pull(engine, [cotangent], None)
        names = python_calls(lambda cotangent=cotangent: node.pull(engine, [cotangent], None))
        assert len(names) <= MAX_PYTHON_CALLS, names


def test_leaves_are_known_where_arguments_are_not(slow_calls: list[Any]) -> None:
    """Arguments that only Python takes apart still reach the entry of the flat leaves."""
    fn, arguments = CALLS["a dataclass, which the entry does not take apart"]
    f, (args, kwargs) = tj.jit(fn), arguments()
    f(*args, **kwargs)
    names = python_calls(lambda: f(*args, **kwargs))
    assert len(slow_calls) == 2
    assert "JitFunction._specialize" not in names
    assert "call" not in names
    assert "CallPlan.record" in names


# -- which calls are recorded --------------------------------------------------------------------------------


def test_requires_grad_changes_between_calls(slow_calls: list[Any]) -> None:
    f = tj.jit(branch_free)
    x, y, z = constant([1, 2]), constant([3, 4]), constant([5, 6])
    for flags in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (0, 0, 0), (1, 1, 1)) * 2:
        for tensor, flag in zip((x, y, z), flags, strict=True):
            tensor.requires_grad = bool(flag)
            tensor.grad = None
        result = f(x, y, z)
        assert result.requires_grad == any(flags)
        if any(flags):
            result.sum().backward()
        expected = np.cos([1, 2]) * [3, 4], np.sin([1, 2]), np.ones(2)
        for tensor, flag, gradient in zip((x, y, z), flags, expected, strict=True):
            assert (tensor.grad is not None) == bool(flag)
            if flag:
                np.testing.assert_allclose(tensor.grad.numpy(), gradient, rtol=1e-12)
    assert len(slow_calls) == 5  # one for each combination


def test_more_combinations_than_entries_are_tried() -> None:
    f = tj.jit(lambda values: sum(value * (i + 1) for i, value in enumerate(values)))
    tensors = [constant([1.0]) for _ in range(4)]
    for combination in [*range(16), *range(16)]:
        for i, tensor in enumerate(tensors):
            tensor.requires_grad = bool(combination >> i & 1)
            tensor.grad = None
        result = f(tensors)
        assert result.requires_grad == (combination > 0)
        if combination:
            result.backward()
        assert [tensor.grad and tensor.grad.item() for tensor in tensors] == [
            i + 1 if combination >> i & 1 else None for i in range(4)
        ]


def test_a_captured_tensor_that_is_rebound_and_changes_requires_grad() -> None:
    weight = leaf([1, 2])
    f = tj.jit(lambda x: x * weight)
    x = constant([3, 4])
    for _ in range(2):
        f(x).sum().backward()
    assert weight.grad.tolist() == [6, 8]
    weight = constant([1, 2])
    for _ in range(2):
        assert not f(x).requires_grad
    weight = leaf([5, 6])
    assert f(x).tolist() == [15, 24]
    f(x).sum().backward()
    assert weight.grad.tolist() == [3, 4]


def test_nothing_is_recorded_without_gradients(slow_calls: list[Any]) -> None:
    """Calls without gradients have entries of their own, which run the program without residuals."""
    f, y = tj.jit(lambda x, y: tj.sin(x) * 2 + y), constant([3, 4])
    x, z = leaf([1, 2]), constant([1, 2])
    expected = f(x, y).detach().numpy()
    with tj.no_grad():
        f(x, y), f(z, x), f(x, x)
    slow_calls.clear()
    for mode in (tj.no_grad, tj.inference_mode):
        with mode():
            for first, second in ((x, y), (z, x), (x, x)):
                result = f(first, second)
                assert not result.requires_grad
                assert result.grad_fn is None
            np.testing.assert_array_equal(f(x, y).numpy(), expected)
            assert python_calls(lambda: f(x, y)) == []
        assert f(x, y).requires_grad
    assert slow_calls == []


def test_a_donated_argument_that_requires_grad_keeps_its_memory() -> None:
    f, x = tj.jit(lambda x: x * 2, donate_argnums=0), leaf([1, 2])
    for mode in (tj.no_grad, tj.enable_grad) * 2:
        with mode():
            result = f(x)
        assert result is not x
        assert x.tolist() == [1, 2]
        assert result.tolist() == [2, 4]
    donated = constant([1, 2])
    f(constant([1, 2]))
    assert f(donated) is donated


def test_a_function_that_is_first_called_without_gradients(slow_calls: list[Any]) -> None:
    f, x = tj.jit(lambda x: tj.sin(x) * 2), leaf([1, 2])
    with tj.no_grad():
        assert not f(x).requires_grad
    (signature,) = f._tree.leaves()
    assert [what for what, _ in signature.compiled.made()] == ["forward"]
    f(x), slow_calls.clear()
    assert f(x).requires_grad
    assert slow_calls == []


def test_threads_record_or_not_by_themselves() -> None:
    f, x = tj.jit(lambda x: tj.sin(x) * 2), leaf([1, 2])
    f(x)
    recorded: dict[str, set[bool]] = {"records": set(), "does not": set()}

    def run(name: str) -> None:
        with tj.set_grad_enabled(name == "records"):
            for _ in range(300):
                recorded[name].add(f(x).requires_grad)

    threads = [threading.Thread(target=run, args=(name,)) for name in recorded]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded == {"records": {True}, "does not": {False}}


def test_calls_that_python_serves(slow_calls: list[Any]) -> None:
    """Written arguments, and values that Python code asks for."""

    def writes(x: Any, y: Any) -> Any:
        y += x
        return y * 2

    def branches(x: Any, y: Any) -> Any:
        return x * y if x.sum() > 0 else x - y

    x = leaf([1, 2])
    for fn, gradient in ((writes, [2, 2]), (branches, [3, 4])):
        f = tj.jit(fn)
        for _ in range(2):
            slow_calls.clear()
            x.grad = None
            f(x, constant([3, 4])).sum().backward()
            assert x.grad.tolist() == gradient
            assert len(slow_calls) == 1


def test_memory_that_is_not_contiguous_is_served_natively(slow_calls: list[Any]) -> None:
    f, strided = tj.jit(lambda x, y: x * y), leaf([[1, 7], [2, 8]])
    for calls in (1, 0, 0):
        slow_calls.clear()
        strided.grad = None
        f(strided[:, 0], constant([3, 4])).sum().backward()
        assert strided.grad[:, 0].tolist() == [3, 4]
        assert len(slow_calls) == calls


def test_explain_tells_of_the_entry_of_recorded_calls() -> None:
    f = tj.jit(lambda x: x * 2)
    f(leaf([1, 2]))
    assert "calls go through Python" not in f.explain()
    assert "forward, keeping what its gradient needs" in f.explain()


def test_a_scalar_of_numpys_beside_a_tensor_leaves_its_gradient() -> None:
    x = tj.tensor(2.0, requires_grad=True)
    for _ in range(2):
        result = tj.jit(lambda x, y: x * y)(x, np.float64(3.0))
        assert result.requires_grad
    result.backward()
    assert x.grad is not None
    assert float(x.grad) == 3.0
