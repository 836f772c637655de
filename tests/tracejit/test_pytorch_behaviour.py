"""What PyTorch's eager autograd does, one behaviour a test, under our names. Numbers are PyTorch's."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import tracejit as tj


def leaf(*numbers, dtype=None):
    return tj.tensor(list(numbers), dtype=dtype, requires_grad=True)


def values(tensor):
    return tensor.detach().tolist()


@contextmanager
def refuses(error, *words):
    """The block raises `error`, and its message has all of `words`."""
    with pytest.raises(error) as failure:
        yield
    text = str(failure.value)
    missing = [word for word in words if word.lower() not in text.lower()]
    assert not missing, f"no {missing} in {text!r}"


# -- in-place operations --------------------------------------------------------------------------

IN_PLACE = [
    ("add_", (2.0,), [-0.5, 2.25], [1.5, 4.25], [1.0, 10.0]),
    ("sub_", (2.0,), [-0.5, 2.25], [-2.5, 0.25], [1.0, 10.0]),
    ("mul_", (3.0,), [-0.5, 2.25], [-1.5, 6.75], [3.0, 30.0]),
    ("div_", (2.0,), [-0.5, 2.25], [-0.25, 1.125], [0.5, 5.0]),
    ("pow_", (3.0,), [0.5, 2.25], [0.125, 11.390625], [0.75, 151.875]),
    ("neg_", (), [-0.5, 2.25], [0.5, -2.25], [-1.0, -10.0]),
    ("abs_", (), [-0.5, 2.25], [0.5, 2.25], [-1.0, 10.0]),
    ("exp_", (), [-0.5, 2.25], [0.606530659713, 9.487735836359], [0.606530659713, 94.877358363585]),
    ("log_", (), [0.5, 2.25], [-0.69314718056, 0.810930216216], [2.0, 4.444444444444]),
    ("sqrt_", (), [0.5, 2.25], [0.707106781187, 1.5], [0.707106781187, 3.333333333333]),
    ("sin_", (), [-0.5, 2.25], [-0.479425538604, 0.778073196888], [0.87758256189, -6.281736227227]),
    ("cos_", (), [-0.5, 2.25], [0.87758256189, -0.628173622723], [0.479425538604, -7.780731968879]),
    ("tanh_", (), [-0.5, 2.25], [-0.46211715726, 0.978026114739], [0.786447732966, 0.434649188889]),
    ("sigmoid_", (), [-0.5, 2.25], [0.377540668798, 0.904650535101], [0.235003712202, 0.862579444426]),
    ("relu_", (), [-0.5, 2.25], [0.0, 2.25], [0.0, 10.0]),
    ("clamp_", (0.75, 1.5), [0.5, 1.25], [0.75, 1.25], [0.0, 10.0]),
    ("clamp_min_", (1.0,), [-0.5, 2.25], [1.0, 2.25], [0.0, 10.0]),
    ("clamp_max_", (1.0,), [-0.5, 2.25], [-0.5, 1.0], [1.0, 0.0]),
    ("zero_", (), [-0.5, 2.25], [0.0, 0.0], [0.0, 0.0]),
    ("fill_", (7.0,), [-0.5, 2.25], [7.0, 7.0], [0.0, 0.0]),
    ("floor_", (), [0.5, 2.25], [0.0, 2.0], [0.0, 0.0]),
    ("ceil_", (), [0.5, 2.25], [1.0, 3.0], [0.0, 0.0]),
    ("round_", (), [0.5, 2.25], [0.0, 2.0], [0.0, 0.0]),
    ("reciprocal_", (), [0.5, 2.25], [2.0, 0.444444444444], [-4.0, -1.975308641975]),
    ("square_", (), [-0.5, 2.25], [0.25, 5.0625], [-1.0, 45.0]),
]


@pytest.mark.parametrize(("name", "args", "point", "result", "gradient"), IN_PLACE, ids=lambda one: str(one))
def test_in_place_method(name, args, point, result, gradient):
    x = leaf(*point)
    y = x * 1
    assert getattr(y, name)(*args) is y
    assert values(y) == pytest.approx(result)
    (y * tj.tensor([1.0, 10.0])).sum().backward()
    assert values(x.grad) == pytest.approx(gradient)


@pytest.mark.parametrize(("name", "args", "point", "result", "gradient"), IN_PLACE, ids=lambda one: str(one))
def test_in_place_method_on_a_view(name, args, point, result, gradient):
    x = leaf(9.0, *point, 9.0)
    y = x * 1
    getattr(y[1:3], name)(*args)
    assert values(y) == pytest.approx([9.0, *result, 9.0])
    (y * tj.tensor([1.0, 1.0, 10.0, 1.0])).sum().backward()
    assert values(x.grad) == pytest.approx([1.0, *gradient, 1.0])


def test_in_place_multiplication_differentiates_with_the_old_value():
    x, w = leaf(2.0, 3.0), leaf(5.0, 7.0)
    y = x * 1
    y.mul_(w)
    y.sum().backward()
    assert values(w.grad) == [2, 3]
    assert values(x.grad) == [5, 7]


def test_in_place_division_differentiates_with_the_old_value():
    x, w = leaf(2.0, 3.0), leaf(4.0, 2.0)
    y = x * 1
    y.div_(w)
    y.sum().backward()
    assert values(w.grad) == [-0.125, -0.75]
    assert values(x.grad) == [0.25, 0.5]


def test_in_place_with_a_broadcast_operand():
    x, w = tj.ones((2, 3), requires_grad=True), leaf(1.0, 2.0, 3.0)
    y = x * 1
    y.add_(w)
    y.sum().backward()
    assert values(w.grad) == [2, 2, 2]
    with refuses(tj.ShapeError, "shape"):
        tj.ones(3).add_(tj.ones((2, 3)))


def test_in_place_on_a_tensor_that_did_not_require_grad():
    x, y = leaf(1.0, 2.0), tj.zeros(2)
    y.add_(x)
    assert y.requires_grad
    assert not y.is_leaf
    y.sum().backward()
    assert values(x.grad) == [1, 1]


def test_augmented_assignment_keeps_the_object():
    x = leaf(1.0, 2.0)
    y = same = x * 1
    y += x
    y *= 2
    assert y is same
    y.sum().backward()
    assert values(x.grad) == [4, 4]


def test_in_place_changes_grad_fn():
    y = leaf(1.0, 2.0) * 1
    before = y.grad_fn
    y.add_(1.0)
    assert y.grad_fn is not before
    assert y.grad_fn.next_functions[0][0] is before


def test_in_place_integer_cannot_take_a_float():
    with pytest.raises(tj.DTypeError):
        tj.tensor([1, 2]).mul_(1.5)
    with pytest.raises(tj.DTypeError):
        tj.tensor([1, 2]).div_(2)
    assert values(tj.tensor([1, 2]).mul_(3)) == [3, 6]


def test_in_place_float32_takes_float64():
    x = leaf(1.0, 2.0, dtype=tj.float32)
    y = x * 1
    y.mul_(tj.tensor([3.0, 4.0], dtype=tj.float64))
    assert y.dtype == tj.float32
    y.sum().backward()
    assert x.grad.dtype == tj.float32
    assert values(x.grad) == [3, 4]


def test_copy_with_broadcasting_and_another_dtype():
    x, y = leaf(1.0, 2.0, 3.0, dtype=tj.float32), tj.zeros((2, 3))
    assert y.copy_(x) is y
    assert values(y) == [[1, 2, 3], [1, 2, 3]]
    y.sum().backward()
    assert x.grad.dtype == tj.float32
    assert values(x.grad) == [2, 2, 2]


def test_copy_cuts_off_what_was_there():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * 1
    y.copy_(w)
    y.sum().backward()
    assert values(x.grad) == [0, 0]
    assert values(w.grad) == [1, 1]


def test_copy_to_integers_has_no_gradient():
    y = tj.tensor([1, 2])
    y.copy_(leaf(3.7, 4.2))
    assert values(y) == [3, 4]
    assert not y.requires_grad


def test_masked_fill():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y.masked_fill_(tj.tensor([True, False, True]), 9.0)
    assert values(y) == [9, 4, 9]
    y.sum().backward()
    assert values(x.grad) == [0, 2, 0]


def test_masked_fill_with_a_tensor_gives_it_the_sum():
    value = tj.tensor(9.0, requires_grad=True)
    y = leaf(1.0, 2.0, 3.0) * 1
    y.masked_fill_(tj.tensor([True, False, True]), value)
    y.sum().backward()
    assert values(value.grad) == 2


def test_fill_with_a_tensor_gives_it_the_sum():
    value = tj.tensor(9.0, requires_grad=True)
    y = tj.zeros(3)
    y.fill_(value)
    y.sum().backward()
    assert values(value.grad) == 3


def test_in_place_on_a_leaf():
    x = leaf(1.0, 2.0)
    for change in (lambda: x.add_(1.0), lambda: x.mul_(2.0), lambda: x.zero_(), lambda: x.copy_(tj.ones(2))):
        with refuses(tj.GradientError, "leaf"):
            change()
    with refuses(tj.GradientError, "leaf"):
        x[0] = 1.0
    assert values(x) == [1, 2]


def test_in_place_on_a_view_of_a_leaf():
    x = leaf(1.0, 2.0)
    with refuses(tj.GradientError, "view", "leaf"):
        x[0:1].mul_(2.0)
    with refuses(tj.GradientError, "view", "leaf"):
        x[0:1][0] = 5.0
    assert values(x) == [1, 2]


def test_in_place_on_a_leaf_under_no_grad():
    x = leaf(1.0, 2.0)
    with tj.no_grad():
        x.mul_(2.0)
        x[0] = 7.0
        x[1:].add_(1.0)
    assert values(x) == [7, 5]
    assert x.is_leaf
    assert x.requires_grad
    (x * x).sum().backward()
    assert values(x.grad) == [14, 10]


def test_in_place_under_no_grad_keeps_the_graph():
    x = leaf(1.0, 2.0)
    y = x * 3
    before = y.grad_fn
    with tj.no_grad():
        y.mul_(10.0)
    assert y.grad_fn is before
    y.sum().backward()
    assert values(x.grad) == [3, 3]


# -- versions -------------------------------------------------------------------------------------


def test_a_saved_operand_that_was_modified():
    a = leaf(1.0, 2.0) * 2
    b = a * a
    a.add_(1.0)
    with refuses(tj.GradientError, "mul saved", "place by add_", "version 1", "expected version 0"):
        b.sum().backward()


def test_a_saved_result_that_was_modified():
    y = tj.exp(leaf(1.0, 2.0))
    y.mul_(2.0)
    with refuses(tj.GradientError, "place", "version 1", "expected version 0"):
        y.sum().backward()


def test_modifying_what_was_not_saved_is_right():
    x = leaf(1.0, 2.0)
    a = x * 2
    b = a + 1
    a.mul_(10.0)
    (b + a).sum().backward()
    assert values(x.grad) == [22, 22]


def test_versions_count_through_views_and_detached_tensors():
    for modify in (
        lambda a: a[0:1].mul_(2.0),
        lambda a: a.detach().mul_(2.0),
        lambda a: a.detach()[0:1].zero_(),
    ):
        a = leaf(1.0, 2.0) * 2
        b = a * a
        modify(a)
        with refuses(tj.GradientError, "version 1", "expected version 0"):
            b.sum().backward()


def test_versions_count_under_no_grad():
    w = leaf(1.0, 2.0)
    y = (w * w).sum()
    with tj.no_grad():
        w.mul_(2.0)
    with refuses(tj.GradientError, "version 1", "expected version 0"):
        y.backward()


def test_versions_expected_start_where_they_were():
    a = leaf(1.0, 2.0) * 2
    a.add_(1.0)
    a.add_(1.0)
    b = a * a
    a.add_(1.0)
    with refuses(tj.GradientError, "version 3", "expected version 2"):
        b.sum().backward()


def test_modifying_a_view_that_was_saved():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    part = y[0:2]
    z = part * part
    y[2] = 5.0  # another element, the same memory
    with refuses(tj.GradientError, "version 1", "expected version 0"):
        z.sum().backward()


def test_in_place_multiplication_by_itself():
    x = leaf(2.0, 3.0)
    y = x * 1
    y.mul_(y)
    assert values(y) == [4, 9]
    y.sum().backward()  # PyTorch refuses: it keeps no copy of the value that is overwritten
    assert values(x.grad) == [4, 6]


def test_detach_shares_memory():
    x = leaf(1.0, 2.0)
    y = x * 1
    d = y.detach()
    assert not d.requires_grad
    assert d.is_leaf
    assert d.grad_fn is None
    d.mul_(5.0)
    assert values(y) == [5, 10]
    y.add_(1.0)
    assert values(d) == [6, 11]
    y.sum().backward()
    assert values(x.grad) == [1, 1]


# -- views ----------------------------------------------------------------------------------------


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
    assert [values(one) for one in views] == [
        [[2, 6], [4, 8]],
        [2, 4, 6, 8],
        [4, 8],
        [2, 4],
        [[[2, 4], [6, 8]]],
        [6],
        [2, 8],
        [[2, 4], [6, 8]],
    ]
    sum(one.sum() for one in views).backward()
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


# -- tensor hooks ---------------------------------------------------------------------------------


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


# -- node hooks -----------------------------------------------------------------------------------


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


# -- hooks on what is saved -----------------------------------------------------------------------


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


# -- Function -------------------------------------------------------------------------------------


def cube(x):
    class Cube(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    return Cube.apply(x)


def function(forward, backward):
    """A Function of two static methods."""
    return type(
        "Custom",
        (tj.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


def test_function():
    x = leaf(1.0, 2.0)
    y = cube(x)
    assert values(y) == [1, 8]
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert values(x.grad) == [3, 12]


def test_function_forward_is_not_recorded():
    seen = []

    def forward(ctx, x):
        y = x * 2
        seen.append((tj.is_grad_enabled(), y.requires_grad))
        return y

    function(forward, lambda ctx, g: g * 5).apply(leaf(1.0)).sum().backward()
    assert seen == [(False, False)]


def test_function_backward_is_recorded_only_with_create_graph():
    seen = []

    def backward(ctx, g):
        seen.append(tj.is_grad_enabled())
        return g * 2

    double = function(lambda ctx, x: x * 2, backward)
    x = leaf(1.0)
    double.apply(x).sum().backward()
    tj.autograd.grad(double.apply(x).sum(), x, create_graph=True)
    assert seen == [False, True]


def test_function_twice_differentiated_through_saved_tensors():
    x = leaf(2.0)
    (g,) = tj.autograd.grad(cube(x).sum(), x, create_graph=True)
    (h,) = tj.autograd.grad(g.sum(), x, create_graph=True)
    assert values(h) == [12]
    assert values(tj.autograd.grad(h.sum(), x)[0]) == [6]


def test_function_that_saves_its_output():
    def forward(ctx, x):
        y = tj.exp(x)
        ctx.save_for_backward(y)
        return y

    exp = function(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(0.0)
    (g,) = tj.autograd.grad(exp.apply(x).sum(), x, create_graph=True)
    assert values(tj.autograd.grad(g.sum(), x)[0]) == [1]


def test_function_inside_no_grad():
    with tj.no_grad():
        y = cube(leaf(2.0))
    assert values(y) == [8]
    assert not y.requires_grad
    assert y.grad_fn is None


def test_function_of_constants():
    y = cube(tj.tensor([2.0]))
    assert not y.requires_grad


def test_function_with_several_results_gets_zeros_for_unused_ones():
    seen = []

    def backward(ctx, g, h):
        seen.append((values(g), values(h)))
        return g * 2 + h * 3

    both = function(lambda ctx, x: (x * 2, x * 3), backward)
    x = leaf(1.0, 1.0)
    first, _ = both.apply(x)
    first.sum().backward()
    assert seen == [([1, 1], [0, 0])]
    assert values(x.grad) == [2, 2]


def test_function_without_materialized_gradients():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    def backward(ctx, g, h):
        seen.append((g is None, h is None))
        return h * 3

    x = leaf(1.0)
    function(forward, backward).apply(x)[1].sum().backward()
    assert seen == [(True, False)]
    assert values(x.grad) == [3]


def test_function_needs_input_grad():
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    function(lambda ctx, x, y, k: x * k, backward).apply(leaf(1.0), tj.ones(1), 3).sum().backward()
    assert seen == [(True, False, False)]


def test_function_with_other_arguments_and_attributes():
    def forward(ctx, x, factor, name=None):
        ctx.factor = factor
        ctx.name = name
        return x * factor

    def backward(ctx, g):
        assert ctx.name == "name"
        return g * ctx.factor, None, None

    x = leaf(1.0)
    function(forward, backward).apply(x, 5, "name").sum().backward()
    assert values(x.grad) == [5]


def test_function_with_other_results():
    custom = function(lambda ctx, x: (x * 2, "text", 3), lambda ctx, g, *rest: g * 2)
    x = leaf(1.0)
    y, text, number = custom.apply(x)
    assert (text, number) == ("text", 3)
    y.sum().backward()
    assert values(x.grad) == [2]


def test_function_none_is_no_gradient():
    x, y = leaf(1.0), leaf(2.0)
    function(lambda ctx, x, y: x * y, lambda ctx, g: (g, None)).apply(x, y).sum().backward()
    assert values(x.grad) == [1]
    assert y.grad is None


def test_function_of_the_same_tensor_twice():
    x = leaf(1.0)
    function(lambda ctx, x, y: x + y, lambda ctx, g: (g * 2, g * 3)).apply(x, x).sum().backward()
    assert values(x.grad) == [5]


def test_function_with_a_wrong_number_of_gradients():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: (g, g))
    with refuses(tj.GradientError, "incorrect number of gradients", "expected 1", "got 2"):
        wrong.apply(leaf(1.0)).sum().backward()
    missing = function(lambda ctx, x, y: x * y, lambda ctx, g: g)
    with refuses(tj.GradientError, "incorrect number of gradients", "expected 2", "got 1"):
        missing.apply(leaf(1.0), leaf(1.0)).sum().backward()


def test_function_may_return_more_nones_than_inputs():
    x = leaf(1.0)
    function(lambda ctx, x: x * 2, lambda ctx, g: (g * 2, None)).apply(x).sum().backward()
    assert values(x.grad) == [2]


def test_function_with_a_gradient_of_the_wrong_shape():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: tj.ones(3))
    with refuses((tj.GradientError, tj.ShapeError), "invalid gradient at index 0", "3", "2"):
        wrong.apply(leaf(1.0, 2.0)).sum().backward()


def test_function_whose_backward_returns_no_tensor():
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: 2.0)
    with refuses((tj.GradientError, TypeError), "float"):
        wrong.apply(leaf(1.0)).sum().backward()


def test_function_without_backward():
    class Half(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    y = Half.apply(leaf(1.0)).sum()
    with refuses(tj.GradientError, "must define backward"):
        y.backward()


def test_function_that_returns_its_input():
    same = function(lambda ctx, x: x, lambda ctx, g: g * 7)
    x = leaf(1.0)
    y = same.apply(x)
    assert y is not x
    assert y.grad_fn.name() == "CustomBackward"
    assert x.is_leaf
    y.sum().backward()
    assert values(x.grad) == [7]


def test_function_that_writes_to_its_input():
    def forward(ctx, x):
        x.mul_(3.0)
        ctx.mark_dirty(x)
        return x

    triple = function(forward, lambda ctx, g: g * 3)
    x = leaf(1.0)
    y = x * 2
    z = triple.apply(y)
    assert z is y
    assert y.grad_fn.name() == "CustomBackward"
    y.sum().backward()
    assert values(x.grad) == [6]


def test_function_that_writes_to_a_view():
    def forward(ctx, x):
        x.mul_(3.0)
        ctx.mark_dirty(x)
        return x

    x = leaf(1.0, 2.0)
    y = x * 1
    function(forward, lambda ctx, g: g * 3).apply(y[0:1])
    assert values(y) == [3, 2]
    y.sum().backward()
    assert values(x.grad) == [3, 1]


def test_function_that_writes_to_a_leaf():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3.0)

    with refuses(tj.GradientError, "leaf"):
        function(forward, lambda ctx, g: g).apply(leaf(1.0))


def test_function_marks_results_as_non_differentiable():
    seen = []

    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    def backward(ctx, g, h):
        seen.append(values(h))
        return g * 2

    x = leaf(1.0)
    y, z = function(forward, backward).apply(x)
    assert y.requires_grad
    assert not z.requires_grad
    y.sum().backward()
    assert seen == [[0]]


def test_function_integer_results_do_not_require_grad():
    custom = function(lambda ctx, x: (x * 2, tj.tensor([1, 2])), lambda ctx, g, h: g)
    y, z = custom.apply(leaf(1.0))
    assert y.requires_grad
    assert not z.requires_grad


def test_function_once_differentiable():
    class Once(tj.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @tj.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    x = leaf(3.0)
    Once.apply(x).sum().backward()
    assert values(x.grad) == [6]
    (g,) = tj.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    with refuses(tj.GradientError, "once_differentiable"):
        g.sum().backward()


def test_function_with_setup_context():
    class Scale(tj.autograd.Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, factor = inputs
            ctx.save_for_backward(x, output)
            ctx.factor = factor

        @staticmethod
        def backward(ctx, g):
            _, output = ctx.saved_tensors
            assert values(output) == [10]
            return g * ctx.factor, None

    x = leaf(2.0)
    Scale.apply(x, 5.0).sum().backward()
    assert values(x.grad) == [5]


def test_function_saved_tensor_that_was_modified():
    x = leaf(1.0) * 1
    y = cube(x)
    x.add_(1.0)
    with refuses(tj.GradientError, "version 1", "expected version 0"):
        y.sum().backward()


def test_function_saved_tensors_are_freed():
    y = cube(leaf(1.0)).sum()
    y.backward()
    with refuses(tj.GradientError, "second time", "retain_graph=True"):
        y.backward()


def test_function_saves_tensors_and_none_only():
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 1

    def backward(ctx, g):
        assert ctx.saved_tensors[1] is None
        return g

    function(forward, backward).apply(leaf(1.0)).sum().backward()

    def wrong(ctx, x):
        ctx.save_for_backward(3.0)
        return x * 1

    with refuses((tj.GradientError, TypeError), "save_for_backward", "float"):
        function(wrong, backward).apply(leaf(1.0)).sum().backward()


def test_function_forward_may_differentiate_inside():
    def forward(ctx, x):
        with tj.enable_grad():
            own = x.detach().requires_grad_()
            (ctx.slope,) = tj.autograd.grad((own**3).sum(), own)
        return x * 1

    x = leaf(2.0)
    function(forward, lambda ctx, g: g * ctx.slope).apply(x).sum().backward()
    assert values(x.grad) == [12]


def test_function_with_saved_tensors_hooks():
    seen = []
    with tj.autograd.graph.saved_tensors_hooks(lambda t: seen.append("pack") or t, lambda t: t):
        y = cube(leaf(1.0))
    assert seen == ["pack"]
    y.sum().backward()


def test_function_is_checked_by_gradcheck():
    x = leaf(1.0, 2.0)
    assert tj.autograd.gradcheck(cube, (x,))
    assert tj.autograd.gradgradcheck(cube, (x,))
    wrong = function(lambda ctx, x: x * 2, lambda ctx, g: g * 3)
    with refuses(tj.autograd.GradcheckError, "Jacobian mismatch for output 0 with respect to input 0"):
        tj.autograd.gradcheck(wrong.apply, (x,))


def test_gradcheck_finds_a_backward_that_is_not_reentrant():
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return g * (2 + 1e-8 * len(calls))

    drifting = function(lambda ctx, x: x * 2, backward)
    with refuses(tj.autograd.GradcheckError, "not reentrant"):
        tj.autograd.gradcheck(drifting.apply, (leaf(1.0),))


def test_gradcheck_finds_a_backward_that_ignores_its_cotangent():
    wrong = function(lambda ctx, x: x.sum() * 2, lambda ctx, g: tj.ones(2) * 2)
    with refuses(tj.autograd.GradcheckError, "grad_output"):
        tj.autograd.gradcheck(wrong.apply, (leaf(1.0, 2.0),))


# -- leaves and .grad -----------------------------------------------------------------------------


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


# -- backward and grad ----------------------------------------------------------------------------


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


# -- modes ----------------------------------------------------------------------------------------


def test_no_grad_and_enable_grad_nest():
    x = leaf(1.0)
    with tj.no_grad():
        assert not (x * 2).requires_grad
        with tj.enable_grad():
            assert (x * 2).requires_grad
            with tj.no_grad():
                assert not tj.is_grad_enabled()
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()


def test_modes_are_restored_after_an_exception():
    for mode in (tj.no_grad, lambda: tj.set_grad_enabled(False), tj.inference_mode):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert tj.is_grad_enabled()


def test_modes_as_decorators():
    @tj.no_grad()
    def off(x):
        """Doubles."""
        return x * 2

    @tj.no_grad
    def bare(x):
        return x * 2

    @tj.enable_grad()
    def on(x):
        return x * 2

    x = leaf(1.0)
    assert not off(x).requires_grad
    assert not bare(x).requires_grad
    assert off.__name__ == "off"
    assert off.__doc__ == "Doubles."
    with tj.no_grad():
        assert on(x).requires_grad


def test_a_decorated_function_may_call_itself():
    @tj.no_grad()
    def down(n):
        assert not tj.is_grad_enabled()
        return down(n - 1) if n else 0

    down(3)
    assert tj.is_grad_enabled()


def test_no_grad_on_a_generator_function():
    @tj.no_grad()
    def numbers():
        for i in range(3):
            assert not tj.is_grad_enabled()
            yield i
        assert not tj.is_grad_enabled()

    found = []
    for i in numbers():
        assert tj.is_grad_enabled()
        found.append(i)
    assert found == [0, 1, 2]


def test_no_grad_on_a_generator_that_receives():
    closed = []

    @tj.no_grad()
    def echo():
        got = None
        try:
            while got != "stop":
                try:
                    got = yield got
                except KeyError:
                    got = "thrown"
                assert not tj.is_grad_enabled()
            return "result"
        finally:
            closed.append(tj.is_grad_enabled())

    g = echo()
    assert next(g) is None
    assert g.send(5) == 5
    assert tj.is_grad_enabled()
    assert g.throw(KeyError) == "thrown"
    with pytest.raises(StopIteration) as end:
        g.send("stop")
    assert end.value.value == "result"
    g = echo()
    next(g)
    g.close()
    assert closed == [False, False]
    assert tj.is_grad_enabled()


def test_set_grad_enabled():
    tj.set_grad_enabled(False)
    try:
        assert not tj.is_grad_enabled()
    finally:
        tj.set_grad_enabled(True)
    with tj.set_grad_enabled(False):
        assert not tj.is_grad_enabled()
    assert tj.is_grad_enabled()

    @tj.set_grad_enabled(False)
    def off():
        return tj.is_grad_enabled()

    assert tj.is_grad_enabled()
    assert not off()
    assert tj.is_grad_enabled()


def test_modes_belong_to_their_thread():
    seen = []
    with tj.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tj.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_leaves_made_under_no_grad_may_require_grad():
    with tj.no_grad():
        x = tj.ones(2, requires_grad=True)
    assert x.requires_grad
    (x * 2).sum().backward()
    assert values(x.grad) == [2, 2]


def test_backward_under_no_grad():
    x = leaf(2.0)
    y = (x * x).sum()
    with tj.no_grad():
        y.backward()
    assert values(x.grad) == [4]


def test_inference_mode():
    x = leaf(1.0)
    with tj.inference_mode():
        assert tj.is_inference_mode_enabled()
        assert not tj.is_grad_enabled()
        y = x * 2
        with tj.inference_mode(False):
            assert not tj.is_inference_mode_enabled()
            assert (x * 2).requires_grad
    assert not tj.is_inference_mode_enabled()
    assert tj.is_grad_enabled()
    assert not y.requires_grad


def test_inference_mode_as_decorator():
    @tj.inference_mode()
    def double(x):
        assert tj.is_inference_mode_enabled()
        return x * 2

    @tj.inference_mode
    def bare(x):
        assert tj.is_inference_mode_enabled()
        return x * 2

    assert not double(leaf(1.0)).requires_grad
    assert not bare(leaf(1.0)).requires_grad
    assert not tj.is_inference_mode_enabled()


def test_tensors_made_in_inference_mode_are_ordinary():
    # PyTorch refuses to save or write them outside; ours keep their counts of writes all the same
    x = leaf(1.0)
    with tj.inference_mode():
        c = tj.ones(1)
        c.mul_(2.0)
    (x * c).sum().backward()
    assert values(x.grad) == [2]
    y = x * c
    c.mul_(2.0)
    with refuses(tj.GradientError, "mul saved", "place by mul_"):
        y.sum().backward()


@contextmanager
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_anomaly_detection_finds_nan():
    x = leaf(-1.0, 4.0)
    with quietly(), tj.autograd.detect_anomaly():
        y = tj.sqrt(x)
        with refuses(tj.GradientError, "SqrtBackward", "nan"):
            y.sum().backward()
    assert x.grad is None


def test_anomaly_detection_names_the_line():
    with quietly(), tj.autograd.detect_anomaly():
        y = tj.sqrt(leaf(-1.0))  # this line
        with open(__file__) as source:
            line = next(i for i, text in enumerate(source, 1) if "# this line" in text)
        with refuses(tj.GradientError, f"test_pytorch_behaviour.py:{line}"):
            y.sum().backward()


def test_anomaly_detection_may_leave_nan_alone():
    x = leaf(-1.0)
    with quietly(), tj.autograd.detect_anomaly(check_nan=False):
        tj.sqrt(x).sum().backward()
    assert str(values(x.grad)) == "[nan]"


def test_anomaly_detection_is_off_outside():
    with quietly(), tj.autograd.detect_anomaly():
        pass
    x = leaf(-1.0)
    with np.errstate(invalid="ignore"):
        tj.sqrt(x).sum().backward()
    assert str(values(x.grad)) == "[nan]"


@np.errstate(invalid="ignore")
def test_set_detect_anomaly():
    with quietly():
        tj.autograd.set_detect_anomaly(True)
    try:
        with quietly(), refuses(tj.GradientError, "nan"):
            tj.sqrt(leaf(-1.0)).sum().backward()
    finally:
        tj.autograd.set_detect_anomaly(False)
    tj.sqrt(leaf(-1.0)).sum().backward()
    with quietly(), tj.autograd.set_detect_anomaly(True), refuses(tj.GradientError, "nan"):
        tj.sqrt(leaf(-1.0)).sum().backward()
    tj.sqrt(leaf(-1.0)).sum().backward()


def test_anomaly_detection_lets_right_gradients_through():
    x = leaf(2.0)
    with quietly(), tj.autograd.detect_anomaly():
        (x * x).sum().backward()
    assert values(x.grad) == [4]


# -- checkpoint -----------------------------------------------------------------------------------


def test_checkpoint_gives_the_same_gradients():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)

    def f(x, w, k):
        return (tj.exp(x) * w * k).sum()

    plain = tj.autograd.grad(f(x, w, 2.0), [x, w])
    again = tj.autograd.grad(tj.checkpoint(f, x, w, 2.0), [x, w])
    assert [values(g) for g in again] == [values(g) for g in plain]
    tj.checkpoint(f, x, w, 2.0).backward()
    assert values(w.grad) == values(plain[1])


def test_checkpoint_runs_the_function_again():
    calls = []

    def f(x):
        calls.append(tj.is_grad_enabled())
        return (x * x).sum()

    y = tj.checkpoint(f, leaf(1.0))
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2


def test_checkpoint_under_no_grad_runs_once():
    calls = []
    with tj.no_grad():
        y = tj.checkpoint(lambda x: calls.append(1) or x * 2, leaf(1.0))
    assert not y.requires_grad
    assert calls == [1]


def test_checkpoint_does_not_keep_what_is_inside():
    alive = []

    def f(x):
        y = tj.exp(x)
        alive.append(weakref.ref(y.detach().numpy()))
        return (y * y).sum()

    x = leaf(1.0)
    plain = f(x)
    checked = tj.checkpoint(f, x)
    gc.collect()
    assert alive[0]() is not None
    assert alive[1]() is None
    (plain + checked).backward()


def test_checkpoint_nests():
    calls = []

    def inner(x):
        calls.append("inner")
        return tj.sin(x) * x

    def outer(x):
        calls.append("outer")
        return tj.checkpoint(inner, x * x).sum()

    x = leaf(0.5, 1.5)
    (expected,) = tj.autograd.grad((tj.sin(x * x) * (x * x)).sum(), x)
    tj.checkpoint(outer, x).backward()
    assert values(x.grad) == pytest.approx(values(expected))
    assert calls.count("outer") == 2
    assert calls.count("inner") >= 2


def test_checkpoint_with_several_results_and_closures():
    x, w = leaf(2.0), leaf(5.0)
    a, b = tj.checkpoint(lambda x: (x * w, x * x), x)
    (a.sum() + b.sum()).backward()
    assert values(x.grad) == [9]
    assert values(w.grad) == [2]


def test_checkpoint_twice_differentiated():
    x = leaf(2.0)
    (g,) = tj.autograd.grad(tj.checkpoint(lambda x: (x**3).sum(), x), x, create_graph=True)
    assert values(tj.autograd.grad(g.sum(), x)[0]) == [12]


def test_checkpoint_with_retain_graph():
    x = leaf(2.0)
    y = tj.checkpoint(lambda x: (x * x).sum(), x)
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad) == [8]


def test_checkpoint_takes_keywords():
    x = leaf(2.0)
    tj.checkpoint(lambda x, k=1.0: (x * k).sum(), x, k=3.0).backward()
    assert values(x.grad) == [3]
