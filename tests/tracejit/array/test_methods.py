"""Operators and methods of Tensor against those of ndarray."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

import operator
import timeit

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.backward.backward import run_backward
from tracejit.base.errors import ConcretizationError, DTypeError, ShapeError
from tracejit.dispatch import native_ops
from tracejit.dispatch.eager_functions import Way
from tracejit.tensors.tensor import Tensor

X = np.array([[1.5, -2.0, 3.0], [4.0, 5.5, -6.0]])
N = np.array([[7, -2, 3], [4, 5, 6]])
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
BITS = [operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("op", [*BINARY, *COMPARISONS, divmod], ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", [2, 2.5, X[0], np.float64(1.5), np.float32(2), np.array(3)], ids=str)
def test_binary_operators_and_their_reflections(op, other, agrees):
    x = np.abs(X)
    agrees(lambda a: op(a, other), lambda a: op(a, other), x)
    agrees(lambda a: op(other, a), lambda a: op(other, a), x)


@pytest.mark.parametrize("op", [*BITS, *SHIFTS], ids=lambda op: op.__name__)
def test_bit_operators(op, agrees):
    agrees(lambda a: op(a, 3), lambda a: op(a, 3), N)
    agrees(lambda a: op(3, a), lambda a: op(3, a), np.abs(N))
    agrees(op, op, N, np.abs(N))


def test_unary_operators(agrees):
    for op in (operator.neg, operator.pos, abs):
        agrees(op, op, X)
    agrees(operator.invert, operator.invert, N)
    agrees(lambda a: round(a, 1), lambda a: np.round(a, 1), X)
    agrees(round, np.round, X)


def test_matmul_operator(agrees):
    agrees(lambda a: a @ X.T, lambda a: a @ X.T, X)
    agrees(lambda a: X.T @ a, lambda a: X.T @ a, X)


def test_operands_of_other_types():
    x = tensor([1.0, 2.0])
    for op in (operator.add, operator.mul, operator.lt, operator.matmul):
        for bad in ("a", None, object()):
            with pytest.raises(TypeError):
                op(x, bad)
            with pytest.raises(TypeError):
                op(bad, x)
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True
    assert len({x, x}) == 1
    np.testing.assert_array_equal((x == [1.0, 3.0]).numpy(), [True, False])
    assert isinstance(X[0, :2] + x, Tensor)
    assert isinstance(np.float64(2) * x, Tensor)


METHODS = {
    "sum": lambda x: x.sum(0), "prod": lambda x: x.prod(), "mean": lambda x: x.mean(axis=1, keepdims=True), "var": lambda x: x.var(),
    "std": lambda x: x.std(1, ddof=1), "max": lambda x: x.max(), "min": lambda x: x.min(0), "all": lambda x: x.all(), "any": lambda x: x.any(1),
    "argmax": lambda x: x.argmax(), "argmin": lambda x: x.argmin(1), "cumsum": lambda x: x.cumsum(0), "reshape": lambda x: x.reshape(3, 2),
    "reshape tuple": lambda x: x.reshape((3, -1)), "reshape flat": lambda x: x.reshape(-1), "ravel": lambda x: x.ravel(), "flatten": lambda x: x.flatten(),
    "transpose": lambda x: x.transpose(), "transpose axes": lambda x: x.transpose(1, 0), "transpose tuple": lambda x: x.transpose((0, 1)),
    "swapaxes": lambda x: x.swapaxes(0, 1), "squeeze": lambda x: x[:1].squeeze(), "astype": lambda x: x.astype("i4"), "clip": lambda x: x.clip(0, 4),
    "round": lambda x: x.round(1), "dot": lambda x: x.dot(x[0]), "copy": lambda x: x.copy(), "repeat": lambda x: x.repeat(2, 1), "take": lambda x: x.take([0, 3]),
    "T": lambda x: x.T, "mT": lambda x: x.mT, "trace": lambda x: x.trace(), "diagonal": lambda x: x.diagonal(1), "iteration": lambda x: [row * 2 for row in x],
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods(name, agrees):
    agrees(METHODS[name], METHODS[name], X, rtol=1e-15)


def test_pytorch_methods(agrees):
    pairs = {
        "eq": lambda x: x == 3.0, "ne": lambda x: x != 3.0, "lt": lambda x: x < 3.0, "le": lambda x: x <= 3.0, "gt": lambda x: x > 3.0,
        "ge": lambda x: x >= 3.0, "pow": lambda x: np.power(x, 3.0),
    }  # fmt: skip
    for name, reference in pairs.items():
        agrees(lambda x, n=name: getattr(x, n)(3.0), reference, np.abs(X))
    for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "square"):
        agrees(lambda x, n=name: getattr(x, n)(), getattr(np, name), np.abs(X))
    agrees(lambda x: x.clamp(0, 1), lambda x: x.clip(0, 1), X)
    agrees(lambda x: x.clamp(min=0), lambda x: x.clip(0), X)
    agrees(lambda x: x.view(3, 2), lambda x: x.reshape(3, 2), X)
    agrees(lambda x: x.view(), lambda x: x.view(), X)
    agrees(lambda x: x.t(), lambda x: x.T, X)
    agrees(lambda x: x.permute(1, 0), lambda x: x.T, X)
    agrees(lambda x: x.unsqueeze(-1), lambda x: x[..., None], X)
    agrees(lambda x: x.matmul(x.T), lambda x: x @ x.T, X)
    agrees(lambda x: x.norm(), np.linalg.norm, X, rtol=1e-15)
    assert tensor(X).numel() == 6
    assert tensor(X).dim() == 2
    with pytest.raises(ShapeError, match="rank 2 or less"):
        tj.ones((1, 2, 3)).t()


def test_norm_gradient(check_gradients):
    check_gradients(lambda x: x.norm(), [0.3, -0.4, 1.2])
    x = tj.zeros(3).requires_grad_()
    (results,) = run_backward([x.norm()], [tensor(1.0)], retain_graph=False, create_graph=False, targets=[x])
    np.testing.assert_array_equal(results.numpy(), 0.0)


@pytest.mark.parametrize("op", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv,
                                operator.imod, operator.ipow], ids=lambda op: op.__name__)  # fmt: skip
def test_in_place_operators(op, agrees):
    x = tensor(np.abs(X))
    memory, view = x.numpy(), x[0]
    expected = op(np.abs(X), 2.0)
    assert op(x, 2.0) is x
    np.testing.assert_array_equal(memory, expected)
    np.testing.assert_array_equal(view.numpy(), expected[0])
    agrees(lambda a: op(a * 1, X[0]), lambda a: op(a * 1, X[0]), np.abs(X))


def test_in_place_keeps_dtype_and_shape(traced):
    small = tensor(np.array([1, 2], np.float32))
    small += np.array([0.5, 0.5])
    assert small.dtype == np.float32
    whole = tensor([1, 2])
    with pytest.raises(DTypeError, match=r"x has dtype .* cannot take"):
        whole += 1.5
    with pytest.raises(ShapeError, match="in place"):
        small += np.ones((3, 2))
    with pytest.raises(DTypeError, match=r"x has dtype .* cannot take"):
        traced(lambda a: operator.itruediv(a, 2), N)
    # NumPy's results of rank 0 are immutable scalars: what does not fit replaces them
    total = tensor([1, 2]).sum()
    total /= 2
    assert total.item() == 1.5
    total += np.ones(2)
    np.testing.assert_array_equal(total.numpy(), [2.5, 2.5])


def test_in_place_in_the_graph():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    handle = y
    y *= x
    y += 1
    y **= 2
    assert handle is y
    (results,) = run_backward([y.sum()], [tensor(1.0)], retain_graph=False, create_graph=False, targets=[x])
    np.testing.assert_array_equal(results.numpy(), 4 * (np.array([1.0, 2.0]) ** 2 + 1) * [1.0, 2.0])


def test_fill_and_iteration(traced):
    x = tj.ones((2, 2))
    assert x.fill(3.0) is x
    np.testing.assert_array_equal(x.numpy(), 3.0)
    with pytest.raises(TypeError, match="rank 0"):
        iter(tensor(1.0))
    with pytest.raises(ConcretizationError):
        traced(lambda a: a if a.sum() > 0 else -a, X)


def test_operators_cost_no_more_than_the_functions():
    """``x + y`` calls what the function calls: no layer in between. ``x * y`` looks for sequences first."""
    assert Tensor.__add__.__globals__["run"] is tj.add.eager.run
    assert Tensor.__sub__.__globals__["run"] is tj.subtract.eager.run
    assert Tensor.__matmul__.__globals__["run"] is tj.matmul.eager.run
    assert Tensor.__neg__ is tj.negative.eager.method
    x = tj.ones(3)
    best = min(timeit.repeat(lambda: x + x, number=2000, repeat=20)) / 2000
    direct = min(timeit.repeat(lambda: tj.add(x, x), number=2000, repeat=20)) / 2000
    assert best < direct + 0.5e-6
    assert native_ops.load() == ""
    for function in (tj.add, tj.multiply, tj.matmul):
        assert function.eager.way is Way.NATIVE
    assert Tensor.__add__.__globals__["run"] is tj.add.eager.native


@pytest.mark.parametrize("sequence", [[0.5, 1.5], (1, 2), "ab", []], ids=["list", "tuple", "string", "empty"])
def test_sequences_times_integers_repeat(sequence):
    for number in (tensor(3), tensor(2, dtype=np.int32), tensor([0, 2])[1]):
        times = int(number)
        assert sequence * number == number * sequence == sequence * times
        repeated = sequence[:]
        repeated *= number
        assert repeated == sequence * times


def test_other_products_with_lists_are_of_arrays():
    np.testing.assert_array_equal([1, 2] * tensor(2.0), [2.0, 4.0])
    np.testing.assert_array_equal([1, 2] * tensor([3, 4]), [3, 8])
    np.testing.assert_array_equal(tensor([3, 4]) * (1, 2), [3, 8])
    np.testing.assert_array_equal(tj.multiply([1, 2], tensor(2)), [2, 4])
    np.testing.assert_array_equal(tensor(2).mul([1, 2]), [2, 4])


def test_jitted_lists_are_repeated_by_an_argument():
    def rows(n, x):
        return np.stack([x] * n), len(n * [0.0])

    jitted = tj.jit(rows)
    for n in (3, 2, 3):
        stacked, length = jitted(n, X)
        assert stacked.shape == (n, 2, 3)
        assert int(length) == n
