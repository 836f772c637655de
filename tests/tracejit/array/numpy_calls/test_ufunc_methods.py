"""Methods of ufuncs, against NumPy's: of ours, of NumPy's with tensors, and jitted."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tracejit as tj

from ..agreement import gradients

RNG = np.random.default_rng(0)
FLOATS = RNG.uniform(0.5, 2.0, (3, 5))
INTEGERS = RNG.integers(1, 30, (3, 5))
OF_FLOATS = ["add", "multiply", "maximum", "minimum", "logaddexp", "logaddexp2", "hypot", "fmax", "fmin"]
ORDERED = ["subtract", "divide"]
OF_INTEGERS = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "lcm",
    "logical_and",
    "logical_or",
    "logical_xor",
]
EVERY = [(name, FLOATS) for name in OF_FLOATS + ORDERED] + [(name, INTEGERS) for name in OF_INTEGERS]


def _same(name, method, array, *args, **kwargs):
    expected = getattr(getattr(np, name), method)(array, *args, **kwargs)
    ours = getattr(getattr(tj, name), method)
    for actual in (
        ours(array, *args, **kwargs),
        getattr(getattr(np, name), method)(tj.asarray(array), *args, **kwargs),
        tj.jit(lambda x: ours(x, *args, **kwargs))(array),
    ):
        assert isinstance(actual, tj.Tensor)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "array"), EVERY)
def test_reduce(name, array):
    _same(name, "reduce", array)
    _same(name, "reduce", array, axis=1, keepdims=True)
    if name not in (*ORDERED, "lcm"):
        _same(name, "reduce", array, axis=None)


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_folds_of_rows(name):
    """Folds agree with their definition: NumPy gives something else for these along a contiguous axis on some
    machines."""
    expected = functools.reduce(getattr(np, name), FLOATS.T)
    np.testing.assert_allclose(getattr(tj, name).reduce(FLOATS, axis=1).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "array"), EVERY)
def test_accumulate(name, array):
    _same(name, "accumulate", array)
    _same(name, "accumulate", array, axis=1)


@pytest.mark.parametrize(("name", "array"), EVERY)
def test_outer(name, array):
    _same(name, "outer", array, array[0])


@pytest.mark.parametrize(("name", "array"), EVERY)
def test_reduceat(name, array):
    _same(name, "reduceat", array, [0, 2, 1], axis=1) if name not in ORDERED else None


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "power"])
def test_at(name):
    expected, actual = FLOATS.copy(), tj.tensor(FLOATS)
    getattr(np, name).at(expected, ([0, 0, 2], [1, 1, 4]), [2.0, 3.0, 0.5])
    getattr(tj, name).at(actual, ([0, 0, 2], [1, 1, 4]), [2.0, 3.0, 0.5])
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-12)


def test_options():
    _same("add", "reduce", FLOATS, axis=1, initial=2.0, where=FLOATS > 1)
    _same("logaddexp", "reduce", FLOATS, axis=1, initial=0.5)
    _same("bitwise_or", "reduce", INTEGERS, axis=1, where=INTEGERS > 9)
    _same("add", "reduce", INTEGERS, dtype="float32")
    out = tj.zeros(5)
    assert tj.add.reduce(FLOATS, out=out) is out
    np.testing.assert_allclose(out.numpy(), FLOATS.sum(0))


@pytest.mark.parametrize("name", ["logaddexp", "hypot", "divide", "multiply", "maximum"])
def test_gradients(name):
    function = getattr(tj, name)
    gradients(lambda x: function.reduce(x, axis=1), FLOATS)
    gradients(lambda x: function.accumulate(x, axis=1), FLOATS[:, :3])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.subtract.reduce(FLOATS, axis=None), tj.ShapeError, "order of the elements matters"),
        (lambda: tj.divide.reduce(np.zeros((0, 2))), tj.ShapeError, "no identity"),
        (lambda: tj.add.reduceat(FLOATS, [9], axis=1), tj.OutOfBoundsError, "indices must be from 0 to 4"),
        (lambda: tj.add.at(3.0, [0], 1.0), tj.DTypeError, "must be a tensor"),
        (
            lambda: tj.jit(lambda x, i: tj.power.at(x * 1, i, 2.0))(np.ones(3), [0]),
            tj.ConcretizationError,
            "power.at",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["multiply", "maximum", "minimum", "subtract"])
def test_at_traced_indices(name):
    def program(x, places, values):
        y = x * 1.0
        getattr(np, name).at(y, places, values)
        return y

    x, places, values = np.array([1.0, -2.0, 3.0]), np.array([2, 0, 2]), np.array([0.5, 4.0, -5.0])
    np.testing.assert_array_equal(tj.jit(program)(x, places, values), program(x, places, values))
