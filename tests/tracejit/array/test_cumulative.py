"""Running folds: NumPy's values, PyTorch's and JAX's gradients, to second order, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import AxisError

UFUNCS = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}
X = np.array([[2.0, 0.0, 3.0, 3.0, -1.0], [1.0, 4.0, 4.0, 2.0, 5.0]])
W = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 4.0, 3.0, 2.0, 1.0]])
#: Gradients of the sum of W times the result along axis 1: torch 2.15's, reversed ones JAX 0.10.2's.
GRADIENTS = {
    ("cumprod", False): [[1.0, 4.0, 0.0, 0.0, 0.0], [293.0, 72.0, 68.0, 112.0, 32.0]],
    ("cumprod", True): [[0.0, -36.0, -9.0, -13.0, 44.0], [800.0, 360.0, 390.0, 790.0, 317.0]],
    ("cummax", False): [[3.0, 0.0, 3.0, 9.0, 0.0], [5.0, 4.0, 5.0, 0.0, 1.0]],
    ("cummin", False): [[1.0, 9.0, 0.0, 0.0, 5.0], [15.0, 0.0, 0.0, 0.0, 0.0]],
    ("cummin", True): [[0.0, 0.0, 0.0, 0.0, 15.0], [5.0, 0.0, 0.0, 9.0, 1.0]],
}


@pytest.mark.parametrize("name", UFUNCS)
def test_values_are_numpys(name: str) -> None:
    rng = np.random.default_rng(0)
    function = getattr(tj, name)
    for shape in ((7,), (3, 40), (2, 3, 5), (0, 4), (4, 0), (1, 1)):
        for dtype in ("f8", "f4", "i8", "i4", "u1", "?"):
            x = (rng.normal(size=shape) * 3).astype(dtype)
            grown = np.cumprod(x, 0).dtype if name in ("cumsum", "cumprod") else x.dtype
            for axis in range(-1, len(shape)):
                want = UFUNCS[name].accumulate(x, axis=axis, dtype=grown)
                for result in (function(x, axis), tj.jit(lambda x, axis=axis: function(x, axis))(x)):
                    assert result.dtype == want.dtype
                    np.testing.assert_allclose(result, want, rtol=1e-5)
            want = np.flip(UFUNCS[name].accumulate(np.flip(x, -1), axis=-1, dtype=grown), -1)
            np.testing.assert_allclose(function(x, -1, reverse=True), want, rtol=1e-5)
            np.testing.assert_allclose(
                function(x), UFUNCS[name].accumulate(x.ravel(), dtype=grown), rtol=1e-5
            )


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_nan_stays(name: str) -> None:
    x = np.array([1.0, np.nan, 3.0, -np.inf])
    for result in (getattr(tj, name)(x), tj.jit(getattr(tj, name))(x), getattr(tj.tensor(x), name)()):
        assert np.isnan(np.asarray(result)).tolist() == [False, True, True, True]


def test_large_lines() -> None:
    """Lines are cut into chunks, with their short one at either end."""
    x = np.random.default_rng(1).normal(size=100_003)
    for name in ("cummax", "cummin"):
        for reverse in (False, True):
            f = getattr(tj, name)
            results = tj.jit(lambda x, f=f, reverse=reverse: f(x, reverse=reverse))(x)
            np.testing.assert_array_equal(results, f(x, reverse=reverse))
    y = 1.0 + x / 1000
    np.testing.assert_allclose(tj.jit(tj.cumprod)(y), np.cumprod(y), rtol=1e-9)


@pytest.mark.parametrize(("name", "reverse"), GRADIENTS)
def test_gradients_are_the_peers(name: str, reverse: bool) -> None:
    def loss(x, axis=1):
        w = W if axis == 1 else W.T
        return (getattr(tj, name)(x, axis, reverse=reverse) * w).sum()

    for f in (tj.grad(loss), tj.jit(tj.grad(loss))):
        np.testing.assert_allclose(f(X), GRADIENTS[name, reverse], atol=1e-12)
    turned = tj.grad(lambda x: loss(x, 0))(np.ascontiguousarray(X.T))
    np.testing.assert_allclose(np.asarray(turned).T, GRADIENTS[name, reverse], atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (6,), (3, 7), (2, 4, 3)])
def test_first_and_second_order(name: str, shape: tuple[int, ...], reverse: bool) -> None:
    x = tj.tensor(np.random.default_rng(sum(shape)).normal(size=shape)).requires_grad_()
    for axis in range(len(shape)):
        assert tj.autograd.gradcheck(
            lambda x, axis=axis: tj.sin(getattr(tj, name)(x, axis, reverse=reverse)), (x,)
        )
        assert tj.autograd.gradgradcheck(
            lambda x, axis=axis: tj.sin(getattr(tj, name)(x, axis, reverse=reverse)), (x,)
        )


def test_gradients_at_nan_and_of_nothing() -> None:
    """A NaN holds the place from where it is to the next one."""
    x = np.array([1.0, np.nan, 3.0, np.nan, 2.0])
    assert tj.grad(lambda x: tj.cummax(x).sum())(x).tolist() == [1.0, 2.0, 0.0, 2.0, 0.0]
    for name in UFUNCS:
        assert tj.grad(lambda x, name=name: getattr(tj, name)(x, 1).sum())(np.ones((3, 0))).shape == (3, 0)


def test_mapped() -> None:
    x = np.random.default_rng(3).normal(size=(4, 6))
    for name in UFUNCS:
        f = getattr(tj, name)
        np.testing.assert_allclose(tj.vmap(lambda x, f=f: f(x, 0))(x), f(x, 1), rtol=1e-13)
        gradient = tj.grad(lambda x, f=f: (f(x, 0) ** 2).sum())
        want = np.stack([np.asarray(gradient(row)) for row in x])
        np.testing.assert_allclose(tj.vmap(gradient)(x), want, rtol=1e-12, atol=1e-12)


def test_a_wrong_axis() -> None:
    for name in UFUNCS:
        with pytest.raises(AxisError, match=name):
            getattr(tj, name)(np.ones((2, 3)), 2)
