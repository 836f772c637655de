"""Sorting, order statistics and searches against NumPy; gradients to second order."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import AxisError, DTypeError, ShapeError
from tracejit.ir.dtypes import BY_NAME

METHODS = ["linear", "lower", "higher", "nearest", "midpoint"]


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_axes(axis, agrees, rng):
    x = rng.normal(size=(5, 7))
    x[2, 3] = x[2, 5] = x[1, 3] = np.nan
    agrees(lambda a: tj.sort(a, axis), lambda a: np.sort(a, axis), x)
    agrees(lambda a: tj.argsort(a, axis), lambda a: np.argsort(a, axis, kind="stable"), x)
    place = -1 if axis is None else axis
    agrees(lambda a: tj.sort(a, axis, descending=True), lambda a: np.flip(np.sort(a, axis), place), x)


@pytest.mark.parametrize("dtype", BY_NAME.values(), ids=str)
def test_dtypes(dtype, agrees):
    x = np.array([[3, 1, 0, 1], [0, 0, 1, 2]], dtype)
    agrees(tj.sort, np.sort, x)
    agrees(tj.argsort, lambda a: np.argsort(a, kind="stable"), x)
    agrees(tj.median, np.median, x, rtol=1e-15)
    line = np.sort(x[0])
    agrees(tj.searchsorted, np.searchsorted, line, x)


def test_equal_elements_keep_their_order(rng):
    x = rng.integers(0, 3, 50)
    for descending, sign in ((False, 1), (True, -1)):
        np.testing.assert_array_equal(
            tj.argsort(x, descending=descending), np.argsort(sign * x, kind="stable")
        )
    np.testing.assert_array_equal(tj.argsort([0.0, -0.0, np.nan, -np.nan, 0.0, -1.0]), [5, 0, 1, 4, 2, 3])


def test_lexsort(agrees, rng):
    keys = rng.integers(0, 3, (3, 4, 20))
    agrees(tj.lexsort, np.lexsort, keys)
    agrees(lambda a: tj.lexsort(a, 0), lambda a: np.lexsort(a, 0), keys)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_medians(axis, keepdims, agrees, rng):
    for shape in ((3, 4, 5), (4, 3, 2)):
        x = rng.normal(size=shape)
        x[0, 1, 1], x[1, 1, :] = np.nan, np.inf
        agrees(
            lambda a: tj.median(a, axis, keepdims=keepdims),
            lambda a: np.median(a, axis, keepdims=keepdims),
            x,
            rtol=1e-15,
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_quantiles(method, axis, agrees, rng):
    x = rng.normal(size=(6, 5))
    for q in (0.0, 0.3, 1.0, [0.1, 0.9], [[0.25, 0.5, 0.75]]):
        for data in (x, rng.integers(0, 9, (4, 3))):
            agrees(
                lambda a, q=q: tj.quantile(a, q, axis, method=method, keepdims=True),
                lambda a, q=q: np.quantile(a, q, axis, method=method, keepdims=True),
                data,
                rtol=1e-13,
                dtypes=False,
            )
    agrees(lambda a: tj.percentile(a, [10, 50]), lambda a: np.percentile(a, [10, 50]), x, rtol=1e-13)


def test_quantiles_of_infinities_and_nans():
    x = np.array([[1.0, np.inf, np.inf, 2.0], [np.nan, 1.0, 2.0, 3.0], [-np.inf, 0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(tj.quantile(x, 0.8, 1), [np.inf, np.nan, tj.quantile(x[2], 0.8)])
    np.testing.assert_array_equal(tj.quantile(x, 0.0, 1), [1.0, np.nan, -np.inf])


def test_traced_quantile(rng):
    x = rng.normal(size=40)
    f = tj.jit(lambda x, q: tj.quantile(x, q))
    for q in (0.1, 0.75):
        np.testing.assert_allclose(f(x, q), np.quantile(x, q), rtol=1e-13)


@pytest.mark.parametrize(("f", "most"), [(tj.quantile, 1), (tj.percentile, 100)])
def test_quantiles_that_there_are_not(f, most):
    """An error where that is known, and NaN, never a number, where it is not."""
    x = np.arange(5.0)
    for q in (most + 1, [0.1, -0.1], np.array([most * 1.5]), tj.tensor([np.nan]), [tj.tensor(-1.0), 0.5]):
        with pytest.raises(tj.ShapeError, match=f"expected q between 0 and {most}"):
            f(x, q)
    for q in (most + 1, [0.1, -0.1], np.array([most * 1.5])):
        with pytest.raises(tj.ShapeError, match=f"expected q between 0 and {most}"):
            tj.jit(lambda x, q=q: f(x, q))(x)
    q = np.array([0, 0.25, 1.01, -0.1, np.nan, 1]) * most
    np.testing.assert_array_equal(tj.jit(f)(x, q), [0, 1, np.nan, np.nan, np.nan, 4])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches(side, agrees, rng):
    a, v = rng.normal(size=30), rng.normal(size=(4, 5))
    v[0, :3] = np.nan, np.inf, a[3]
    agrees(lambda a, v: tj.searchsorted(a, v, side), lambda a, v: np.searchsorted(a, v, side), np.sort(a), v)
    order = np.argsort(a)
    agrees(
        lambda a, v: tj.searchsorted(a, v, side, sorter=order),
        lambda a, v: np.searchsorted(a, v, side, sorter=order),
        a,
        v,
    )
    np.testing.assert_array_equal(tj.searchsorted([1, 2, 3], 2.5), 2)


def test_partitions(rng):
    x = rng.normal(size=(3, 9))
    np.testing.assert_array_equal(tj.partition(x, 4)[:, 4], np.partition(x, 4)[:, 4])
    smallest = np.take_along_axis(x, tj.argpartition(x, 4).numpy(), 1)
    np.testing.assert_array_equal(smallest[:, 4], np.sort(x)[:, 4])
    with pytest.raises(ShapeError, match="kth=9"):
        tj.partition(x, 9)


def test_unique(rng):
    x = rng.integers(0, 5, (4, 6))
    for ours, numpys in zip(tj.unique(x, True, True, True), np.unique(x, True, True, True), strict=True):
        np.testing.assert_array_equal(ours, numpys)
    np.testing.assert_array_equal(tj.unique(x, axis=0), np.unique(x, axis=0))
    np.testing.assert_array_equal(tj.jit(tj.unique)(x), np.unique(x))


def test_gradients(check_gradients, rng):
    x = rng.permutation(12).reshape(3, 4) + rng.uniform(-0.2, 0.2, (3, 4))
    for axis in (0, 1, None):
        check_gradients(lambda a, axis=axis: tj.sort(a, axis) ** 2, x)
        check_gradients(lambda a, axis=axis: tj.sort(a, axis, descending=True) ** 2, x)
        check_gradients(lambda a, axis=axis: tj.median(a, axis) ** 2, x)
        check_gradients(lambda a, axis=axis: tj.quantile(a, [0.2, 0.6], axis) ** 2, x)
    check_gradients(lambda a, q: tj.quantile(a, q) ** 2, x, np.array(0.37))


def test_forward_mode_and_vmap(rng):
    x, tangent = rng.normal(size=(3, 8)), rng.normal(size=(3, 8))
    want = np.take_along_axis(tangent, np.argsort(x), 1)
    for f in (tj.sort, tj.jit(tj.sort), tj.vmap(tj.sort)):
        np.testing.assert_array_equal(tj.jvp(f, (x,), (tangent,))[1], want)
    lines = np.sort(x)
    both = tj.vmap(tj.searchsorted)(lines, tangent)
    shared = tj.vmap(tj.searchsorted, in_axes=(None, 0))(lines[0], tangent)
    for row in range(3):
        np.testing.assert_array_equal(both[row], np.searchsorted(lines[row], tangent[row]))
        np.testing.assert_array_equal(shared[row], np.searchsorted(lines[0], tangent[row]))


def test_methods():
    x = tj.tensor([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(x.argsort(), [1, 2, 0])
    assert x.sort() is None
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.searchsorted([2.5]), [2])

    def traced(x):
        y = x * 1.0
        y.sort(descending=True)
        return y

    np.testing.assert_array_equal(tj.jit(traced)(x), [3.0, 2.0, 1.0])


def test_errors():
    with pytest.raises(AxisError, match="sort"):
        tj.sort([1, 2], 1)
    with pytest.raises(AxisError, match="argsort"):
        tj.argsort(3, 1)
    with pytest.raises(DTypeError, match="kind must be"):
        tj.sort([1, 2], kind="bogo")
    with pytest.raises(ShapeError, match="between 0 and 1"):
        tj.quantile([1.0, 2.0], 1.5)
    with pytest.raises(ShapeError, match="no elements"):
        tj.quantile(np.zeros((3, 0)), 0.5, 1)
    with pytest.raises(ShapeError, match="rank 1"):
        tj.searchsorted([[1.0]], 1.0)
    with pytest.raises(DTypeError, match="side must be"):
        tj.searchsorted([1.0], 1.0, "middle")
    with pytest.raises(ShapeError, match="lexsort"):
        tj.lexsort(([1, 2], [1]))
