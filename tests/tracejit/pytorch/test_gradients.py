"""Leaves and their ``grad``, ``backward`` and ``autograd.grad``: as in PyTorch, with its numbers."""

from __future__ import annotations

import pytest

import tracejit as tj

from .common import leaf, refuses, values

# -- leaves and .grad ------------------------------------------------------------------------------


def test_retain_grad():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    assert not x.retains_grad
    (y * 3).sum().backward()
    assert values(y.grad) == [3]


def test_retain_grad_on_a_leaf_changes_nothing():
    x = leaf(1.0)
    x.retain_grad()
    assert not x.retains_grad
    (x * 3).sum().backward()
    assert values(x.grad) == [3]


def test_retain_grad_needs_requires_grad():
    with refuses(tj.GradientError, "retain_grad", "requires_grad"):
        tj.ones(1).retain_grad()


def test_retain_grad_follows_the_tensor_through_a_write():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(10.0)
    (y * 3).sum().backward()
    assert values(y.grad) == [3]
    assert values(x.grad) == [60]


def test_grad_of_an_inner_tensor_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None


def test_leaves():
    x = leaf(1.0)
    assert x.is_leaf
    assert tj.ones(2).is_leaf
    assert (tj.ones(2) * 2).is_leaf
    assert not (x * 2).is_leaf
    assert (x * 2).detach().is_leaf
    with tj.no_grad():
        assert (x * 2).is_leaf


def test_requires_grad_on_integers():
    with refuses((tj.GradientError, tj.DTypeError), "floating"):
        tj.tensor([1, 2]).requires_grad_()
    with refuses((tj.GradientError, tj.DTypeError), "floating"):
        tj.tensor([1, 2], requires_grad=True)


def test_requires_grad_of_an_inner_tensor_stays():
    y = leaf(1.0) * 2
    assert y.requires_grad_() is y
    with refuses(tj.GradientError, "leaf"):
        y.requires_grad_(False)


def test_requires_grad_can_be_switched_off_on_a_leaf():
    x = leaf(1.0)
    y = x * 2
    x.requires_grad_(False)
    assert not (x * 2).requires_grad
    assert y.requires_grad


def test_grad_must_fit():
    x = leaf(1.0, 2.0)
    with pytest.raises((tj.GradientError, tj.ShapeError)):
        x.grad = tj.ones(3)
    with pytest.raises((tj.GradientError, tj.ShapeError, TypeError)):
        x.grad = 3.0
    x.grad = tj.ones(2)
    (x * 2).sum().backward()
    assert values(x.grad) == [3, 3]


def test_gradients_accumulate_into_the_same_tensor():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert values(first) == [6, 6]


def test_gradients_accumulate_into_a_new_tensor_with_create_graph():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    assert values(first) == [2, 4]
    assert values(x.grad) == [4, 8]
    assert x.grad.requires_grad


def test_gradients_do_not_share_memory():
    x, y = leaf(1.0), leaf(2.0)
    (x + y).sum().backward()
    x.grad.add_(5.0)
    assert values(y.grad) == [1]


# -- backward and grad -----------------------------------------------------------------------------


def test_backward_twice():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad) == [4, 8]
    with refuses(tj.GradientError, "second time", "retain_graph=True"):
        y.backward()


def test_backward_twice_through_what_saved_nothing():
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert values(x.grad) == [2, 2]


def test_backward_of_shared_history():
    x = leaf(1.0, 2.0)
    shared = x * x
    shared.sum().backward()
    with refuses(tj.GradientError, "second time"):
        (shared * 2).sum().backward()


def test_backward_needs_a_scalar_or_a_gradient():
    y = leaf(1.0, 2.0) * 2
    with refuses(tj.GradientError, "implicitly", "scalar"):
        y.backward()


def test_backward_of_one_element():
    x = tj.tensor([[2.0]], requires_grad=True)
    (x * 3).backward()
    assert values(x.grad) == [[3]]


def test_backward_with_a_zero_dimensional_gradient():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward(tj.tensor(3.0))
    assert values(x.grad) == [6, 6]


def test_backward_with_a_gradient_of_the_wrong_shape():
    x = leaf(1.0, 2.0)
    with refuses((tj.GradientError, tj.ShapeError), "shape"):
        (x * 2).sum().backward(tj.ones(2))
    with refuses((tj.GradientError, tj.ShapeError), "shape"):
        (x * 2).backward(tj.ones(3))


def test_backward_of_what_does_not_require_grad():
    with refuses(tj.GradientError, "does not require grad"):
        tj.ones(2).sum().backward()
    with refuses(tj.GradientError, "does not require grad"):
        (leaf(1.0) > 0).sum().backward()
    with refuses(tj.GradientError, "does not require grad"):
        tj.autograd.grad(tj.tensor([1, 2]).sum(), leaf(1.0))


def test_backward_into_chosen_inputs():
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    (y * 3).sum().backward(inputs=[x])
    assert values(x.grad) == [6]
    assert w.grad is None


def test_backward_into_an_inner_tensor():
    x = leaf(1.0)
    y = x * 2
    (y * 3).sum().backward(inputs=[y])
    assert values(y.grad) == [3]
    assert x.grad is None


def test_backward_into_a_single_tensor_and_into_none():
    x = leaf(1.0)
    (x * 3).sum().backward(inputs=x)
    assert values(x.grad) == [3]
    with refuses(tj.GradientError, "inputs", "empty"):
        (x * 3).sum().backward(inputs=[])


