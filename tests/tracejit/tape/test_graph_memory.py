"""Lifetimes of objects in the graph: no reference cycles, small nodes, values freed on the way."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


class _Squared(tj.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: tj.Tensor) -> tj.Tensor:
        y = x * x
        ctx.save_for_backward(x, y)
        ctx.note = x
        return y

    @staticmethod
    def backward(ctx: Any, g: tj.Tensor) -> tj.Tensor:
        x, _ = ctx.saved_tensors
        return g * 2 * x


class _Doubled(tj.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: tj.Tensor) -> tj.Tensor:
        ctx.mark_dirty(x)
        x.mul_(2.0)
        return x

    @staticmethod
    def backward(ctx: Any, g: tj.Tensor) -> tj.Tensor:
        return g * 2


class _WithConstant(tj.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: tj.Tensor) -> tuple[tj.Tensor, tj.Tensor]:
        rest = x * 0
        ctx.mark_non_differentiable(rest)
        return x * 1, rest

    @staticmethod
    def backward(ctx: Any, g: tj.Tensor, _: Any) -> tj.Tensor:
        return g


_jitted = tj.jit(lambda a: tj.sin(a) * a)


def _chain(w, y, keep):
    for _ in range(3):
        y = y.sin() * y
        keep(y)
    return y


def _in_place(w, y, keep):
    for _ in range(3):
        y.mul_(w)
    return y


def _operators(w, y, keep):
    for _ in range(3):
        y += y * w
        keep(y)
    return y


def _overwritten(w, y, keep):
    z = y * y
    keep(z)
    y.add_(z)
    y.exp_()
    y[0] = y[1]
    y[[1, 2]] = y[3]
    return y


def _through_views(w, y, keep):
    v = y[1:]
    u = v[::2]
    u.mul_(v[::2].sum())
    v[0] = u[1]
    y.reshape(5, 10).T[0].exp_()
    return y


def _a_view(w, y, keep):
    u = y[1:].reshape(7, 7)
    u.mul_(w[0])
    return u


def _detached(w, y, keep):
    v = y.detach()[1:]
    v.mul_(2.0)
    return v * w[1:]


def _hooks(w, y, keep):
    handles = [y.register_hook(lambda g: g * 2), y.grad_fn.register_hook(lambda a, b: None)]
    handles[0].remove()
    w.register_hook(lambda g: None)
    w.register_post_accumulate_grad_hook(lambda x: None)
    z = y * y
    z.register_hook(lambda g: g * y)
    assert y.grad_fn.next_functions
    return z


def _retained(w, y, keep):
    y.retain_grad()
    y.mul_(w)
    z = y * y
    z.retain_grad()
    z.sum().backward(retain_graph=True)
    keep(z.grad)
    keep(w.grad)
    return z


def _function(w, y, keep):
    z = _Squared.apply(y)
    keep(z)
    return z


def _dirty_function(w, y, keep):
    return _Doubled.apply(y) * w


def _function_with_constant(w, y, keep):
    z, rest = _WithConstant.apply(y)
    keep(rest)
    return z * rest


def _packed(w, y, keep):
    with tj.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        z = tj.exp(y * y)
        keep(z)
        z.mul_(y)
    return z


def _checkpointed(w, y, keep):
    return tj.checkpoint(lambda a: tj.sin(a) * a, y) * w


def _jit(w, y, keep):
    z = _jitted(y)
    keep(z)
    return z * z


def _second_order(w, y, keep):
    z = (y * y * y).sum()
    (g,) = tj.autograd.grad(z, w, create_graph=True)
    keep(g)
    (h,) = tj.autograd.grad(g.sum(), y, create_graph=True)
    keep(h)
    return h.sum() * z


def _refused(w, y, keep):
    with pytest.raises(tj.ShapeError):
        y.add_(tj.ones((3, 50)))
    with pytest.raises(tj.GradientError):
        w.add_(1.0)
    return y * w


GRAPHS = [
    _chain, _in_place, _operators, _overwritten, _through_views, _a_view, _detached, _hooks, _retained,
    _function, _dirty_function, _function_with_constant, _packed, _checkpointed, _jit, _second_order,
    _refused,
]  # fmt: skip


@pytest.mark.parametrize("differentiated", [False, True])
@pytest.mark.parametrize("build", GRAPHS)
def test_dropping_the_root_frees_everything(
    build: Callable[[Any, Any, Any], Any], differentiated: bool
) -> None:
    arrays: list[weakref.ref[Any]] = []

    def keep(x: tj.Tensor) -> None:
        data = x.detach().numpy()
        arrays.append(weakref.ref(data if data.base is None else data.base))

    def program() -> None:
        w = tj.tensor(np.ones(50), requires_grad=True)
        y = w * 2
        keep(w)
        keep(y)
        root = build(w, y, keep)
        if differentiated:
            try:
                root.sum().backward()
            except tj.GradientError as error:  # of those that overwrite what was saved
                if "modified in place" not in str(error):
                    raise

    if build is _jit:
        _jitted(tj.ones(50))  # a compiled function stays; what it computed must not
    gc.collect()
    gc.disable()
    try:
        program()
        assert [array() is None for array in arrays] == [True] * len(arrays)
    finally:
        gc.enable()


def test_a_node_is_small() -> None:
    count = 10_000
    x = tj.tensor(np.ones(1), requires_grad=True)
    tracemalloc.start()
    try:
        y = x
        for _ in range(count):
            y = y + x
        per_node = tracemalloc.get_traced_memory()[0] / count
        tracemalloc.reset_peak()
        y.backward()
        peak = tracemalloc.get_traced_memory()[1] / count
    finally:
        tracemalloc.stop()
    assert x.grad is not None
    assert x.grad.item() == count + 1
    # node, two tuples of parents and saved values, types, versions; and the walk's bookkeeping
    assert per_node < 700, f"{per_node:.0f} bytes per node"
    assert peak < per_node + 400, f"{peak:.0f} bytes per node at the peak of backward"


def test_backward_frees_as_it_goes() -> None:
    count, size = 40, 1 << 17
    seen: dict[int, int] = {}
    tracemalloc.start()
    try:
        x = tj.tensor(np.full(size, 1e-3), requires_grad=True)
        y = x
        for i in range(count):
            y = tj.sin(y)
            y.register_hook(lambda g, i=i: seen.__setitem__(i, tracemalloc.get_traced_memory()[0]))
        total = y.sum()
        del y
        total.backward()
    finally:
        tracemalloc.stop()
    arrays = {i: live / (size * 8) for i, live in seen.items()}
    # at node i, what nodes 0 to i saved is alive, the leaf, its cotangent, and a few at work
    for i in (0, 10, 20, 30, 39):
        assert i < arrays[i] < i + 7, arrays


def test_a_loop_of_in_place_writes_keeps_no_old_values_it_does_not_need() -> None:
    size = 1 << 17
    x = tj.tensor(np.ones(size), requires_grad=True)
    y = x * 1
    step = tj.tensor(0.5, requires_grad=True)
    tracemalloc.start()
    try:
        for i in range(30):
            y.add_(step)
            y[i] = step
        live = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert live < 2 * size * 8
    y.sum().backward()
    assert step.grad is not None
    # element i < 30 is written in turn i, and added to 29 - i times after; the others 30 times
    assert step.grad.item() == sum(30 - i for i in range(30)) + 30 * (size - 30)
