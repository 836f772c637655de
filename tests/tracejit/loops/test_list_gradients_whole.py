"""Gradients through lists that a loop reads and changes, read as a whole behind it."""

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.3, -1.2, 2.2])


def grown(x, n):
    items = [x[0]]
    for _ in range(n):
        items.append(items[-1] * 0.9)
    return sum(items)


def until(x, n):
    total, items = 0.0, []
    while total < 1.25:
        total = total + x[0]
        items.append(total)
    return sum(items)


def fibonacci(x, n):
    items = [x[0], x[1]]
    for i in range(2, n):
        items.append(items[i - 1] + items[i - 2] * 0.5)
    return np.stack(items).sum()


def added(x, n):
    items = [0.0] * 4
    for i in range(n):
        items[i % 4] += x[i % 3]
    return sum(items)


def popped(x, n):
    items = [x[0], x[1], x[2]]
    for _ in range(min(n, 2)):
        items.pop()
    return sum(items)


def reduced(x, n):
    stack, total = [x[0], x[1], x[2], x[0] * x[1]], 0.0
    for _ in range(min(n, 2)):
        a, b = stack.pop(), stack.pop()
        stack.append(a * b)
        total += a
    return total + sum(stack)


def read_before(x, n):
    items = [x[0]]
    for _ in range(n):
        items.append(items[-1] * x[1])
    before = sum(items)
    items.append(x[2])
    for _ in range(n):
        items.append(items[-1] * 2.0)
    return before * 10.0 + max(items) + items[0]


FUNCTIONS = [grown, until, fibonacci, added, popped, reduced, read_before]


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_gradients(function, n):
    steps = 1e-6 * np.eye(3)
    n = min(n, 6) if function is read_before else n
    slope = [(float(function(X + step, n)) - float(function(X - step, n))) / 2e-6 for step in steps]
    for gradient in (
        tj.grad(function), tj.grad(tj.jit(function)), tj.jit(tj.grad(function)),
        lambda x, n: tj.jit(tj.value_and_grad(function))(x, n)[1],
        lambda x, n: tj.jit(tj.jacfwd(function))(x, n),
    ):  # fmt: skip
        np.testing.assert_allclose(gradient(X, n), slope, rtol=1e-5, atol=1e-7)
