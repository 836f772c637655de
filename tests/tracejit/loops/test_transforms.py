"""Gradients and transforms of loops as they are written, with and without ``checkpoint_every``."""

import numpy as np
import pytest

import tracejit as tj

from .common import reports

X = np.linspace(0.1, 1.0, 40)


def recurrence(x, a):
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * y[i - 1] + (1 - a) * x[i] ** 2
    return (y * y).sum()


def as_long_as(x, a):
    s = 0.0
    i = 0
    while s < 5.0 and i < 100:
        s = s * a + x[i % 40] * 2
        i += 1
    return s * s


def left_early(x, a):
    s = 0.0
    for i in range(40):
        if x[i] > 0.9:
            break
        s = s * a + x[i]
    return s


def traced_bound(x, a, n=30):
    s = 0.0
    for i in range(int(n)):
        s = s * a + x[i] * x[i]
    return s


def triangular(x, a):
    s = 0.0
    for i in range(30):
        for j in range(i):
            s = s * a + x[j] * x[i]
    return s


def swapped(x, a):
    u = x.copy()
    v = x.copy()
    for _ in range(12):
        for i in range(1, 39):
            v[i] = a * u[i] + 0.1 * (u[i - 1] + u[i + 1])
        u, v = v, u
    return (u * u).sum()


def branches(x, a):
    s = 0.0
    for i in range(40):
        if x[i] > 0.5:
            s += a * x[i] ** 2
        elif x[i] > 0.3:
            s *= 1.1
        else:
            s -= x[i]
    return s


LOOPS = [recurrence, as_long_as, left_early, traced_bound, triangular, swapped, branches]
EVERY = [None, 1, 7, 1000]


def differences(loop):
    step = 1e-6 * np.eye(40)
    return np.array([(loop(X + row, 0.7) - loop(X - row, 0.7)) / 2e-6 for row in step])


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("loop", LOOPS)
def test_gradients(loop, every):
    expected = differences(loop)
    jitted = tj.jit(loop, loops="compiled", checkpoint_every=every)
    assert float(jitted(X, 0.7)) == pytest.approx(loop(X, 0.7))
    leaf = tj.tensor(X, requires_grad=True)
    jitted(leaf, 0.7).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-5, atol=1e-6)
    gradient = tj.jit(tj.grad(loop), loops="compiled", checkpoint_every=every)
    np.testing.assert_allclose(gradient(X, 0.7).numpy(), expected, rtol=1e-5, atol=1e-6)
    if every is not None:
        assert any(f", {every} at a time" in reason for _, reason in reports(gradient))


@pytest.mark.parametrize("every", [None, 7])
@pytest.mark.parametrize("loop", LOOPS)
def test_transforms(loop, every):
    def jit(function):
        return tj.jit(function, loops="compiled", checkpoint_every=every)

    gradient = differences(loop)
    value, tangent = jit(lambda x, t: tj.jvp(lambda x: loop(x, 0.7), (x,), (t,)))(X, X * X)
    assert float(value) == pytest.approx(loop(X, 0.7))
    assert float(tangent) == pytest.approx(gradient @ (X * X), rel=1e-5)
    rows = np.stack([X, 1.1 * X, 0.5 * X])
    mapped = jit(tj.vmap(lambda x: loop(x, 0.7)))(rows)
    np.testing.assert_allclose(mapped.numpy(), [loop(row, 0.7) for row in rows])
    mapped = jit(tj.vmap(tj.grad(lambda x: loop(x, 0.7))))(rows)
    np.testing.assert_allclose(mapped.numpy()[0], gradient, rtol=1e-5, atol=1e-6)
    hessian = jit(tj.hessian(lambda x: loop(x, 0.7)))(X).numpy()
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-9)
    first = tj.jit(tj.grad(lambda x: loop(x, 0.7)))
    column = (first(X + 1e-6 * np.eye(40)[3]).numpy() - first(X - 1e-6 * np.eye(40)[3]).numpy()) / 2e-6
    np.testing.assert_allclose(hessian[:, 3], column, rtol=1e-4, atol=1e-5)


def test_checkpoint_every_is_a_positive_integer():
    for every in (0, -1, 2.5, True):
        with pytest.raises(
            tj.TracejitError, match="jit: checkpoint_every must be a positive integer or None"
        ):
            tj.jit(recurrence, checkpoint_every=every)


def with_an_unread_branch(x):
    s, y = 1.0, 0.0
    for i in range(len(x)):
        if s > 1:  # noqa: SIM102 - a conditional in a conditional
            if x[i] > 0.5:
                y = x[i]
        y = s
        s = 0.9 * s + 0.1 * x[i]
    return s + y


def test_a_conditional_whose_results_nothing_reads_has_a_gradient():
    compiled = np.asarray(tj.grad(tj.jit(with_an_unread_branch))(X))
    unrolled = np.asarray(tj.grad(tj.jit(with_an_unread_branch, loops="unrolled"))(X))
    np.testing.assert_allclose(compiled, unrolled, rtol=1e-12)
