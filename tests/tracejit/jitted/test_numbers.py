"""Numbers that Python code takes out of traced arrays: `float`, `int`, `complex`, `item`, `tolist`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

POINTS = [np.random.default_rng(seed).random(12) for seed in range(6)]


def mean_of_squares(x: Any) -> float:
    return float(np.dot(x, x) / x.size)


def by_item(x: Any) -> Any:
    return x.astype(np.float32) * x.max().item()


def whole(x: Any) -> int:
    return int(x.sum() * 3) + int(x[0] > 0.5)


def phase(x: Any) -> complex:
    return complex(x[0], x[1]) * complex(float(x[2]))


def as_lists(x: Any) -> Any:
    return [row[::-1] for row in (2 * x).reshape(3, 4).tolist()], (x > 0.5).tolist()


def scaled(x: Any) -> Any:
    y = np.zeros(12)
    for i in range(12):
        y[i] = np.dot(x, i * x).item() / float(x[i])
    return y


@pytest.mark.parametrize("function", [mean_of_squares, by_item, whole, phase, as_lists, scaled])
def test_values_are_no_paths(function: Callable[[Any], Any]) -> None:
    jitted = tj.jit(function)
    for x in POINTS:
        results, expected = tj.tree_leaves(jitted(x)), tj.tree_leaves(function(x))
        for result, value in zip(results, expected, strict=True):
            assert np.asarray(result).dtype == np.asarray(value).dtype
            np.testing.assert_allclose(np.asarray(result), value, rtol=1e-6)
    assert "path" not in str(jitted.explain())
    assert "unrolled" not in str(jitted.explain())


def by_text(x: Any) -> Any:
    number = float(x[0])
    return x * (2 if str(number) == "0.0" else 3 if f"{number:.1f}" == "0.5" else 4)


def by_place(x: Any) -> Any:
    n = int(x[0] * 3)
    return {0: 1.0, 1: 2.0, 2: 5.0}[n] * x[n:].sum() + [3, 4, 5][n] + np.zeros(n + 1).size


def by_key(x: Any) -> Any:
    return x * {0.0: 2.0, 0.5: 3.0, 1.0: 4.0}[np.round(2 * x[0]).item() / 2]


def by_test(x: Any) -> Any:
    return x if x.sum().item() > 6 and float(x[1]) < 0.9 else -x


@pytest.mark.parametrize("function", [by_text, by_place, by_key, by_test])
def test_values_that_python_looks_at(function: Callable[[Any], Any]) -> None:
    jitted = tj.jit(function)
    for x in (*POINTS, np.full(12, 0.0), np.full(12, 0.5)):
        np.testing.assert_allclose(np.asarray(jitted(x)), function(x))


def test_an_item_is_a_constant_to_gradients() -> None:
    def loss(x: Any) -> Any:
        return (x * x).sum() * x[0].item()

    x = POINTS[0]
    np.testing.assert_allclose(np.asarray(tj.grad(loss)(x)), 2 * x * x[0])
    np.testing.assert_allclose(np.asarray(tj.jit(tj.grad(loss))(x)), 2 * x * x[0])


def test_arrays_of_several_elements_are_no_numbers() -> None:
    for function in (float, int, lambda x: x.item()):
        with pytest.raises(tj.ShapeError, match=r"expected one element, got shape \(12,\)"):
            tj.jit(lambda x, function=function: function(x))(POINTS[0])


def test_large_unsigned_integers_stay_what_they_are() -> None:
    assert tj.jit(lambda x: x[0].item() // 2)(np.array([2**64 - 2], np.uint64)) == 2**63 - 1
