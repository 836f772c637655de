"""Writes in place: what random programs found, as single cases, and what must leave no trace behind."""

from __future__ import annotations

import tracemalloc

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
        view, copy = x[0, ...], x[0]
        x.mul_(10.0)
        assert (values(view), values(copy)) == (10.0, 1.0)
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


def test_what_a_transform_differentiates_by_is_no_leaf():
    def f(x):
        x[0:1].mul_(3.0)
        return (x * x).sum()

    for gradient in (tj.grad(f), tj.jit(tj.grad(f))):
        x = tj.tensor([1.0, 2.0])
        assert gradient(x).tolist() == [18.0, 4.0]
        assert x.tolist() == [1.0, 2.0]


def test_a_leaf_refuses_writes_in_a_trace_too():
    def f(x):
        x.requires_grad_()
        x[0:1].mul_(3.0)
        return x.sum()

    with pytest.raises(tj.GradientError, match="leaf tensor that requires grad"):
        tj.jit(f)(tj.tensor([1.0, 2.0]))


# -- writes and errors --------------------------------------------------------------------------------


def _plain() -> tj.Tensor:
    return tj.tensor([1.0, 2.0, 3.0])


def _recorded() -> tj.Tensor:
    return leaf(1.0, 2.0, 3.0) * 1


BAD_WRITES = {
    "shape": (lambda x: x.add_(tj.ones((2, 3))), tj.ShapeError),
    "broadcast": (lambda x: x.mul_(tj.ones(2)), tj.ShapeError),
    "dtype": (lambda x: x.clamp_("a", None), tj.DTypeError),
    "index": (lambda x: x.__setitem__(3, 0.0), tj.OutOfBoundsError),
    "indices": (lambda x: x.__setitem__(np.array([0, 3]), 0.0), tj.OutOfBoundsError),
    "rank": (lambda x: x.__setitem__((0, 0), 0.0), tj.OutOfBoundsError),
    "values": (lambda x: x.__setitem__(slice(0, 2), [1.0, 2.0, 3.0]), tj.ShapeError),
    "scattered": (lambda x: x.__setitem__([0, 1], tj.ones(3)), tj.ShapeError),
    "mask": (lambda x: x.__setitem__(np.array([True, False]), 0.0), tj.ShapeError),
    "text": (lambda x: x.__setitem__(0, "a"), tj.DTypeError),
    "complex": (lambda x: x.__setitem__(0, 1j), tj.DTypeError),
    "fill": (lambda x: x.fill_(tj.ones(3)), tj.ShapeError),
    "not a mask": (lambda x: x.masked_fill_(tj.ones(3), 1.0), tj.DTypeError),
}


@pytest.mark.parametrize("make", [_plain, _recorded])
@pytest.mark.parametrize("name", BAD_WRITES)
def test_a_failed_write_changes_nothing(name, make):
    write, error = BAD_WRITES[name]
    base = make()
    view = base[:]
    for x in (base, view):
        node, version = x.grad_fn, (x._memory or [0])[0]
        with pytest.raises(error):
            write(x)
        assert values(base) == values(view) == [1, 2, 3]
        assert (x._memory or [0])[0] == version
        assert x.grad_fn is node


def test_a_write_whose_saved_value_cannot_be_packed_changes_nothing():
    x = _recorded()
    node = x.grad_fn

    def refuse(saved):
        raise RuntimeError("no room")

    with tj.autograd.graph.saved_tensors_hooks(refuse, lambda tensor: tensor):
        for write in (lambda: x.mul_(leaf(2.0)), lambda: x.__setitem__([0, 1], leaf(5.0, 6.0) * 1)):
            with pytest.raises(RuntimeError, match="no room"):
                write()
    assert values(x) == [1, 2, 3]
    assert x.grad_fn is node


