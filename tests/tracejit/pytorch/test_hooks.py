"""Hooks of tensors, of nodes and on what is saved: as in PyTorch, with its numbers."""

from __future__ import annotations

import pytest

import tracejit as tj

from .common import leaf, refuses, values

# -- tensor hooks ----------------------------------------------------------------------------------


def test_hooks_run_in_order_and_replace_the_gradient():
    x, seen = leaf(1.0, 2.0), []
    x.register_hook(lambda g: seen.append(("first", values(g))) or g * 2)
    x.register_hook(lambda g: seen.append(("second", values(g))) or g + 1)
    (x * 3).sum().backward()
    assert seen == [("first", [3, 3]), ("second", [6, 6])]
    assert values(x.grad) == [7, 7]


def test_a_hook_that_returns_none_changes_nothing():
    x, seen = leaf(1.0, 2.0), []
    x.register_hook(lambda g: seen.append(values(g)))
    (x * 3).sum().backward()
    assert seen == [[3, 3]]
    assert values(x.grad) == [3, 3]


def test_a_hook_on_an_inner_tensor_changes_what_flows_on():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.register_hook(lambda g: g * 10)
    (y * 2).sum().backward()
    assert values(x.grad) == [60, 60]


def test_a_hook_sees_the_sum_once():
    x, seen = leaf(1.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(("y", values(g))))
    x.register_hook(lambda g: seen.append(("x", values(g))))
    (y * 3 + y * 4 + x).sum().backward()
    assert seen == [("y", [7]), ("x", [15])]


def test_a_hook_runs_at_each_backward():
    x, seen = leaf(1.0), []
    x.register_hook(lambda g: seen.append(values(g)))
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [[2], [2]]  # the gradient of this pass, not what has accumulated
    assert values(x.grad) == [4]


def test_a_hook_can_be_removed():
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 100)
    handle.remove()
    handle.remove()
    (x * 3).sum().backward()
    assert values(x.grad) == [3]


def test_a_hook_handle_is_a_context_manager():
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 100):
        (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert values(x.grad) == [303]


def test_a_hook_of_the_wrong_shape():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: tj.ones(3))
    with refuses(tj.ShapeError, "hook", "(2,)", "(3,)"):
        (x * 3).sum().backward()


def test_a_hook_that_returns_no_tensor():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: 3)
    with refuses((tj.GradientError, TypeError), "hook", "int"):
        (x * 3).sum().backward()


def test_a_hook_needs_a_tensor_that_requires_grad():
    with refuses(tj.GradientError, "hook", "require"):
        tj.ones(2).register_hook(lambda g: g)


def test_a_hooks_error_reaches_the_caller():
    x = leaf(1.0)
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * 3).sum().backward()
    assert tj.is_grad_enabled()


def test_retain_grad_sees_what_hooks_made():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    (y * 3).sum().backward()
    assert values(y.grad) == [30]
    assert values(x.grad) == [60]


def test_retain_grad_of_a_written_view_is_of_what_is_computed_from_it():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    view, other = y[1:], y[1:]
    view.retain_grad()
    other.retain_grad()
    view.mul_(3.0)
    (y * y).sum().backward(retain_graph=True)
    assert view.grad is None  # the view is read from the written base, and nothing is computed from it
    (view * other).sum().backward()
    assert values(view.grad) == values(other.grad) == [12, 18]


def test_a_hook_stays_with_the_value_it_was_registered_for():
    x, seen = leaf(1.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(values(g)))
    y.mul_(5.0)
    y.sum().backward()
    assert seen == [[5]]


def test_hooks_run_in_autograd_grad():
    x, seen = leaf(1.0), []
    y = x * 2
    x.register_hook(lambda g: seen.append("x") or g * 10)
    y.register_hook(lambda g: seen.append("y"))
    (g,) = tj.autograd.grad((y * 3).sum(), x)
    assert seen == ["y", "x"]
    assert values(g) == [60]
    assert x.grad is None


def test_hooks_on_an_inner_input_of_autograd_grad():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    (g,) = tj.autograd.grad((y * 3).sum(), y)
    assert values(g) == [30]


def test_hooks_with_create_graph_are_differentiated():
    x = leaf(3.0)
    x.register_hook(lambda g: g * g)
    (g,) = tj.autograd.grad((x * x).sum(), x, create_graph=True)
    assert values(g) == [36]
    assert values(tj.autograd.grad(g.sum(), x)[0]) == [576]


def test_post_accumulate_hooks_see_grad():
    x, seen = leaf(1.0, 2.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, values(p.grad))))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert seen == [(True, [3, 3]), (True, [6, 6])]


def test_post_accumulate_hooks_may_clear_grad():
    x = leaf(1.0, 2.0)

    def step(p):
        with tj.no_grad():
            p.sub_(p.grad)
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    assert x.grad is None
    assert values(x) == [-2, -1]
    handle.remove()
    (x * 3).sum().backward()
    assert values(x.grad) == [3, 3]


