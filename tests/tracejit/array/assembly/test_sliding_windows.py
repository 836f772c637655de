"""``tracejit/array/assembly/sliding_windows.py``: NumPy's results, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import ArgumentError, ShapeError

windows = np.lib.stride_tricks.sliding_window_view
X = np.arange(30.0).reshape(5, 6) ** 1.5


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((2, 3), None), (3, 1), ((2,), (-2,)), ((2, 3), (1, 0)), ((2, 3), (1, 1)), (6, 1), ((1, 0), None)],
)
def test_windows_are_numpys(shape: Any, axis: Any) -> None:
    expected = windows(X, shape, axis)
    for result in (windows(tj.tensor(X), shape, axis), tj.jit(lambda x: windows(x, shape, axis=axis))(X)):
        np.testing.assert_array_equal(result.numpy(), expected, strict=True)


def test_gradients_count_the_windows_of_an_element() -> None:
    expected = np.convolve(np.ones(4), np.ones(3))
    for slope in (tj.grad(lambda x: windows(x, 3).sum()), tj.jit(tj.grad(lambda x: windows(x, 3).sum()))):
        np.testing.assert_array_equal(slope(np.arange(6.0)).numpy(), expected)


def test_windows_under_vmap() -> None:
    result = tj.vmap(lambda x: windows(x, 3).max(axis=-1))(X)
    np.testing.assert_array_equal(result.numpy(), windows(X, 3, 1).max(axis=-1))


def test_what_does_not_fit_raises() -> None:
    for shape, axis in ((7, 1), ((2, 2, 2), None), (-1, 0)):
        with pytest.raises(ValueError):
            windows(X, shape, axis)
        with pytest.raises(ShapeError):
            windows(tj.tensor(X), shape, axis)
    with pytest.raises(ArgumentError, match="written"):
        windows(tj.tensor(X), 2, 0, writeable=True)


@pytest.mark.parametrize(("shape", "axis"), [(2, 0), ((2, 2), None), (3, -1)])
def test_windows_show_what_is_written_later(shape: Any, axis: Any) -> None:
    def f(x: Any) -> Any:
        own = x * 1
        seen = windows(own, shape, axis)
        own[0] = 7.0
        own[:, 1] += own[:, 2]
        return seen * 1

    np.testing.assert_array_equal(tj.jit(f)(X), f(X))
    with pytest.raises(ArgumentError, match="share elements"):
        tj.jit(lambda x: windows(x * 1, shape, axis).fill(0.0))(X)
