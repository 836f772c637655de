"""Threads that share tensors: no view is lost, modes and traces stay in their thread."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*bodies: Callable[[], Any]) -> list[Any]:
    """Run the bodies at once, each in its own thread, and return their results; raise what one raised."""
    barrier = threading.Barrier(len(bodies))
    results: list[Any] = [None] * len(bodies)
    errors: list[BaseException] = []

    def run(number: int, body: Callable[[], Any]) -> None:
        try:
            barrier.wait(30)
            results[number] = body()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=numbered) for numbered in enumerate(bodies)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    if errors:
        raise errors[0]
    return results


def test_first_views_made_at_once_are_all_known() -> None:
    w = tj.tensor(2.0, requires_grad=True)
    for _ in range(150):
        base = tj.zeros(4)
        views = together(*[lambda base=base: base[1:]] * 4)
        base[1] = w
        assert [view.requires_grad for view in views] == [True] * 4
        assert {id(view._memory) for view in views} == {id(base._memory)}


def test_threads_that_make_and_drop_views_of_one_tensor() -> None:
    base = tj.tensor(np.arange(8.0))
    w = tj.tensor(2.0, requires_grad=True)

    def views() -> list[Any]:
        kept = []
        for i in range(600):
            kept += [base[i % 4 :]] * (i % 50 == 0)
            base[1:3][::-1].reshape(2, 1)
        return kept

    def writes() -> None:
        for _ in range(60):
            base[0] = w

    kept = [*together(views, views, writes)]
    base[0] = w * 3
    for tensor in [*kept[0], *kept[1]]:
        assert tensor.requires_grad
    sum((tensor.sum() for tensor in kept[0]), tj.tensor(0.0)).backward()
    assert w.grad is not None
    assert w.grad.item() == 3.0 * sum(i % 4 == 0 for i in range(0, 600, 50))


def test_threads_that_differentiate_graphs_over_shared_leaves_and_views() -> None:
    w = tj.tensor(np.arange(4.0), requires_grad=True)
    part = w[1:]
    expected = np.array([0.0, 6.0, 12.0, 18.0])  # of 2 w^2 + w^2, without the first

    def gradients() -> None:
        for _ in range(100):
            y = part * part
            y[:].mul_(2.0)
            total = y.sum() + (w[1:] * part).sum()
            (g,) = tj.autograd.grad(total, w)
            np.testing.assert_array_equal(g.numpy(), expected)

    together(gradients, gradients)


def test_hooks_run_in_the_thread_of_backward() -> None:
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    seen: list[int] = []

    def hooked() -> tj.Tensor:
        y = w * 2
        y.register_hook(lambda g: seen.append(threading.get_ident()))
        return y.sum()

    roots = together(hooked, hooked)
    for root in roots:
        root.backward()
    assert seen == [threading.get_ident()] * 2
    assert w.grad is not None
    assert w.grad.tolist() == [4, 4]


def test_modes_and_traces_are_of_one_thread() -> None:
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    inside, leave = threading.Event(), threading.Event()

    def unrecorded() -> bool:
        with tj.no_grad():
            inside.set()
            leave.wait(30)
            return (w * 2).requires_grad

    def traced() -> Any:
        inside.wait(30)
        result = tj.jit(lambda x: x[::-1].copy() * 2)(w.detach())
        y = w * 2
        y[:1].mul_(3.0)
        leave.set()
        return result.tolist(), y.requires_grad, tj.autograd.grad(y.sum(), w)[0].tolist()

    assert together(unrecorded, traced) == [False, ([4, 2], True, [6, 2])]
