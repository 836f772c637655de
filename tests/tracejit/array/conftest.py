"""Helpers of the array tests: comparison with NumPy eagerly and under a trace, and gradients to second order."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.backward.backward import run_backward
from tracejit.ir.interpreter import interpret
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.tensors.tensor import Tensor, wrap
from tracejit.tracing.traces import trace_flat


def leaves_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _traced(function: Any, *arrays: Any) -> list[np.ndarray[Any, Any]]:
    """The results of tracing `function` on symbols of the arrays' types, verified and interpreted."""
    arrays = tuple(np.asarray(array) for array in arrays)
    types = [(TensorType(array.dtype, array.shape), False, f"x{i}") for i, array in enumerate(arrays)]
    traced = trace_flat(lambda *args: (leaves_of(function(*args)), None), types)
    verify(traced.function)
    captured = [value._data if isinstance(value, Tensor) else value for value in traced.captured]
    return interpret(traced.function, [*arrays, *captured])


def _same(actual: Any, expected: Any, rtol: float) -> None:
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if rtol:
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(actual, expected)


def _agrees(
    function: Any,
    reference: Any,
    *arrays: Any,
    rtol: float = 0.0,
    dtypes: bool = True,
    same_bits: bool = True,
) -> None:
    """`function` on tensors gives what `reference` gives on arrays, eagerly and under a trace.

    With `same_bits` the two ways do the same operations in the same order."""
    arrays = tuple(np.asarray(array) for array in arrays)
    with np.errstate(all="ignore"):
        references = [np.asarray(leaf) for leaf in leaves_of(reference(*arrays))]
        eager = leaves_of(function(*[tensor(array) for array in arrays]))
        symbolic = _traced(function, *arrays)
    assert len(eager) == len(references) == len(symbolic)
    for eager_leaf, other, expected in zip(eager, symbolic, references, strict=True):
        assert isinstance(eager_leaf, Tensor)
        if not dtypes:
            expected = expected.astype(eager_leaf.dtype)
        _same(eager_leaf.detach().numpy(), expected, rtol)
        if same_bits:
            np.testing.assert_array_equal(other, eager_leaf.detach().numpy())
        else:
            _same(other, expected, rtol)
        assert other.dtype == eager_leaf.dtype


def _weights(count: int, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng(count).uniform(0.5, 1.5, shape)


def _scalar(function: Any, *inputs: Tensor) -> Tensor:
    """All results of `function`, weighted and summed, so that each element has its own cotangent."""
    total: Any = 0.0
    for number, leaf in enumerate(leaves_of(function(*inputs))):
        if leaf.dtype.kind == "f":
            total = tj.add(total, tj.sum(tj.multiply(leaf, wrap(_weights(number, leaf.shape)))))
    return total


def _gradients(function: Any, inputs: list[Tensor], create_graph: bool) -> list[Tensor]:
    root = _scalar(function, *inputs)
    seed = wrap(np.ones(()))
    results = run_backward([root], [seed], retain_graph=True, create_graph=create_graph, targets=inputs)
    return [
        tj.zeros_like(x) if gradient is None else gradient
        for gradient, x in zip(results, inputs, strict=True)
    ]


def _differences(function: Any, arrays: list[Any], step: float) -> list[Any]:
    """Central differences of a scalar `function` of arrays."""
    results = []
    for position, array in enumerate(arrays):
        slope = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            high, low = [np.array(array) for array in arrays], [np.array(array) for array in arrays]
            high[position][place] += step
            low[position][place] -= step
            slope[place] = (function(high) - function(low)) / (2 * step)
        results.append(slope)
    return results


def _check_gradients(function: Any, *arrays: Any, second: bool = True, rtol: float = 1e-5) -> None:
    """First and second derivatives of `function` at float64 `arrays` against central differences.

    The differences err by step^2 f'''/6 and by 1e-16 / step: about 1e-10 at step 1e-5, for functions of order 1.
    """
    arrays = [np.array(array, np.float64) for array in arrays]

    def value(at: list[Any]) -> float:
        return float(_scalar(function, *[wrap(point) for point in at]).item())

    def slopes(at: list[Any]) -> float:
        inputs = [wrap(np.array(point)).requires_grad_() for point in at]
        parts = _gradients(function, inputs, create_graph=False)
        return sum(float(np.sum(part._data * _weights(7 + i, part.shape))) for i, part in enumerate(parts))

    with np.errstate(all="ignore"):
        inputs = [wrap(array).requires_grad_() for array in arrays]
        first = _gradients(function, inputs, create_graph=True)
        for mine, expected in zip(first, _differences(value, arrays, 1e-5), strict=True):
            np.testing.assert_allclose(mine._data, expected, rtol=rtol, atol=1e-7)
        if not second:
            return
        total: Any = 0.0
        for number, derivative in enumerate(first):
            total = tj.add(
                total, tj.sum(tj.multiply(derivative, wrap(_weights(7 + number, derivative.shape))))
            )
        if total._node is None:
            again: list[Any] = [None] * len(inputs)
        else:
            again = run_backward(
                [total], [wrap(np.ones(()))], retain_graph=True, create_graph=False, targets=inputs
            )
        for mine, expected in zip(again, _differences(slopes, arrays, 1e-5), strict=True):
            actual = np.zeros_like(expected) if mine is None else mine._data
            np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-6)


@pytest.fixture
def traced() -> Any:
    return _traced


@pytest.fixture
def agrees() -> Any:
    return _agrees


@pytest.fixture
def check_gradients() -> Any:
    return _check_gradients


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
