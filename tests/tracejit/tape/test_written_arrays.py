"""Arrays of NumPy's that the user writes after an operation has read them, which keeps what it read."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

X = np.array([1.0, -2.0, 3.0])
ONES = np.ones(3)

#: Operations of a tensor and an array.
OPERATIONS = {
    "mul": lambda v, c: v * c,
    "matmul": lambda v, c: v @ c,
    "dot": tj.dot,
    "outer": tj.outer,
    "inner": tj.inner,
    "kron": tj.kron,
    "cross": tj.cross,
    "convolve": tj.convolve,
    "where": lambda v, c: tj.where(c > 0, v, 2 * v) * c,
    "einsum": lambda v, c: tj.einsum("i,i->", v, c),
    "tensordot": lambda v, c: tj.tensordot(v, c, 1),
    "power": lambda v, c: tj.float_power(tj.abs(v), c + 1),
    "numpy": lambda v, c: np.dot(v, c),
    "average": lambda v, c: tj.average(v, weights=c),
    "atan2": lambda v, c: np.arctan2(c, v),
}


def _written(operation):
    def f(v):
        c = np.ones(3)
        y = operation(v, c)
        c[:] = 7.0
        return y.sum()

    return f


def _unwritten(operation):
    return lambda v: operation(v, np.ones(3)).sum()


@pytest.mark.parametrize("name", OPERATIONS)
def test_derivatives(name):
    f, g = _written(OPERATIONS[name]), _unwritten(OPERATIONS[name])
    for transform in (tj.grad, tj.jacobian, tj.hessian, lambda h: tj.grad(lambda v: tj.grad(h)(v).sum())):
        np.testing.assert_allclose(transform(f)(X), transform(g)(X), rtol=1e-12)
    for result, expected in zip(tj.jvp(f, (X,), (ONES,)), tj.jvp(g, (X,), (ONES,)), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    for h in (f, tj.grad(f)):
        of = g if h is f else tj.grad(g)
        np.testing.assert_allclose(tj.vmap(h)(np.stack([X, -X])), tj.vmap(of)(np.stack([X, -X])), rtol=1e-12)


@pytest.mark.parametrize("name", OPERATIONS)
def test_backward(name):
    gradients = []
    for value in (1.0, 7.0):
        t, c = tj.tensor(X, requires_grad=True), np.ones(3)
        y = OPERATIONS[name](t, c).sum()
        c[:] = value
        y.backward()
        gradients.append(t.grad)
    np.testing.assert_array_equal(*gradients)


def test_a_buffer_that_a_function_uses_again():
    def rows(v):
        buffer, out = np.zeros(3), []
        for i in range(3):
            buffer[:] = 0
            buffer[i] = 1
            out.append(v @ buffer)
        return np.stack(out)

    np.testing.assert_array_equal(tj.jacobian(rows)(X), np.eye(3))
    np.testing.assert_array_equal(tj.vmap(rows)(np.stack([X, -X])), [X, -X])


def test_arguments_of_functions_that_are_called_later():
    x = X.copy()
    _, pull = tj.vjp(lambda q: (q**2).sum(), x)
    _, push = tj.linearize(lambda q: (q**2).sum(), x)
    x[:] = 0
    np.testing.assert_array_equal(pull(1.0)[0], 2 * X)
    assert push(ONES) == pytest.approx(2 * X.sum())
