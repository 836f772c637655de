"""Writes in place: what random programs found, as single cases, and what must leave no trace behind."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.types import TensorType


def leaf(*values: float) -> tj.Tensor:
    return tj.tensor(list(values), requires_grad=True)


def values(x: tj.Tensor) -> object:
    return x.detach().tolist()


# -- views under a trace, and under no_grad -----------------------------------------------------------


def test_an_ellipsis_makes_a_view_of_one_element():
    for x in (tj.tensor([1.0, 2.0]), leaf(1.0, 2.0) * 1):
        one, copy = x[0, ...], x[0]
        x.mul_(10.0)
        assert (values(one), values(copy)) == (10.0, 1.0)
    scalar = tj.tensor(3.0)
    scalar[...].add_(1.0)
    scalar[()].add_(1.0)
    assert values(scalar) == 4.0


def test_a_reshape_of_what_is_not_contiguous_is_a_copy_in_a_trace_too():
    def f(x):
        y = x * 1
        flat = y.T.reshape(6)
        rows = y.reshape(6)
        flat += 100.0
        rows += 10.0
        return y, flat

    x = tj.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for run in (f, tj.jit(f)):
        y, flat = run(x)
        assert values(y) == [[11, 12, 13], [14, 15, 16]]
        assert values(flat) == [101, 104, 102, 105, 103, 106]


def test_views_of_huge_traced_tensors_take_no_memory():
    def f(x):
        return x.T.reshape(2, -1)[:, 0] + x[::-1].T.reshape(-1)[0]

    huge = TensorType(np.dtype("f8"), (1 << 20, 1 << 20))
    assert tj.trace(f, huge).results[0].type.shape == (2,)


def test_a_write_under_no_grad_leaves_gradients_alone_in_a_trace_too():
    def f(x):
        y = x * 2
        part = y[1:]
        with tj.no_grad():
            part.mul_(10.0)
            y[0] = 7.0
        return (y * tj.tensor([1.0, 2.0, 3.0])).sum() + part.sum()

    x = leaf(1.0, 2.0, 3.0)
    total = f(x)
    total.backward()
    assert total.item() == 7 + 2 * 40 + 3 * 60 + 40 + 60
    assert values(x.grad) == [2, 6, 8]  # as though nothing had been written
    plain = x.detach()
    assert tj.jit(f)(plain).item() == total.item()
    for gradient in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert values(gradient(plain)) == [2, 6, 8]


def test_a_view_made_under_no_grad_sees_writes_in_a_trace_too():
    def f(x):
        y = x * 2
        with tj.no_grad():
            seen = y[1:]
        y.mul_(10.0)
        return y.sum() + seen.sum()

    plain = tj.tensor([1.0, 2.0])
    x = leaf(1.0, 2.0)
    f(x).backward()
    assert values(x.grad) == [20, 20]
    assert f(plain).item() == tj.jit(f)(plain).item() == 100.0
    for gradient in (tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert values(gradient(plain)) == [20, 20]


def test_a_view_made_under_no_grad_cannot_be_written_in_a_trace_either():
    def f(x):
        y = x * 2
        with tj.no_grad():
            whole = y.reshape(1, 2)
        whole.mul_(10.0)
        return y.sum()

    plain = tj.tensor([1.0, 2.0])
    assert tj.jit(f)(plain).item() == f(plain).item() == 60.0  # nothing requires grad
    for gradient in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        with pytest.raises(tj.GradientError, match="while gradients were not recorded"):
            gradient(plain)


def test_a_view_made_under_no_grad_of_a_constant_is_one_like_others():
    def f(x):
        with tj.no_grad():
            y = x * 2
            part = y[:1]
        part.mul_(x[0])
        return y.sum() + part.sum()

    plain = tj.tensor([3.0, 2.0])
    for gradient in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert values(gradient(plain)) == [12, 0]  # 2 (6 x0), and the 6 is a constant


def test_a_leaf_refuses_writes_in_a_trace_too():
    def f(x):
        x[0:1].mul_(3.0)
        return x.sum()

    for gradient in (tj.grad(f), tj.jit(tj.grad(f))):
        with pytest.raises(tj.GradientError, match="leaf tensor that requires grad"):
            gradient(tj.tensor([1.0, 2.0]))
