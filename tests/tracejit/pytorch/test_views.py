"""Views share memory, and gradients follow writes through them: as in PyTorch, with its numbers."""

from __future__ import annotations

import tracejit as tj

from .common import leaf, refuses, values


def test_writing_to_a_view_changes_the_base():
    x = leaf(3.0, 4.0)
    y = x * 1
    v = y[0:1]
    v.mul_(2)
    assert values(y) == [6, 4]
    y.sum().backward()
    assert values(x.grad) == [2, 1]


def test_adding_to_a_view():
    x = leaf(3.0, 4.0)
    y = x * 1
    v = y[0:1]
    v += x[1] * 3
    assert values(y) == [15, 4]
    (y * tj.tensor([1.0, 10.0])).sum().backward()
    assert values(x.grad) == [1, 13]


def test_writing_to_the_base_changes_the_view():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    v = y[0:2]
    y.mul_(3.0)
    assert values(v) == [3, 6]
    v.sum().backward()
    assert values(x.grad) == [3, 3, 0]


def test_writing_to_the_base_makes_the_view_a_new_grad_fn():
    y = leaf(1.0, 2.0, 3.0) * 1
    v = y[0:2]
    before = v.grad_fn
    assert v.grad_fn is before
    y.mul_(3.0)
    assert v.grad_fn is not before
    after = v.grad_fn
    assert v.grad_fn is after


def test_writing_to_a_view_makes_the_base_a_new_grad_fn():
    y = leaf(1.0, 2.0, 3.0) * 1
    before = y.grad_fn
    y[0:2].mul_(3.0)
    assert y.grad_fn is not before


def test_writing_to_one_view_changes_another():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    a, b = y[:2], y[1:]
    a.mul_(2.0)
    b.mul_(3.0)
    assert values(y) == [2, 12, 9]
    assert values(a) == [2, 12]
    y.sum().backward(retain_graph=True)
    assert values(x.grad) == [2, 6, 3]
    x.grad = None
    a.sum().backward()
    assert values(x.grad) == [2, 6, 0]


def test_a_view_of_a_view():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    v = y[1:]
    w = v[1:]
    w.mul_(5.0)
    assert values(v) == [2, 15]
    y.sum().backward(retain_graph=True)
    assert values(x.grad) == [1, 1, 5]
    x.grad = None
    v.sum().backward()
    assert values(x.grad) == [0, 1, 5]


def test_a_view_of_a_view_after_the_base_changed():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    w = y[1:][1:]
    y.mul_(x)
    assert values(w) == [9]
    w.sum().backward()
    assert values(x.grad) == [0, 0, 6]


def test_a_transposed_view():
    x = tj.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    y.T[0].mul_(2.0)
    assert values(y) == [[2, 2], [6, 4]]
    y.sum().backward()
    assert values(x.grad) == [[2, 1], [2, 1]]


def test_a_reshaped_view():
    x = tj.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    y.reshape(-1)[1:3].mul_(10.0)
    assert values(y) == [[1, 20], [30, 4]]
    y.sum().backward()
    assert values(x.grad) == [[1, 10], [10, 1]]


def test_a_view_with_a_step():
    x = leaf(1.0, 2.0, 3.0, 4.0, 5.0)
    y = x * 1
    y[::2].mul_(2.0)
    y[1::2].add_(1.0)
    assert values(y) == [2, 3, 6, 5, 10]
    y.sum().backward()
    assert values(x.grad) == [2, 1, 2, 1, 2]


def test_views_of_every_shape_see_the_base():
    x = tj.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    views = [y.T, y.reshape(4), y[:, 1], y[0], y.unsqueeze(0), y[1, 0:1], y.diagonal(), y.squeeze()]
    y.mul_(2.0)
    assert [values(view) for view in views] == [
        [[2, 6], [4, 8]],
        [2, 4, 6, 8],
        [4, 8],
        [2, 4],
        [[[2, 4], [6, 8]]],
        [6],
        [2, 8],
        [[2, 4], [6, 8]],
    ]
    sum(view.sum() for view in views).backward()
    assert values(x.grad) == [[12, 12], [10, 12]]


