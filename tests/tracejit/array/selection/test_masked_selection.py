"""Selection by traced masks: NumPy's results, with the gradients of eager code."""

import numpy as np
import pytest

import tracejit as tj

from .masked_programs import LINES, MATRICES

LINE = np.random.default_rng(3).normal(size=14)
MATRIX = np.random.default_rng(4).normal(size=(8, 3))
PROGRAMS = [(function, LINE) for function in LINES] + [(function, MATRIX) for function in MATRICES]
named = pytest.mark.parametrize(
    ("function", "x"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS]
)


@named
def test_values_are_numpys(function, x):
    expected = function(x.copy())
    result = tj.jit(function)(x.copy())
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert result.dtype == expected.dtype


@named
def test_float32(function, x):
    x = x.astype(np.float32)
    expected = function(x.copy())
    result = tj.jit(function)(x.copy())
    assert result.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(result, expected, rtol=2e-4)


@named
def test_gradients_are_those_of_eager_code(function, x):
    expected = tj.grad(function)(x)
    assert np.isfinite(np.asarray(expected)).all()
    for gradient in (tj.jit(tj.grad(function)), tj.grad(tj.jit(function))):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-9, atol=1e-12)


@named
def test_forward_mode(function, x):
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    expected = (np.asarray(tj.grad(function)(x)) * direction).sum()
    _, tangent = tj.jit(lambda x, v: tj.jvp(function, (x,), (v,)))(x, direction)
    np.testing.assert_allclose(tangent, expected, rtol=1e-9)


@named
def test_batches(function, x):
    batch = np.stack([x, x[::-1], x * 0.9 + 0.01])
    expected = [function(each.copy()) for each in batch]
    np.testing.assert_allclose(tj.jit(tj.vmap(function))(batch), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: tj.vmap(f)(np.ones((2, 3))),
        lambda f: tj.jit(lambda x: tj.jvp(f, (x,), (x,)))(np.ones(3)),
        lambda f: tj.jit(lambda x: tj.vjp(f, x)[0])(np.ones(3)),
    ],
)
def test_transforms_do_not_return_selected_elements(transformed):
    with pytest.raises(tj.ConcretizationError, match="needs the number of elements that the mask selects"):
        transformed(lambda x: x[x > 0])
