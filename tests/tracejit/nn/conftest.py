"""Helpers of the nn tests: values and gradients against tables and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

Array = np.ndarray[Any, Any]


def _arrays(inputs: dict[str, Any], dtype: Any) -> dict[str, Array]:
    arrays = {name: np.asarray(input_) for name, input_ in inputs.items()}
    return {name: array.astype(dtype) if array.dtype.kind == "f" else array for name, array in arrays.items()}


def _weighted(value: Any) -> Any:
    """The sum of the elements of `value` times 1, 2, 3, ..., so that each has its own cotangent."""
    weights = np.arange(1, value.size + 1, dtype=value.dtype).reshape(value.shape)
    return tj.sum(value * tj.tensor(weights))


def _check_case(case: tuple[str, dict[str, Any], Any, dict[str, Any]], dtype: Any, mode: str) -> None:
    """A call gives the value and the gradients of its table row, in `dtype`."""
    call, inputs, value, gradients = case
    arrays = _arrays(inputs, dtype)
    function = eval(f"lambda {', '.join(arrays)}: {call}", {"nn": tj.nn})
    positions = [number for number, name in enumerate(arrays) if name in gradients]
    slopes = tj.grad(lambda *args: _weighted(function(*args)), argnums=positions)
    if mode == "jit":
        function, slopes = tj.jit(function), tj.jit(slopes)
    tensors = [tj.tensor(array) for array in arrays.values()]
    # The tables hold 11 digits, and PyTorch rounds a few constants to float32, off by 3e-8. In float32 a
    # result of cancelling terms errs by the largest of them.
    rtol = 1e-7 if dtype is np.float64 else 2e-5
    expected = np.asarray(value)
    result = function(*tensors).numpy()
    assert result.shape == expected.shape
    assert result.dtype == (dtype if expected.dtype.kind == "f" else np.int64)
    scale = float(np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol * min(scale, 10.0))
    if not gradients:
        return
    computed = slopes(*tensors)
    for slope, name in zip(computed, (name for name in arrays if name in gradients), strict=True):
        expected = np.asarray(gradients[name])
        assert slope.dtype == dtype
        assert slope.shape == expected.shape
        scale = float(np.abs(expected).max(initial=0.0))
        np.testing.assert_allclose(
            slope.numpy(), expected, rtol=rtol, atol=rtol * min(scale, 100.0), err_msg=name
        )


def _check_gradients(function: Any, *arrays: Any, second: bool = True) -> None:
    """First and second derivatives at float64 `arrays` against central differences.

    With step 1e-5 these err by about 1e-10 of the function's size.
    """
    points = [np.array(array, np.float64) for array in arrays]
    numbers = tuple(range(len(points)))

    def value(*args: Any) -> Any:
        return _weighted(function(*args))

    def slope(*args: Any) -> Any:
        parts = tj.grad(value, argnums=numbers)(*args)
        total: Any = 0.0
        for part in parts:
            total = total + _weighted(part)
        return total

    for target in (value, slope) if second else (value,):
        results = tj.grad(target, argnums=numbers)(*[tj.tensor(point) for point in points])
        for position, gradient in enumerate(results):
            expected = np.zeros_like(points[position])
            for place in np.ndindex(expected.shape):
                ends = []
                for step in (1e-5, -1e-5):
                    moved = [np.array(each) for each in points]
                    moved[position][place] += step
                    ends.append(float(target(*[tj.tensor(each) for each in moved]).item()))
                expected[place] = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.fixture
def check_case() -> Any:
    return _check_case


@pytest.fixture
def check_gradients() -> Any:
    return _check_gradients


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
