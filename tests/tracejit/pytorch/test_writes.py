"""In-place operations, and the counts of writes to what is saved: as in PyTorch, with its numbers."""

from __future__ import annotations

import pytest

import tracejit as tj

from .common import leaf, refuses, values

# -- in-place operations ---------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("name", "args", "point", "result", "gradient"), IN_PLACE, ids=lambda value: str(value)
)
def test_in_place_method(name, args, point, result, gradient):
    x = leaf(*point)
    y = x * 1
    assert getattr(y, name)(*args) is y
    assert values(y) == pytest.approx(result)
    (y * tj.tensor([1.0, 10.0])).sum().backward()
    assert values(x.grad) == pytest.approx(gradient)


@pytest.mark.parametrize(
    ("name", "args", "point", "result", "gradient"), IN_PLACE, ids=lambda value: str(value)
)
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


# -- versions --------------------------------------------------------------------------------------


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
