"""Dropout: PyTorch's inverted dropout, with a mask of our own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DomainError, DTypeError
from tracejit.nn.dropout import dropout

r = tj.random


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    state = r.get_state()
    yield
    r.set_state(state)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("run", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_mask_and_scale(run, dtype):
    x = tj.asarray(np.arange(1, 100_001).reshape(100, 1000), dtype)
    y = run(lambda x: dropout(x, 0.2, key=r.key(1)))(x)
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    kept = y.numpy() != 0
    assert abs(kept.sum() - 80_000) < 4 * 126.5
    assert np.allclose(y.numpy()[kept], x.numpy()[kept] * 1.25, rtol=1e-6)
    assert np.array_equal(y.numpy() != 0, r.bernoulli(r.key(1), np.asarray(0.8, dtype), x.shape).numpy())


def test_limits():
    x = tj.tensor([1.0, np.inf, -2.0])
    assert dropout(x, 0.0).tolist() == x.tolist()
    assert dropout(x, 0.9, training=False).tolist() == x.tolist()
    assert dropout(x[::2], 1).tolist() == [0, 0]


def test_only_a_mask_draws():
    r.seed(0)
    dropout(tj.ones(3), 0.0)
    dropout(tj.ones(3), 0.5, training=False)
    dropout(tj.ones(3), 0.5, key=r.key(0))
    assert r.get_state() == (0, 0)
    first = dropout(tj.ones(50))
    assert r.get_state() == (0, 1)
    assert first.tolist() == dropout(tj.ones(50), key=r.fold_in(r.key(0), 0)).tolist()


def test_each_call_has_a_fresh_mask():
    f = tj.jit(lambda x: dropout(x, 0.5))
    r.seed(0)
    masks = [f(tj.ones(64)).tolist() for _ in range(6)]
    assert len(set(map(tuple, masks))) == 6
    r.seed(0)
    assert [dropout(tj.ones(64), 0.5).tolist() for _ in range(6)] == masks


@pytest.mark.parametrize("run", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_gradient_is_the_mask_scaled(run):
    x = tj.tensor(np.linspace(1, 2, 40), requires_grad=True)
    y = run(lambda x: dropout(x, 0.75))(x)
    y.backward(tj.full((40,), 3.0))
    want = np.where(y.detach().numpy() != 0, 12.0, 0.0)
    assert x.grad.tolist() == want.tolist()
    assert 0 < np.count_nonzero(want) < 40


def test_gradient_inside_jit():
    r.seed(0)
    mask = dropout(tj.ones(40)).numpy()
    r.seed(0)
    gradient = tj.jit(tj.grad(lambda x: dropout(x).sum()))(tj.ones(40))
    assert gradient.tolist() == mask.tolist()


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_p_is_a_probability(p):
    with pytest.raises(DomainError, match=r"nn\.dropout: the probability p must be from 0 to 1"):
        dropout(tj.ones(3), p)


def test_wrong_types():
    with pytest.raises(DTypeError, match="expected a floating x, got dtype int64"):
        dropout(tj.arange(3))
    with pytest.raises(DTypeError, match="expected a Python number for p, got Tensor"):
        dropout(tj.ones(3), tj.tensor(0.5))
    with pytest.raises(DTypeError, match="static_argnames"):
        tj.jit(lambda x, p: dropout(x, p))(tj.ones(3), 0.5)
    static = tj.jit(lambda x, p: dropout(x, p), static_argnames="p")
    assert static(tj.ones(3), 1.0).tolist() == [0, 0, 0]


def test_it_fuses():
    f = tj.jit(lambda x: dropout(x * 2, 0.5) + 1)
    f(tj.ones((8, 100)))
    assert "kernels: 2," in f.explain()  # the key, and everything else
