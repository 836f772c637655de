"""Hooks, saved-tensor hooks, anomaly detection and modes where eager graphs and jitted functions meet."""

from __future__ import annotations

import gc
import os
import re
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE
from tracejit.tape.recording import _observers

from .functions import Cube

grad, jit = tj.grad, tj.jit
graph = tj.autograd.graph

cubes = jit(lambda x: x * x * x)
total = jit(lambda x: (x * x * x).sum())
pair = jit(lambda x: (x * 2, x * 3))


def leaf(*numbers):
    return tj.tensor(list(numbers), requires_grad=True)


def tolist(gradients):
    return [None if one is None else one.tolist() for one in gradients]


# -- hooks on tensors around a jitted function ----------------------------------------------------


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
    """None for those that were not used, the last ones as well."""
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


# -- saved-tensor hooks ---------------------------------------------------------------------------


def test_what_a_jitted_call_saves_goes_through_hooks():
    """The residuals of the compiled backward, and the arguments that are no leaves, for a second gradient."""
    log = []

    def pack(t):
        log.append(t.tolist())
        return t.tolist()

    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(pack, tj.tensor):
        y = total(x)
    assert sorted(log) == [[1.0, 2.0], [1.0, 4.0]]  # x and x^2
    (g,) = tj.autograd.grad(y, [x], create_graph=True)
    assert g.tolist() == [3.0, 12.0]
    assert tj.autograd.grad(g.sum(), [x])[0].tolist() == [6.0, 12.0]
    log.clear()
    with graph.saved_tensors_hooks(pack, tj.tensor):
        y = total(x * 1)
    assert sorted(log) == [[1.0, 2.0], [1.0, 2.0], [1.0, 4.0]]
    (g,) = tj.autograd.grad(y, [x], create_graph=True)
    assert tj.autograd.grad(g.sum(), [x])[0].tolist() == [6.0, 12.0]


def test_unpack_decides_what_backward_works_with():
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = total(x)
    y.backward()  # ct x^2 + ct x x + ct x x of the residuals x^2 and x: 10 x^2 + 2 * 100 x^2
    assert x.grad.tolist() == [210.0, 840.0]


@pytest.mark.parametrize("keep", [graph.save_on_cpu, graph.save_on_disk])
def test_second_gradients_through_packed_leaves(keep):
    for f in (lambda x: x**3, lambda x: x * x * x, Cube.apply, cubes):
        x = leaf(2.0)
        with keep():
            y = f(x).sum()
        (g,) = tj.autograd.grad(y, [x], create_graph=True)
        assert (g.item(), tj.autograd.grad(g.sum(), [x])[0].item()) == (12.0, 12.0)


def test_save_on_disk_removes_its_files(tmp_path):
    x = leaf(1.0, 2.0)
    with graph.save_on_disk(tmp_path):
        used, dropped = total(x), total(x)
    assert len(os.listdir(tmp_path)) == 4
    used.backward()
    assert len(os.listdir(tmp_path)) == 2
    del dropped
    gc.collect()
    assert os.listdir(tmp_path) == []
    assert x.grad.tolist() == [3.0, 12.0]


def test_save_on_disk_in_a_directory_that_is_not_there(tmp_path):
    x = leaf(1.0, 2.0)
    where = tmp_path / "nowhere"
    with (
        pytest.raises(tj.GradientError, match=r"save_on_disk: cannot make a file in .*nowhere .*pass a dir"),
        graph.save_on_disk(where),
    ):
        x * x
    assert STATE.saved_hooks is None
    assert _observers == [0]
    total(x).backward()
    assert x.grad.tolist() == [3.0, 12.0]


# -- hooks inside a trace -------------------------------------------------------------------------


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


# -- anomaly detection ----------------------------------------------------------------------------


@contextmanager
def anomaly_at(node, function, offset):
    """The block raises, and names `node` and the line `offset` lines into `function`."""
    line = function.__code__.co_firstlineno + offset
    with pytest.raises(tj.GradientError) as failure, tj.autograd.detect_anomaly():
        yield
    assert f"function '{node}' returned nan values in its 0th output" in str(failure.value)
    assert re.search(rf"{os.path.basename(__file__)}:{line}\b", str(failure.value))
    assert not tj.autograd.is_anomaly_enabled()
    assert _observers == [0]


