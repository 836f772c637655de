"""Scalars and arrays of rank 0: an augmented assignment writes what it writes in NumPy, eagerly, under jit
and in transforms."""

from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.array.rank_0_programs import program, source

X = np.array([1.0, 2.0, 3.0])


def of_numpy(text):
    x, a = X.copy(), np.array(4.0)
    return [*map(float, program(text, np)(x, X.sum(), a)), *x.tolist(), float(a)]


def of_tensors(text, way, arrays):
    x = tj.tensor(X)
    x, s, a = (X.copy(), X.sum(), np.array(4.0)) if arrays else (x, x.sum(), tj.tensor(4.0))
    results = [float(result) for result in way(program(text, tj))(x, s, a)]
    assert float(s) == 6.0
    return [*results, *np.asarray(x).tolist(), float(a)]


@pytest.mark.parametrize(
    ("way", "arrays"), [(lambda f: f, False), (tj.jit, False), (tj.jit, True)], ids=["eager", "jit", "arrays"]
)
def test_random_programs(way, arrays):
    first = random.randrange(1 << 20)
    print(f"seed {first}")
    for seed in range(first, first + 40):
        text = source(seed)
        assert of_tensors(text, way, arrays) == of_numpy(text), text


def moves(value):
    """Whether an augmented assignment to another name of `value` changes it."""
    before, other = float(value), value
    other += 1.0
    return float(value) != before


x = tj.tensor(X)


@pytest.mark.parametrize(
    "make",
    [lambda: x[0], x.sum, lambda: x @ x, lambda: x[0].copy(), lambda: x[0].detach(),
     lambda: x[0].astype("f4"), lambda: pickle.loads(pickle.dumps(x[0])), lambda: copy.copy(x.sum()),
     lambda: copy.deepcopy(x.sum()),
     lambda: tj.linalg.multi_dot([x, tj.eye(3), x]),
     lambda: tj.jit(lambda y: y.sum())(x), lambda: tj.grad(lambda s: s * s)(2.0)],
)  # fmt: skip
def test_scalars(make):
    assert not moves(make())


@pytest.mark.parametrize(
    "make",
    [lambda: tj.tensor(1.0), lambda: tj.zeros(()), lambda: tj.asarray(np.float64(1)),
     lambda: tj.ones(()).detach(), lambda: tj.tensor(X)[0, ...], lambda: tj.tensor([1.0]).reshape(()),
     lambda: tj.zeros(()).copy(), lambda: tj.zeros(()).astype("f4"),
     lambda: pickle.loads(pickle.dumps(tj.zeros(()))), lambda: copy.copy(tj.zeros(())),
     lambda: copy.deepcopy(tj.zeros(())),
     lambda: tj.asarray(x.sum()), lambda: x[0][...], lambda: tj.select([x[0] > 0], [x[0]], x[1])],
)  # fmt: skip
def test_arrays(make):
    assert moves(make())


def test_parameters_are_written_in_place():
    w = tj.tensor(X).sum().detach().requires_grad_()
    (w * w).backward()
    with tj.no_grad():
        for p in [w]:
            p -= 0.5 * p.grad
        g = w.grad
        g *= 0.5
    assert float(w) == 0.0
    assert float(w.grad) == 6.0


def test_a_jitted_function_tells_scalars_from_arrays():
    @tj.jit
    def f(s):
        t = s
        t *= 0.5
        return s

    scalar, array = x.sum(), tj.tensor(6.0)
    for _ in range(3):
        assert [float(f(scalar)), float(scalar)] == [6.0, 6.0]
        assert [float(f(X.sum())), float(f(6.0))] == [6.0, 6.0]
    assert [float(f(array)), float(array), float(f(array))] == [3.0, 3.0, 1.5]
    nd = np.array(6.0)
    assert [float(f(nd)), float(nd)] == [3.0, 3.0]
    assert [float(f(scalar)), float(scalar)] == [6.0, 6.0]


def test_a_scalar_that_is_captured():
    best = x[0]

    @tj.jit
    def f(y):
        current = best
        current += y[1]
        return current, best

    for _ in range(2):
        assert [float(result) for result in f(x)] == [3.0, 1.0]
    assert float(best) == 1.0


def test_gradients():
    def f(x, s):
        t = s
        t *= x[1]
        return t * s + x.sum()

    for way in (lambda f: f, tj.jit):
        assert float(way(tj.grad(f, argnums=1))(x, 3.0)) == 12.0
        assert float(way(tj.grad(f, argnums=1))(x, x.sum())) == 24.0
        assert way(tj.grad(f))(x, 3.0).tolist() == [1.0, 10.0, 1.0]


def test_views_of_scalars_have_memory_of_their_own():
    s = x.sum()
    for view in (s.reshape(1), s[None], tj.broadcast_to(s, (1,)), s.T, s[...], tj.atleast_1d(s)):
        view[...] = 1.0
        assert float(s) == 6.0
