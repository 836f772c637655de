"""Masks that are constants of a traced function are indices; ``bincount`` of what a traced mask selects."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

X = np.arange(1.0, 5.0)
MASK = np.array([True, False, True, True])
TABLE = np.array([[True, False], [True, True]])
GROUPS, WEIGHTS = np.array([0, 1, 1, 3]), np.array([1.0, 2.0, 3.0, 4.0])


def written(x):
    y = x * 1
    y[MASK] = np.array([7.0, 8.0, 9.0])
    y[MASK] += 1
    return y


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[MASK].reshape(3, 1),
        lambda x: np.sort(x[MASK])[::-1],
        lambda x: np.stack([x[MASK], x[MASK] * 2]),
        lambda x: np.outer(x[MASK], x[MASK]),
        lambda x: x * len(x[MASK]),
        lambda x: x.reshape(2, 2)[TABLE].reshape(3, 1),
        lambda x: x.reshape(2, 2)[TABLE[:, 0]].reshape(4, 1),
        lambda x: x.reshape(2, 2)[1, TABLE[1]].reshape(2, 1),
        lambda x: x[np.arange(4) > 1].reshape(2, 1),
        lambda x: x[(np.arange(4) > 1) & MASK].reshape(2, 1),
        lambda x: x[np.zeros(4, bool)].reshape(0, 1),
        written,
    ],
)
def test_a_constant_mask_is_an_index(function):
    np.testing.assert_array_equal(tj.jit(function)(X).numpy(), function(X))


def test_a_constant_mask_that_is_written_is_read_anew():
    mask = np.array([True, True, False, False])
    select = tj.jit(lambda x: x[mask].reshape(-1, 1))
    assert select(X).shape == (2, 1)
    mask[3] = True
    np.testing.assert_array_equal(select(X).numpy(), [[1.0], [2.0], [4.0]])


def test_a_tensor_as_constant_mask():
    mask = tj.tensor(MASK)
    np.testing.assert_array_equal(tj.jit(lambda x: x[mask].reshape(3, 1))(X).numpy(), X[MASK].reshape(3, 1))


def test_gradients_by_a_constant_mask():
    gradient = tj.jit(tj.grad(lambda x: (np.sort(x[MASK]) * np.array([1.0, 2.0, 3.0])).sum()))(X)
    np.testing.assert_array_equal(gradient.numpy(), [1.0, 0.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda g, v: np.bincount(g[v > 1], weights=v[v > 1], minlength=5),
        lambda g, v: np.bincount(g[v > 1], v[v > 1] ** 2, 5),
        lambda g, v: np.bincount(g[v > 1], minlength=5),
        lambda g, v: np.bincount(g[v > 9], minlength=5),
        lambda g, v: tj.bincount(g[v > 1], v[v > 1], length=4),
    ],
)
def test_bincount_of_what_a_mask_selects(function):
    expected = function(GROUPS, WEIGHTS)
    result = tj.jit(function)(GROUPS, WEIGHTS)
    np.testing.assert_array_equal(result.numpy(), np.asarray(expected))
    assert result.dtype == np.asarray(expected).dtype


def test_bincount_takes_no_element_that_is_not_selected():
    groups = np.array([0, 99, -1, 2])  # outside where the mask does not hold
    counts = tj.jit(lambda g, m: np.bincount(g[m], minlength=3))(groups, np.array([True, False, False, True]))
    np.testing.assert_array_equal(counts.numpy(), [1, 0, 1])
    with pytest.raises(tj.OutOfBoundsError):
        tj.jit(lambda g, m: np.bincount(g[m], minlength=3))(groups, MASK)


def test_gradients_of_bincount_of_what_a_mask_selects():
    loss = lambda v: (np.bincount(GROUPS[v > 1], weights=v[v > 1] ** 2, minlength=5) * np.arange(5.0)).sum()  # noqa: E731
    gradient = tj.jit(
        tj.grad(lambda g, v: (np.bincount(g[v > 1], v[v > 1] ** 2, 5) * np.arange(5.0)).sum(), 1)
    )
    np.testing.assert_array_equal(gradient(GROUPS, WEIGHTS).numpy(), [0.0, 4.0, 6.0, 24.0])
    assert float(tj.jit(loss)(WEIGHTS)) == loss(WEIGHTS)


def test_bincount_of_selections_that_it_cannot_count():
    for function, message in (
        (lambda g, v: np.bincount(g[v > 1], v[v > 2], 5), "another mask"),
        (lambda g, v: np.bincount(g[v > 1], v[v > 1]), "without minlength="),
        (lambda g, v: np.bincount(g[v > 1], v, 5), "with other weights"),
    ):
        with pytest.raises(tj.ConcretizationError, match=message):
            tj.jit(function)(GROUPS, WEIGHTS)
