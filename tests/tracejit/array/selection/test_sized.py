"""``tracejit/array/selection/sized.py``: results of a given size hold NumPy's, cut or filled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import batched, gradients, leaves

X = np.array([3.0, 1.0, np.nan, 3.0, 0.0, np.nan])
Y = np.array([0.0, 7.0, 3.0, np.nan])
M = np.array([[1, 0, 2], [0, 0, 2], [1, 0, 2]])
FLAGS = {"return_index": True, "return_inverse": True, "return_counts": True}
CASES = {
    "nonzero": ([M], {}),
    "argwhere": ([M], {}),
    "flatnonzero": ([M], {}),
    "where": ([M > 0], {}),
    "extract": ([X > 0, X], {}),
    "compress": ([M[0] > 0, M], {"axis": 1}),
    "unique": ([X], FLAGS),
    "unique_all": ([X], {}),
    "unique_counts": ([M], {}),
    "unique_inverse": ([M > 0], {}),
    "union1d": ([X, Y], {}),
    "intersect1d": ([X, Y], {"return_indices": True}),
    "setdiff1d": ([X, Y], {}),
    "setxor1d": ([X, Y], {}),
}


def _arrays(value):
    return [
        leaf.detach().numpy() if isinstance(leaf, tj.Tensor) else np.asarray(leaf) for leaf in leaves(value)
    ]


def _holds(actual, expected, size, axis=0):
    """`actual`, of `size`, begins with `expected`, or with what of it fits."""
    for ours, theirs in zip(_arrays(actual), _arrays(expected), strict=True):
        assert ours.dtype == theirs.dtype
        if theirs.shape[axis:] != ours.shape[axis:]:
            assert ours.shape[axis] == size
            count = min(size, theirs.shape[axis])
            ours, theirs = np.take(ours, range(count), axis), np.take(theirs, range(count), axis)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", CASES)
def test_holds_what_numpy_gives(name):
    args, options = CASES[name]
    expected = getattr(np, name)(*args, **options)
    axis = options.get("axis", 0)
    function = getattr(tj, name)
    _holds(tj.jit(lambda *args: function(*args, **options, size=9))(*args), expected, 9, axis)
    for size in (0, 1, 3, 9):
        if name not in ("unique_inverse", "unique_all") and size:
            _holds(function(*args, **options, size=size), expected, size, axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_distinct_slices(axis):
    stack = np.array([[[1, 0], [1, 0], [0, 2]], [[1, 0], [1, 0], [0, 2]]])
    expected = np.unique(stack, axis=axis, **FLAGS)
    actual = tj.unique(stack, axis=axis, **FLAGS, size=4)
    _holds(actual[0], expected[0], 4, axis % 3)
    _holds(actual[1:], expected[1:], 4)


def test_fill_values():
    assert tj.unique([3, 1, 3], size=4).tolist() == [1, 3, 1, 1]
    assert tj.unique([3, 1, 3], size=4, fill_value=9).tolist() == [1, 3, 9, 9]
    assert tj.unique([], size=2, fill_value=9).tolist() == [9, 9]
    assert tj.union1d([3], [1], size=3).tolist() == [1, 3, 1]
    assert [part.tolist() for part in tj.nonzero(M, size=6, fill_value=(7, 8))] == [
        [0, 0, 1, 2, 2, 7],
        [0, 2, 2, 0, 2, 8],
    ]
    values, first, second = tj.intersect1d([5, 6], [6, 7, 8], return_indices=True, size=2)
    assert (values.tolist(), first.tolist(), second.tolist()) == ([6, 6], [1, 2], [0, 3])
    assert tj.intersect1d([5], [6], size=2, fill_value=-1).tolist() == [-1, -1]
    assert tj.setdiff1d([2, 1, 2], [1], True, size=3, fill_value=-1).tolist() == [2, 2, -1]
    assert tj.nonzero(np.zeros((0, 3)), size=1)[1].tolist() == [0]


def test_repeat():
    counts, line = np.array([1, 0, 2, 1]), np.array([3.0, 1.0, 2.0, 5.0])
    repeat = tj.jit(lambda x, n: tj.repeat(x, n, total_repeat_length=6))
    assert repeat(line, counts).tolist() == [3, 2, 2, 5, 5, 5]
    assert tj.repeat(line, counts, total_repeat_length=2).tolist() == [3, 2]
    assert tj.repeat(line, 2, total_repeat_length=3).tolist() == [3, 3, 1]
    assert tj.repeat([[1, 2]], tj.tensor([2, 1]), axis=1, total_repeat_length=3).tolist() == [[1, 1, 2]]
    assert tj.repeat(line, counts, total_repeat_length=0).tolist() == []


def test_batches():
    rows = np.array([[3, 1, 3, 0], [2, 2, 2, 2]])
    batched(
        lambda x: (
            tj.unique(x, size=3, **FLAGS),
            tj.nonzero(x, size=5),
            tj.setxor1d(x, [1, 5], size=4),
            tj.repeat(tj.arange(4), x, total_repeat_length=5),
        ),
        rows,
    )


def test_gradients():
    line = np.array([3.0, 1.0, 3.0, 2.0])
    gradients(lambda x: tj.unique(x * x, size=4, fill_value=2.0), line[1:])
    x = tj.tensor(line, requires_grad=True)
    sets = [tj.unique(x), tj.union1d(x, [7.0]), tj.intersect1d(x, [1.0, 2.0]), tj.setdiff1d(x, [1.0])]
    sum((number * part.sum() for number, part in enumerate(sets, 1)), tj.setxor1d(x, [2.0]).sum()).backward()
    assert x.grad.tolist() == [1 + 2 + 4 + 1, 1 + 2 + 3 + 1, 0, 1 + 2 + 3 + 4]


@pytest.mark.parametrize("name", CASES)
def test_traced_without_size(name):
    args, options = CASES[name]

    def call(*args):
        return getattr(tj, name)(*args, **options)

    expected, result = tj.tree_leaves(call(*args)), tj.tree_leaves(tj.jit(call)(*args))
    assert len(result) == len(expected)
    for part, whole in zip(result, expected, strict=True):
        assert (part.shape, part.dtype) == (whole.shape, whole.dtype)
        np.testing.assert_array_equal(part, whole)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.nonzero([1], size=-1), tj.ShapeError, "nonzero: size must not be negative, got -1"),
        (lambda: tj.argwhere([1], size=1.5), tj.DTypeError, "argwhere: size must be an integer, got 1.5"),
        (lambda: tj.nonzero([[1]], size=1, fill_value=(1,)), tj.ShapeError, "expected 2 fill values"),
        (lambda: tj.unique([], size=1), tj.ShapeError, "unique: x is empty"),
        (lambda: tj.union1d([1], [2], size=1, fill_value=[1]), tj.ShapeError, "union1d: fill_value"),
        (lambda: tj.where([True], 1, 2, size=1), tj.ShapeError, "where: size= is for a condition alone"),
        (lambda: tj.repeat([1, 2], [1, 2, 3], total_repeat_length=1), tj.ShapeError, "3 counts for 2"),
        (lambda: tj.repeat([1], [0.5], total_repeat_length=1), tj.DTypeError, "repeats must be an integer"),
        (
            lambda: tj.jit(lambda n: tj.repeat([1, 2], n))(np.array([1, 2])),
            tj.ConcretizationError,
            "total_repeat_length",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