@pytest.mark.parametrize("recorded", [False, True])
def test_read_only_memory_cannot_be_written(recorded):
    for array in (np.broadcast_to(1.0, (3,)), np.frombuffer(bytes(24)), tj.broadcast_to([1.0], (3,))):
        x = array if isinstance(array, tj.Tensor) else tj.asarray(array)
        value = leaf(2.0)[0] * 1 if recorded else 2.0
        for write in (
            lambda x, v: x.add_(v),
            lambda x, v: x.__setitem__(0, v),
            lambda x, v: x.__setitem__([0, 1], v),
            lambda x, v: x[:2].mul_(v),
        ):
            before = values(x)
            with pytest.raises(tj.TracejitError, match="read-only"):
                write(x, value)
            assert values(x) == before
            assert x.is_leaf


def test_a_number_that_an_integer_cannot_hold():
    x = tj.tensor([1, 2], dtype=tj.uint8)
    for value in (float("nan"), 300, -1):
        with pytest.raises(tj.DTypeError, match="does not fit"):
            x[0] = value
    x[0] = 2.75
    assert values(x) == [2, 2]


@pytest.mark.parametrize("make", [_plain, _recorded])
def test_overlapping_writes_read_first(make):
    x = make()
    x[...] = x[::-1]
    assert values(x) == [3, 2, 1]
    x[1:] = x[:-1]
    assert values(x) == [3, 3, 2]
    x[[2, 1, 0]] = x
    assert values(x) == [2, 3, 3]
    x[1:].sub_(x[:-1])
    assert values(x) == [2, 1, 0]


def test_recorded_writes_of_elements_cost_what_they_write():
    x = tj.zeros(1 << 22) * leaf(1.0)
    value = leaf(2.0)[0] * 1
    tracemalloc.start()
    try:
        for i in range(4):
            x[i] = value
            x[[i, i + 1]] = value
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20  # of 32 MiB
    assert values(x[:6]) == [2, 2, 2, 2, 2, 0]


@pytest.mark.parametrize("shape", [(0,), (2, 0), ()])
def test_empty_and_rank_0(shape):
    x = tj.ones(shape) * leaf(3.0).sum()
    x.mul_(2.0)
    x[...] = x * 2
    x.reshape(-1).add_(1.0)
    # a view of a scalar has memory of its own
    assert values(x) == (12.0 if shape == () else np.zeros(shape).tolist())
    total = x.sum()
    total.backward()


@pytest.mark.parametrize("make", [_plain, _recorded])
def test_new_data_is_no_longer_shared_with_views(make):
    x = make()
    view, other = x[1:], x[:1]
    x.data = np.array([5.0, 6.0, 7.0])
    view.mul_(2.0)
    x.mul_(10.0)
    assert (values(x), values(view), values(other)) == ([50, 60, 70], [4, 6], [1])
    other.data = np.array([8.0])
    view.mul_(2.0)
    other.mul_(2.0)
    assert (values(x), values(view), values(other)) == ([50, 60, 70], [8, 12], [16])


def test_new_data_of_a_tensor_has_the_gradient_of_its_own_writes():
    x = leaf(1.0, 2.0)
    y = x * 1
    view = y[1:]
    y.data = np.array([5.0, 6.0])
    view.mul_(2.0)
    y.mul_(10.0)
    y.sum().backward()
    assert values(x.grad) == [10, 10]


def test_a_captured_tensor_and_its_views_cannot_be_written_in_a_trace():
    captured = tj.tensor([1.0, 2.0])
    view = captured[1:]

    def blocked(x):
        with tj.no_grad():
            captured[:1].add_(1.0)
        return x

    def fresh(x):
        captured[1:][0] = x[0]
        return x

    for write in (blocked, fresh, lambda x: captured.add_(x), lambda x: view.__setitem__(0, x[0])):
        with pytest.raises(tj.TraceError, match="from outside the traced function"):
            tj.jit(write)(tj.tensor([1.0, 2.0]))
    assert values(captured) == [1, 2]
