"""Items by keys that are traced, in functions without loops: of NumPy's arrays, and written in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.loops.conversion import has_loops

SQUARES = np.arange(10.0) ** 2
GRID = np.arange(20.0).reshape(10, 2)
PLACES = np.array([0, 3, 1])
X = np.array([0.5, -2.0, 3.0, -0.1])


def one_hot(i: Any) -> Any:
    return np.eye(5)[i]


def of_a_table(i: Any) -> Any:
    return SQUARES[i] * 2 + SQUARES[i[0]] + SQUARES[np.argmax(i)]


def of_parts(i: Any) -> Any:
    return GRID[i, 0] + GRID[i, 1:].sum(axis=1) + {"grid": GRID}["grid"][i][..., ::-1].T


def counted(i: Any) -> Any:
    counts = np.zeros(5, int)
    counts[i] += 2
    return counts


def chosen_numbers(i: Any) -> Any:
    numbers = np.arange(3)
    numbers[i > 0] += 1
    return numbers


def where_masked(x: Any) -> Any:
    x = x.copy()
    x[x < 0] = 0.25
    x[np.abs(x) > 2] *= 1.5
    x[1:3] -= 1
    x[0] /= 2
    return x


def where_rows(x: Any) -> Any:
    y = np.zeros((4, 3))
    y += x[:, None]
    y[x > 0] += 1
    y[x < 0, 1] = 7
    return y


@pytest.mark.parametrize(
    ("program", "argument"),
    [
        (one_hot, PLACES), (of_a_table, PLACES), (of_parts, PLACES), (counted, PLACES),
        (chosen_numbers, PLACES), (where_masked, X), (where_rows, X),
    ],
)  # fmt: skip
def test_items_by_traced_keys(program: Callable[[Any], Any], argument: Any) -> None:
    assert not has_loops(program.__code__)
    jitted = tj.jit(program)
    for values in (argument, argument[::-1].copy()):
        result, expected = jitted(values), program(values)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
    assert len(jitted.explain().signatures) == 1


def test_outside_of_loops() -> None:
    def program(x: Any, i: Any) -> Any:
        y = SQUARES[i] + 1
        y[y > 5] -= 3
        for k in range(3):
            y[k] = y[k] * x[k]
        y[y > 2] += 1
        return y + SQUARES[i]

    np.testing.assert_array_equal(tj.jit(program)(X, PLACES), program(X, PLACES))


def test_gradients_of_what_masks_choose() -> None:
    gradient = tj.jit(tj.grad(lambda x: tj.sum(where_masked(x))))(X)
    np.testing.assert_array_equal(gradient, [0.5, 0.0, 1.5, 0.0])


def test_arguments_are_written() -> None:
    def double(x: Any) -> None:
        x[x > 0] *= 2

    x = X.copy()
    tj.jit(double)(x)
    np.testing.assert_array_equal(x, [1.0, -2.0, 6.0, -0.1])


def test_changed_tables_are_read_again() -> None:
    table = np.arange(4.0)

    def read(i: Any) -> Any:
        return table[i]

    jitted = tj.jit(read)
    np.testing.assert_array_equal(jitted(PLACES), [0.0, 3.0, 1.0])
    table[3] = 30.0
    np.testing.assert_array_equal(jitted(PLACES), [0.0, 30.0, 1.0])


def test_as_many_as_a_mask_chooses_are_not_known() -> None:
    def scaled(x: Any) -> Any:
        x = x.copy()
        x[x > 0] *= np.array([1.0, 2.0])
        return x

    with pytest.raises(tj.ConcretizationError, match=r"an array of shape \(2,\) beside x\[mask\]"):
        tj.jit(scaled)(X)


def reads_by_default(x):
    counts, total = defaultdict(float), 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += counts["positive"]
    return total, len(counts)


def test_a_step_that_is_traced_makes_no_item_of_a_defaultdict():
    jitted = tj.jit(reads_by_default)
    for x in (np.ones(30), -np.ones(30)):
        assert tuple(map(int, jitted(x))) == reads_by_default(x)
