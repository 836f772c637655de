"""Hooks on tensors and nodes where eager graphs and jitted functions meet."""

from __future__ import annotations

import pytest

import tracejit as tj
from tracejit.state import STATE

from .common import cubes, grad, graph, jit, leaf, pair, tolist, total


def test_a_hook_on_what_goes_in():
    x, seen = leaf(1.0, 2.0), []
    a = x * 2
    a.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    total(a).backward()
    assert seen == [[12.0, 48.0]]
    assert x.grad.tolist() == [240.0, 960.0]


def test_a_hook_on_a_leaf_that_goes_in_and_on_a_captured_one():
    x, w, seen = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    w.register_hook(lambda g: seen.append(("w", g.tolist())) or -g)
    jit(lambda x: (x * w).sum())(x).backward()
    assert sorted(seen) == [("w", [1.0, 2.0]), ("x", [3.0, 4.0])]
    assert w.grad.tolist() == [-1.0, -2.0]


def test_a_hook_on_what_comes_out_and_retain_grad():
    x, seen = leaf(1.0, 2.0), []
    y = cubes(x)
    y.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
    y.retain_grad()
    y.sum().backward()
    assert seen == [[1.0, 1.0]]
    assert y.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [30.0, 120.0]


def test_hooks_on_one_of_several_outputs():
    x, seen = leaf(1.0, 2.0), []
    a, b = pair(x)
    a.register_hook(lambda g: seen.append("a"))
    b.register_hook(lambda g: seen.append("b") or g * 100)
    b.sum().backward(retain_graph=True)
    assert (seen, x.grad.tolist()) == (["b"], [300.0, 300.0])
    (a + b).sum().backward()
    assert (sorted(seen), x.grad.tolist()) == (["a", "b", "b"], [602.0, 602.0])


def test_pre_and_post_hooks_of_the_node():
    x, seen = leaf(1.0, 2.0), []
    y = cubes(x)
    assert y.grad_fn.name() == "JitBackward"
    y.grad_fn.register_prehook(lambda outs: seen.append(("pre", tolist(outs))) or (outs[0] * 2,))
    y.grad_fn.register_hook(
        lambda ins, outs: seen.append(("post", tolist(ins), tolist(outs))) or (ins[0] + 1,)
    )
    y.sum().backward()
    assert seen == [("pre", [[1.0, 1.0]]), ("post", [[6.0, 24.0]], [[2.0, 2.0]])]
    assert x.grad.tolist() == [7.0, 25.0]


