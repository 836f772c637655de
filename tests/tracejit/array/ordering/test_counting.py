"""Counts of small integers against NumPy: values, dtypes, lengths, chunks, gradients, vmap, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import ConcretizationError, DTypeError, OutOfBoundsError, ShapeError
from tracejit.codegen.kernels.indexing.bincount import bincount_plan


def _same(actual, expected, rtol=0.0):
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "u4", "i8"])
def test_integers(dtype):
    x = np.array([3, 1, 0, 1, 0, 0]).astype(dtype)
    _same(tj.bincount(x), np.bincount(x))
    _same(tj.bincount(x, minlength=7), np.bincount(x, minlength=7))
    _same(tj.jit(lambda x: tj.bincount(x, length=4))(x), np.bincount(x, minlength=4))
    _same(tj.jit(lambda x: np.bincount(x, minlength=7))(x), np.bincount(x, minlength=7))


@pytest.mark.parametrize("dtype", ["?", "i8", "f4", "f8"])
def test_weights(dtype, rng):
    x, weights = rng.integers(0, 5, 40), rng.normal(size=40).astype(dtype)
    _same(tj.bincount(x, weights), np.bincount(x, weights))
    _same(tj.jit(lambda x, w: tj.bincount(x, w, length=5))(x, weights), np.bincount(x, weights, 5))


def test_of_nothing():
    _same(tj.bincount([]), np.bincount([]))
    _same(tj.bincount([], minlength=2), np.bincount([], minlength=2))
    assert tj.bincount([1, 2], length=0).shape == (0,)
    np.testing.assert_array_equal(tj.jit(lambda x: tj.bincount(x, length=2))(np.zeros(0, int)), [0, 0])


def test_length_counts_what_is_below(rng):
    x = rng.integers(0, 9, 50)
    for function in (tj.bincount, tj.jit(tj.bincount, static_argnames=("length",))):
        np.testing.assert_array_equal(function(x, length=4), np.bincount(x, minlength=9)[:4])
        np.testing.assert_array_equal(function(x, length=20), np.bincount(x, minlength=20))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("length", [1, 3, 37, 500, 5000])
def test_chunks(length, weighted, rng):
    """Long lines are counted in chunks, whatever the number of threads."""
    x = rng.integers(0, length + 2, 100_003)
    operands = (x, rng.normal(size=x.size)) if weighted else (x,)
    jitted = tj.jit(lambda *operands: tj.bincount(*operands, length=length))
    (instruction,) = jitted.lower(*operands).fused.body
    plan = bincount_plan(instruction)
    assert plan.chunks > 1
    assert (plan.together > 1) == (length < 5000)  # where the sums of several chunks stay in the first cache
    results = []
    for threads in (1, 2):
        with tj.threads(threads):
            results.append(jitted(*operands).numpy())
    np.testing.assert_array_equal(*results)
    # sums of some 100,000 terms of about 1, in another order than NumPy's
    np.testing.assert_allclose(results[0], np.bincount(*operands)[:length], rtol=1e-10, atol=1e-9)
    x[70_000] = -1
    with pytest.raises(OutOfBoundsError, match=r"bincount: an element is negative \(.*test_counting.py"):
        jitted(*operands)


def test_gradients(check_gradients, rng):
    x = np.array([0, 3, 1, 3, 6])
    check_gradients(lambda w: tj.bincount(x, w, length=5) ** 2, rng.normal(size=5))
    check_gradients(lambda w: tj.bincount(x, w) ** 2, rng.normal(size=5))
    assert not tj.grad(lambda w: tj.bincount(x, w, length=0).sum())(np.ones(5)).numpy().any()
    weights = tj.tensor([1.0, 2.0, 3.0, 4.0, 5.0], requires_grad=True)
    (tj.bincount(x, weights) ** 2).sum().backward()
    np.testing.assert_array_equal(weights.grad, [2.0, 12.0, 6.0, 12.0, 10.0])


def test_vmap(rng):
    x, weights = rng.integers(0, 6, (3, 20)), rng.normal(size=(3, 20))
    both = tj.vmap(lambda x, w: tj.bincount(x, w, length=4))(x, weights)
    shared = tj.vmap(lambda w: tj.bincount(x[0], w, length=4))(weights)
    counts = tj.vmap(lambda x: tj.bincount(x, length=4))(x)
    for row in range(3):
        np.testing.assert_allclose(both[row], np.bincount(x[row], weights[row], 6)[:4], rtol=1e-14)
        np.testing.assert_allclose(shared[row], np.bincount(x[0], weights[row], 6)[:4], rtol=1e-14)
        np.testing.assert_array_equal(counts[row], np.bincount(x[row], minlength=6)[:4])
    x[1, 1] = -1
    with pytest.raises(OutOfBoundsError):
        tj.vmap(lambda x: tj.bincount(x, length=4))(x)


def test_errors():
    with pytest.raises(OutOfBoundsError, match="bincount: -2 is negative"):
        tj.bincount([1, -2])
    for x in ([1.0], np.array([]), np.uint64([1])):
        with pytest.raises(DTypeError, match="expected integers that fit int64"):
            tj.bincount(x)
    with pytest.raises(ShapeError, match="expected a line of rank 1"):
        tj.bincount([[1]])
    with pytest.raises(ShapeError, match=r"expected weights of shape \(1,\), got \(2,\)"):
        tj.bincount([1], [1.0, 2.0])
    with pytest.raises(ShapeError, match="minlength must not be negative"):
        tj.bincount([1], minlength=-1)
    with pytest.raises(ShapeError, match="length must not be negative"):
        tj.bincount([1], length=-1)
    with pytest.raises(ConcretizationError, match="length=n"):
        tj.vmap(tj.bincount)(np.array([[1, 2]]))


def test_the_largest_element_is_asked_for() -> None:
    jitted = tj.jit(lambda x, w: (np.bincount(x) * 2, np.bincount(x, w, minlength=0)))
    for x in ([1, 3, 1], [2, 3, 0], [4, 4, 4], [0, 0, 0]):
        for result, expected in zip(
            jitted(np.array(x), np.ones(3)), (np.bincount(x) * 2, np.bincount(x)), strict=True
        ):
            np.testing.assert_array_equal(result, expected)
    assert jitted(np.zeros(0, int), np.zeros(0))[0].shape == (0,)


@pytest.mark.parametrize("count", [20, 100_000])
def test_minlength_under_a_trace_bounds_the_elements(count: int) -> None:
    x = np.arange(count) % 5
    jitted = tj.jit(lambda x: np.bincount(x, minlength=5))
    np.testing.assert_array_equal(jitted(x), np.bincount(x, minlength=5))
    x[count // 2] = 5
    with pytest.raises(OutOfBoundsError, match="bincount: an element is past the last of the 5 counts"):
        jitted(x)
    x[-1] = -1
    with pytest.raises(OutOfBoundsError, match="bincount: an element is negative"):
        jitted(x)


def test_minlength_of_a_batch_bounds_each_example() -> None:
    x = np.array([[1, 1, 2], [0, 0, 2]])
    batched = tj.jit(tj.vmap(lambda x: np.bincount(x, minlength=3)))
    np.testing.assert_array_equal(batched(x), [[0, 2, 1], [2, 0, 1]])
    x[0, 0] = 3
    with pytest.raises(OutOfBoundsError, match="bincount: an element is past the last"):
        batched(x)