def test_post_accumulate_hooks_are_for_leaves():
    with refuses(tj.GradientError, "leaf"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(lambda p: None)


def test_post_accumulate_hooks_do_not_run_in_autograd_grad():
    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(1))
    tj.autograd.grad((x * 3).sum(), x)
    assert seen == []


# -- node hooks ------------------------------------------------------------------------------------


def test_a_node_prehook_replaces_its_output_gradients():
    x, seen = leaf(1.0), []
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: seen.append([values(g) for g in grads]) or (grads[0] * 10,))
    (y * 3).sum().backward()
    assert seen == [[[3]]]
    assert values(x.grad) == [60]


def test_a_node_hook_sees_both_sides_and_replaces_its_input_gradients():
    x, w, seen = leaf(2.0), leaf(5.0), []

    def hook(grad_inputs, grad_outputs):
        seen.append(([values(g) for g in grad_inputs], [values(g) for g in grad_outputs]))
        return tuple(g + 1 for g in grad_inputs)

    y = x * w
    y.grad_fn.register_hook(hook)
    (y * 3).sum().backward()
    assert seen == [([[15], [6]], [[3]])]
    assert values(x.grad) == [16]
    assert values(w.grad) == [7]


def test_node_hooks_can_be_removed():
    x = leaf(1.0)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,)).remove()
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(g * 10 for g in inputs if g is not None)).remove()
    y.sum().backward()
    assert values(x.grad) == [2]


def test_tensor_hooks_run_before_node_prehooks():
    seen = []
    y = leaf(1.0) * 2
    y.grad_fn.register_prehook(lambda grads: seen.append("node"))
    y.register_hook(lambda g: seen.append("tensor"))
    y.sum().backward()
    assert seen == ["tensor", "node"]


def test_hooks_on_the_end_of_the_graph():
    x, seen = leaf(1.0), []
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    assert node.name().endswith("AccumulateGrad")
    assert node.variable is x
    node.register_prehook(lambda grads: seen.append(("before", values(grads[0]), x.grad)))
    node.register_hook(lambda _, grads: seen.append(("after", values(grads[0]), values(x.grad))))
    y.sum().backward()
    assert seen == [("before", [2], None), ("after", [2], [2])]


def test_the_end_of_the_graph_is_one_node():
    x = leaf(1.0)
    y, z = x * 2, x + 1
    assert y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0]


# -- hooks on what is saved ------------------------------------------------------------------------


def test_saved_tensors_are_packed_and_unpacked():
    x, w, seen = leaf(2.0), leaf(5.0), []

    def pack(t):
        seen.append(("pack", values(t)))
        return ("packed", t.detach().tolist())

    def unpack(packed):
        seen.append(("unpack", packed[1]))
        return tj.tensor(packed[1])

    with tj.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * w
    assert sorted(seen) == [("pack", [2]), ("pack", [5])]
    del seen[:]
    y.sum().backward()
    assert sorted(seen) == [("unpack", [2]), ("unpack", [5])]
    assert values(x.grad) == [5]
    assert values(w.grad) == [2]


def test_saved_results_are_packed():
    x = leaf(0.0)
    with tj.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 3, lambda t: t):
        y = tj.exp(x)
    y.sum().backward()
    assert values(x.grad) == [3]


def test_saved_tensors_are_unpacked_at_each_use():
    x, seen = leaf(2.0), []
    with tj.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append(1) or t):
        y = tj.exp(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(seen) == 2


def test_the_innermost_hooks_on_saved_tensors_apply():
    x, seen = leaf(2.0), []

    def hooks(name):
        return tj.autograd.graph.saved_tensors_hooks(lambda t: seen.append(name) or t, lambda t: t)

    with hooks("outer"):
        with hooks("inner"):
            tj.exp(x)
        tj.exp(x)
    tj.exp(x)
    assert seen == ["inner", "outer"]


def test_hooks_on_saved_tensors_are_not_packed_themselves():
    x, calls = leaf(2.0), []

    def pack(t):
        calls.append(1)
        return t * t  # operations inside are neither recorded nor packed

    with tj.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = tj.exp(x)
    assert len(calls) == 1
    assert y.requires_grad


def test_unpack_must_return_a_tensor():
    with tj.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = tj.exp(leaf(2.0))
    with refuses((tj.GradientError, TypeError), "unpack", "int"):
        y.sum().backward()


def test_pack_must_not_write_to_its_argument():
    with (
        refuses(tj.GradientError, "pack", "place"),
        tj.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2.0), lambda t: t),
    ):
        x = leaf(2.0) * 1
        x * x


def test_save_on_cpu():
    x = leaf(2.0, 3.0)
    with tj.autograd.graph.save_on_cpu():
        y = (x * x * x).sum()
    y.backward()
    assert values(x.grad) == [12, 27]