@pytest.mark.parametrize("used", [0, 1])
def test_a_prehook_sees_each_output(used):
    """Outputs that were not used are None, the last ones as well."""
    x, seen = leaf(1.0, 2.0), []
    outputs = pair(x)
    node = outputs[0].grad_fn
    node.register_prehook(lambda outs: seen.append(tolist(outs)))
    node.register_hook(lambda ins, outs: seen.append(tolist(outs)))
    outputs[used].sum().backward(retain_graph=True)
    expected = [None, None]
    expected[used] = [1.0, 1.0]
    assert seen == [expected, expected]
    node.register_prehook(lambda outs: (tj.ones(2), tj.ones(2)))
    x.grad = None
    outputs[used].sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_prehook_of_a_function_sees_each_output():
    class Both(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            return a * 2 + b * 3

    seen = []
    a, _ = Both.apply(leaf(1.0))
    a.grad_fn.register_prehook(lambda outs: seen.append(tolist(outs)))
    a.sum().backward()
    assert seen == [[[1.0], None]]


def test_hooks_with_create_graph_are_differentiated():
    """The hook makes g = 3 x^2 y, and runs again where the second backward comes to y: there dg/dy = 3 x^2
    becomes 3 x^2 y, so that the second gradient is 6 x y + 9 x^4 y. Numbers are PyTorch's."""
    x = leaf(1.0, 2.0)
    y = cubes(x)
    y.register_hook(lambda g: g * y)
    (g,) = tj.autograd.grad(y.sum(), [x], create_graph=True)
    assert g.tolist() == [3.0, 96.0]
    (gg,) = tj.autograd.grad(g.sum(), [x])
    assert gg.tolist() == [15.0, 1248.0]


def test_a_hook_that_raises():
    x = leaf(1.0, 2.0)
    y = cubes(x)
    handle = y.register_hook(lambda g: 1 / 0)
    z = y.sum()
    with pytest.raises(ZeroDivisionError):
        z.backward()
    assert (x.grad, STATE.recording, STATE.tracer, STATE.walk) == (None, True, None, None)
    handle.remove()
    z.backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_backward_inside_a_hook():
    x, w, seen = leaf(1.0, 2.0), leaf(3.0), []
    y = cubes(x)

    def hook(g):
        seen.append(tj.is_grad_enabled())
        with tj.enable_grad():
            (x * 5).sum().backward()
            total(w).backward()
            seen.append(tj.autograd.grad(total(w), [w])[0].item())
        return g * 2

    y.register_hook(hook)
    y.sum().backward()
    assert seen == [False, 27.0]
    assert w.grad.item() == 27.0
    assert x.grad.tolist() == [5.0 + 6.0, 5.0 + 24.0]


def test_a_hook_that_removes_another_and_one_that_adds_one():
    """Both take effect at the next backward, as PyTorch's."""
    y, seen, handles = leaf(1.0) * 1, [], []

    def first(g):
        seen.append("first")
        handles[1].remove()
        y.register_hook(lambda g: seen.append("new"))

    handles += [y.register_hook(first), y.register_hook(lambda g: seen.append("second"))]
    y.sum().backward(retain_graph=True)
    assert seen == ["first", "second"]
    handles[0].remove()
    y.sum().backward()
    assert seen == ["first", "second", "new"]


def test_a_post_accumulate_hook_that_steps_and_frees():
    x, steps = leaf(1.0, 2.0), []

    def step(p):
        steps.append(p.grad.tolist())
        with tj.no_grad():
            p -= 0.5 * p.grad
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    total(x).backward()
    assert (steps, x.tolist(), x.grad) == ([[3.0, 12.0]], [-0.5, -4.0], None)
    total(x).backward()
    assert (steps[1], x.tolist()) == ([0.75, 48.0], [-0.875, -28.0])


# -- hooks of several tensors ---------------------------------------------------------------------


def test_a_hook_of_several_tensors_runs_once_a_backward():
    x, w, seen = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    a, b = x * 1, w * 1
    handle = graph.register_multi_grad_hook([a, b], lambda gs: seen.append(tolist(gs)))
    y = jit(lambda a, b: (a * b).sum())(a, b)
    y.backward(retain_graph=True)
    assert seen == [[[3.0, 4.0], [1.0, 2.0]]]
    a.sum().backward(retain_graph=True)  # comes to one of them only
    assert seen[1:] == [[[1.0, 1.0], None]]
    tj.autograd.grad(y, [w], retain_graph=True)
    assert seen[2:] == [[None, [1.0, 2.0]]]
    handle.remove()
    y.backward()
    assert len(seen) == 3


def test_a_hook_of_several_tensors_begins_anew_after_an_error():
    x, w, seen = leaf(1.0), leaf(2.0), []
    graph.register_multi_grad_hook([x, w], lambda gs: seen.append(tolist(gs)))
    y = x * 1
    bad = y.register_hook(lambda g: 1 / 0)
    z = (w * 3).sum() + y.sum()
    with pytest.raises(ZeroDivisionError):
        z.backward(retain_graph=True)
    bad.remove()
    seen.clear()
    z.backward()
    assert seen == [[[1.0], [3.0]]]


def test_hooks_of_several_tensors_in_backwards_within_each_other():
    x, w, seen = leaf(1.0), leaf(2.0), []
    graph.register_multi_grad_hook([x, w], lambda gs: seen.append(tolist(gs)))

    def hook(g):
        with tj.enable_grad():
            (x * 7).sum().backward()

    y = x * 1
    y.register_hook(hook)
    (y * w).sum().backward()
    assert sorted(seen, key=str) == sorted([[[7.0], None], [[2.0], [1.0]]], key=str)


def test_hooks_on_the_tape_of_a_trace():
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda c: seen.append(c.is_traced) or c * 10)
        return (y * y).sum()

    # 8 x times 10
    assert grad(f)(tj.tensor([1.0, 2.0])).tolist() == [80.0, 160.0]
    compiled = jit(grad(f))
    assert compiled(tj.tensor([1.0, 2.0])).tolist() == [80.0, 160.0]
    assert compiled(tj.tensor([2.0, 3.0])).tolist() == [160.0, 240.0]
    assert seen == [False, True]


def test_hooks_under_jit_need_a_tape():
    def hooked(x):
        (x * 2).register_hook(lambda g: g)
        return x

    with pytest.raises(tj.GradientError, match=r"inside a jitted function use tj\.autograd\.Function"):
        jit(hooked)(tj.ones(2))
    for method in ("retain_grad", "register_post_accumulate_grad_hook"):

        def f(x, method=method):
            getattr(x, method)(*[lambda t: None] * (method != "retain_grad"))
            return x

        with pytest.raises(tj.GradientError, match="require"):
            jit(f)(tj.ones(2))
    assert STATE.tracer is None