def test_a_view_modified_and_then_read_through_the_base_twice():
    x = leaf(2.0, 3.0)
    y = x * 1
    first = y.sum()
    y[0:1].mul_(10.0)
    second = y.sum()
    (first + second).backward()
    assert values(x.grad) == [11, 2]


def test_reading_before_a_write_keeps_the_old_value():
    x = leaf(2.0, 3.0)
    y = x * 1
    old = y[0] * 1
    y[0] = 100.0
    (old + y.sum()).backward()
    assert values(x.grad) == [1, 1]


def test_assignment_cuts_off_what_was_there():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[0] = 5.0
    y.sum().backward()
    assert values(x.grad) == [0, 2, 2]


def test_assignment_of_a_tensor_that_requires_grad():
    x, w = leaf(1.0, 2.0, 3.0), leaf(7.0)
    y = x * 2
    y[1:] = w
    assert values(y) == [2, 7, 7]
    y.sum().backward()
    assert values(x.grad) == [2, 0, 0]
    assert values(w.grad) == [2]


def test_assignment_by_mask_and_by_list():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    y[tj.tensor([True, False, False])] = 5.0
    y[[2]] = x[1] * 10
    assert values(y) == [5, 2, 20]
    y.sum().backward()
    assert values(x.grad) == [0, 11, 0]


def test_augmented_assignment_to_an_element():
    x = leaf(1.0, 2.0)
    y = x * 1
    y[0] += x[1] * 3
    y[1] *= 4
    assert values(y) == [7, 8]
    y.sum().backward()
    assert values(x.grad) == [1, 7]


def test_assignment_in_a_loop_with_later_reads():
    x, y = tj.tensor(2.0, requires_grad=True), tj.zeros(4)
    y[0] = x
    for i in range(1, 4):
        y[i] = (y[i - 1] * 1) * x  # * 1: a new tensor, so that later writes do not touch what is saved
    assert values(y) == [2, 4, 8, 16]
    y.sum().backward()
    assert values(x.grad) == 49


def test_a_write_makes_base_and_earlier_views_require_grad():
    x, base = tj.tensor(3.0, requires_grad=True), tj.zeros(3)
    view = base[1:]
    other = base[:1]
    assert not view.requires_grad
    base[1] = x * 2
    assert base.requires_grad
    assert view.requires_grad
    assert other.requires_grad
    assert not base.is_leaf
    assert values(view) == [6, 0]
    view[0].backward()
    assert values(x.grad) == 2


def test_a_write_through_a_view_makes_the_base_require_grad():
    x, base = tj.tensor(3.0, requires_grad=True), tj.zeros(3)
    view = base[1:]
    view[0] = x * 2
    assert base.requires_grad
    base.sum().backward()
    assert values(x.grad) == 2


def test_writes_to_a_base_without_gradient_keep_it_so():
    base = tj.zeros(3)
    base[1:].add_(2.0)
    base[0] = 5.0
    assert values(base) == [5, 2, 2]
    assert not base.requires_grad
    assert base.is_leaf


def test_a_view_made_under_no_grad_cannot_be_written():
    y = leaf(1.0, 2.0) * 1
    with tj.no_grad():
        v = y[0:1]
    with refuses(tj.GradientError, "view", "no_grad"):
        v.mul_(2.0)


def test_second_order_through_a_view():
    x = leaf(2.0, 3.0)
    y = x * 1
    y[0:1].mul_(x[1] * 1)
    (g,) = tj.autograd.grad((y * y).sum(), x, create_graph=True)
    assert values(g) == [36, 30]
    (h,) = tj.autograd.grad(g[0], x)
    assert values(h) == [18, 24]
