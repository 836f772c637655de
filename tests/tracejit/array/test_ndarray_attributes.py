"""Uses of ndarray's attributes and constructor that are written to memory or look at shapes alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tracejit as tj

M = np.arange(6.0)


def rows_of_a_reshaped_array(u):
    y = u * 2
    tail = y[1:]
    y.shape = (2, -1)
    y[0] = 7.0
    return y, tail


def write_through_a_view(u):
    u = u + 0
    y = u[:4]
    y.shape = (2, -1)
    y[0] = 7.0
    return u


@pytest.mark.parametrize("function", [rows_of_a_reshaped_array, write_through_a_view])
@pytest.mark.parametrize("run", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_a_shape_is_assigned_in_place(function, run):
    expected = function(M)
    results = run(function)(tj.tensor(M))
    if not isinstance(expected, tuple):
        expected, results = (expected,), (results,)
    for value, result in zip(expected, results, strict=True):
        np.testing.assert_array_equal(result.numpy(), value)


def test_gradients_follow_a_tensor_whose_shape_is_assigned():
    def squares(x, assigns):
        y = x * 2
        tail = y[1:]
        if assigns:
            y.shape = (2, 3)
        else:
            y = y.reshape(2, 3)
        y[1] = y[1] * 5
        return (tail * y.ravel()[1:]).sum()

    expected = tj.grad(lambda x: squares(x, assigns=False))(M).numpy()
    for run in (lambda f: f, tj.jit):
        np.testing.assert_array_equal(run(tj.grad(lambda x: squares(x, assigns=True)))(M).numpy(), expected)


def test_shapes_that_cannot_be_assigned():
    with pytest.raises(tj.ShapeError, match=r"cannot reshape \(6,\) of size 6 to \(4, 2\)"):
        tj.tensor(M).shape = (4, 2)
    with pytest.raises(tj.ShapeError, match="without a copy"):
        tj.ones((2, 3)).T.shape = (6,)
    with pytest.raises(tj.GradientError, match="a leaf that requires grad keeps its shape"):
        tj.tensor(M, requires_grad=True).shape = (2, 3)

    def reshape_argument(x):
        x.shape = (2, 3)
        return x.sum()

    with pytest.raises(tj.TraceError, match=r"argument x .* keeps shape and dtype"):
        tj.jit(reshape_argument)(M.copy())


def test_the_constructor_of_arrays_makes_one_to_be_written():
    def doubled(x):
        out = np.ndarray(x.shape, dtype=np.float32)
        out[:] = x * 2
        return out

    def in_turn(x):
        out = np.ndarray(len(x))
        for i in range(len(x)):
            out[i] = x[i] * i
        return out

    for function in (doubled, in_turn):
        result = tj.jit(function)(M).numpy()
        expected = function(M)
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == expected.dtype


@pytest.mark.parametrize(
    ("shape", "shift", "axis"),
    [
        ((6,), 4, None),
        ((6,), -9, 0),
        ((2, 3), [1, -2], (0, 1)),
        ((2, 3), 2, (0, 1)),
        ((0, 3), 1, 1),
        ((2, 3), [1, 1], 0),
    ],
)
def test_roll_takes_a_traced_shift(shape, shift, axis):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    shift = np.array(shift)
    expected = np.roll(x, shift, axis)
    for function in (
        lambda x, shift: np.roll(x, shift, axis),
        lambda x, shift: np.roll(x, list(shift) if shift.ndim else shift, axis),
    ):
        np.testing.assert_array_equal(tj.jit(function)(x, shift).numpy(), expected)
    weights = np.cos(x)
    gradient = tj.jit(tj.grad(lambda x, s: (np.roll(x, s, axis) * weights).sum()))(x, shift)
    np.testing.assert_array_equal(gradient.numpy(), np.roll(weights, -shift, axis))


def test_einsum_path_looks_at_shapes():
    a, b, c = np.ones((2, 3)), np.ones((3, 40)), np.ones((40, 2))
    text = "ij,jk,kl->il"
    expected = np.einsum_path(text, a, b, c, optimize="optimal")
    assert np.einsum_path(text, tj.tensor(a), b, tj.tensor(c), optimize="optimal") == expected
    lists = np.einsum_path(a, [0, 1], b, [1, 2], [0, 2])
    assert np.einsum_path(tj.tensor(a), [0, 1], tj.tensor(b), [1, 2], [0, 2]) == lists

    def product(a, b, c):
        path, _ = np.einsum_path(text, a, b, c)
        return np.einsum(text, a, b, c, optimize=path)

    np.testing.assert_array_equal(tj.jit(product)(a, b, c).numpy(), product(a, b, c))


def test_a_copy_of_a_tensor_in_a_graph_is_in_the_graph():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = copy.copy(x * 3)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])
    assert copy.copy(x).is_leaf


def test_the_version_counts_writes():
    x = tj.tensor(M)
    view = x[1:]
    assert x._version == 0
    x.add_(1)
    view[0] = 5.0
    assert x._version == view._version == 2
    assert x.detach()._version == 2
    assert (x * 1)._version == 0


def test_a_tensor_is_a_buffer():
    x = tj.tensor(M)
    assert x.__buffer__(0).tolist() == M.tolist()
    assert memoryview(x).tolist() == M.tolist()
    assert bytes(x[::2]) == M[::2].tobytes()
    with pytest.raises(tj.GradientError):
        tj.tensor(M, requires_grad=True).__buffer__(0)


def test_flags_are_those_of_memory():
    assert tj.ones((2, 3)).flags["C_CONTIGUOUS"]
    assert not tj.ones((2, 3)).T.flags.c_contiguous
    with pytest.raises(tj.ConcretizationError, match=r"x\.flags"):
        tj.jit(lambda x: x if x.flags.writeable else -x)(M)


def test_jacobian_takes_several_arguments():
    product = lambda u, v: u * v  # noqa: E731
    first, second = tj.jacobian(product, argnums=(0, 1))(M, M + 1)
    np.testing.assert_array_equal(first.numpy(), np.diag(M + 1))
    np.testing.assert_array_equal(second.numpy(), np.diag(M))
    np.testing.assert_array_equal(tj.jacobian(product, argnum=1)(M, M + 1).numpy(), np.diag(M))