nothing = jit(lambda x: (tj.sqrt(x) * 0).sum())


def test_a_nan_in_a_jitted_function_names_the_line_of_its_call():
    def run(x):
        y = x * 1
        return nothing(y)

    with anomaly_at("JitBackward", run, 2):
        run(leaf(0.0)).backward()


def test_a_nan_in_a_function_names_the_line_that_applied_it():
    class Bad(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, ct):
            return ct * tj.nan

    def run(x):
        return Bad.apply(x)

    with anomaly_at("BadBackward", run, 1):
        run(leaf(0.0)).sum().backward()


def test_anomaly_detection_in_generators_and_threads():
    @tj.autograd.detect_anomaly()
    def running():
        while True:
            yield tj.autograd.is_anomaly_enabled()

    generator = running()
    assert [next(generator), tj.autograd.is_anomaly_enabled(), next(generator)] == [True, False, True]
    generator.close()
    found = []

    def other():
        found.append(tj.autograd.is_anomaly_enabled())
        x = leaf(0.0)
        nothing(x).backward()
        found.append(bool(np.isnan(x.grad.item())))

    with tj.autograd.detect_anomaly():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found == [False, True]
    assert _observers == [0]


def test_no_anomaly_where_gradients_are_numbers():
    x = leaf(1.0, 2.0)
    with tj.autograd.detect_anomaly():
        total(x).backward()
    assert x.grad.tolist() == [3.0, 12.0]


# -- modes ----------------------------------------------------------------------------------------


def test_modes_inside_a_jitted_function_are_those_of_eager_code():
    def f(x):
        with tj.no_grad():
            with tj.enable_grad():
                y = x * 2
            constant = x * 3
        with tj.set_grad_enabled(False):
            also = x * 5
        with tj.inference_mode():
            too = tj.no_grad()(lambda x: x * 7)(x)
        return (y * constant * also * too).sum()

    # 210 x^4, of which one x is differentiated
    x = tj.tensor([1.0, 2.0])
    for way in (grad(f), jit(grad(f)), grad(jit(f))):
        assert way(x).tolist() == [210.0, 1680.0]
    for run in (f, jit(f)):
        given = leaf(1.0, 2.0)
        run(given).backward()
        assert given.grad.tolist() == [210.0, 1680.0]


def test_modes_around_jitted_functions():
    x = leaf(1.0, 2.0)
    for mode in (tj.no_grad(), tj.inference_mode(), tj.set_grad_enabled(False)):
        with mode:
            assert not total(x).requires_grad
            # a gradient asked for explicitly is there in any mode
            assert jit(grad(lambda x: (x * x).sum()))(x.detach()).tolist() == [2.0, 4.0]
            with tj.enable_grad():
                assert total(x).requires_grad
    assert not tj.no_grad()(total)(x).requires_grad
    assert total(x).requires_grad
    assert tj.is_grad_enabled()


def test_a_function_compiled_under_no_grad_is_differentiated_later():
    f = jit(lambda x: (x * x).sum())
    x = leaf(1.0, 2.0)
    with tj.no_grad():
        assert f(x).item() == 5.0
    f(x).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_an_exception_in_a_trace_leaves_modes_as_they_were():
    @jit
    def f(x):
        with tj.no_grad(), tj.inference_mode():
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        f(tj.ones(2))
    assert tj.is_grad_enabled()
    assert not tj.is_inference_mode_enabled()
    assert STATE.tracer is None


def test_modes_of_threads_that_trace_at_once():
    """A thread that traces, and one under no_grad, see nothing of each other."""
    barrier, found = threading.Barrier(2), {}

    def recording():
        def f(x):
            barrier.wait(10)
            y = (x * x).sum()
            barrier.wait(10)
            return y

        found["recording"] = jit(grad(f))(tj.tensor([1.0, 2.0])).tolist()

    def silent():
        with tj.no_grad():
            barrier.wait(10)
            y = leaf(1.0) * 2
            barrier.wait(10)
            found["silent"] = (y.requires_grad, y.is_traced, STATE.tracer)

    threads = [threading.Thread(target=one) for one in (recording, silent)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == {"recording": [2.0, 4.0], "silent": (False, False, None)}