def test_backward_of_several_roots():
    x = leaf(1.0, 2.0)
    tj.autograd.backward([(x * 2).sum(), x * 3], [None, tj.tensor([1.0, 10.0])])
    assert values(x.grad) == [5, 32]


def test_backward_of_a_root_inside_another_roots_graph():
    x = leaf(2.0)
    y = x * 3
    z = y * y
    tj.autograd.backward([z, y], [tj.ones(1), tj.ones(1)])
    assert values(x.grad) == [39]


def test_backward_of_a_leaf():
    x = tj.tensor(2.0, requires_grad=True)
    x.backward()
    assert values(x.grad) == 1
    assert values(tj.autograd.grad(x, x)[0]) == 1


def test_backward_with_the_wrong_number_of_gradients():
    x = leaf(1.0)
    with refuses(tj.GradientError, "2", "1"):
        tj.autograd.backward([x * 2, x * 3], [tj.ones(1)])


def test_backward_leaves_what_is_not_reached():
    x, w = leaf(1.0), leaf(2.0)
    (x * 2).sum().backward()
    assert w.grad is None


def test_backward_with_create_graph():
    x = leaf(2.0)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    x.grad = None
    g.sum().backward()
    assert values(x.grad) == [12]


def test_backward_keeps_the_graph_with_create_graph():
    x = leaf(2.0)
    y = (x**3).sum()
    tj.autograd.grad(y, x, create_graph=True)
    assert values(tj.autograd.grad(y, x)[0]) == [12]


def test_grad_leaves_grad_alone():
    x = leaf(2.0)
    (g,) = tj.autograd.grad((x * x).sum(), x)
    assert values(g) == [4]
    assert x.grad is None
    assert not g.requires_grad


def test_grad_of_inner_tensors():
    x = leaf(2.0)
    y = x * 3
    gx, gy = tj.autograd.grad((y * y).sum(), [x, y])
    assert (values(gx), values(gy)) == ([36], [12])


def test_grad_of_several_outputs_with_their_gradients():
    x = leaf(1.0, 2.0)
    (g,) = tj.autograd.grad([x * 2, (x * x).sum()], x, [tj.tensor([1.0, 10.0]), None])
    assert values(g) == [4, 24]


def test_grad_of_an_unused_input():
    x, w = leaf(1.0), leaf(2.0)
    with refuses(tj.GradientError, "allow_unused=True"):
        tj.autograd.grad((x * 2).sum(), [x, w])
    g, h = tj.autograd.grad((x * 2).sum(), [x, w], allow_unused=True)
    assert values(g) == [2]
    assert h is None


def test_grad_materializes():
    x, w = leaf(1.0), leaf(2.0, 3.0)
    _, h = tj.autograd.grad((x * 2).sum(), [x, w], materialize_grads=True)
    assert values(h) == [0, 0]
    with refuses((tj.GradientError, ValueError), "allow_unused", "materialize_grads"):
        tj.autograd.grad((x * 2).sum(), [x, w], allow_unused=False, materialize_grads=True)


def test_grad_of_an_input_that_does_not_require_grad():
    with refuses(tj.GradientError, "does not require grad"):
        tj.autograd.grad((leaf(1.0) * 2).sum(), tj.ones(1))


def test_grad_of_an_input_that_is_given_twice():
    x = leaf(3.0)
    g, h = tj.autograd.grad((x * x).sum(), [x, x])
    assert values(g) == values(h) == [6]


def test_grad_of_a_batch_of_cotangents():
    x = leaf(1.0, 2.0)
    (g,) = tj.autograd.grad(x * x, x, tj.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), is_grads_batched=True)
    assert values(g) == [[2, 0], [0, 4], [2, 4]]


def test_grad_of_a_batch_of_scalar_cotangents():
    x = leaf(1.0, 2.0)
    (g,) = tj.autograd.grad((x * x).sum(), x, tj.tensor([1.0, 10.0]), is_grads_batched=True)
    assert values(g) == [[2, 4], [20, 40]]


def test_grad_of_a_batch_that_does_not_fit():
    x = leaf(1.0, 2.0)
    with refuses((tj.GradientError, tj.ShapeError), "shape"):
        tj.autograd.grad(x * x, x, tj.ones((3, 4)), is_grads_batched=True)


def test_grad_of_a_batch_of_several_outputs_and_inputs():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seeds = [tj.tensor([[1.0, 0.0], [0.0, 1.0]]), tj.tensor([1.0, 2.0])]
    g, h = tj.autograd.grad([x * w, w.sum()], [x, w], seeds, is_grads_batched=True)
    assert values(g) == [[3, 0], [0, 4]]
    assert values(h) == [[2, 1], [2, 4]]


def test_grad_of_a_batch_can_be_differentiated():
    x = leaf(1.0, 2.0)
    seeds = tj.tensor([[1.0, 0.0], [0.0, 1.0]])
    (g,) = tj.autograd.grad(x**3, x, seeds, is_grads_batched=True, create_graph=True)
    assert values(tj.autograd.grad(g.sum(), x)[0]) == [6, 12]


def test_graphs_deeper_than_the_stack():
    x = leaf(1.0)
    y = x
    for _ in range(20000):
        y = y + 1
    y.sum().backward()
    assert values(x.grad) == [1]
