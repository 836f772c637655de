"""Reading and writing by index against NumPy: keys of all kinds, in place, recorded, and under a trace."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.array.indexing.keys import known_plan, plan_key
from tracejit.backward.backward import run_backward
from tracejit.base.errors import (
    ConcretizationError,
    DTypeError,
    GradientError,
    OutOfBoundsError,
    ShapeError,
    TraceError,
    TracejitError,
)
from tracejit.state import STATE

X = np.arange(60.0).reshape(3, 4, 5)
I = np.array([2, 0, -1])  # noqa: E741
J = np.array([[1], [-2]])
MASK = X % 7 < 3
S = np.s_
KEYS = {
    "int": S[1], "negative int": S[-1], "ints": S[1, -2, 3], "two ints": S[0, 2], "slice": S[1:], "empty slice": S[2:1],
    "steps": S[::-1, ::2, 1:4:2], "negative step": S[:, 3:0:-2], "far bounds": S[-9:9, 7:], "int and slice": S[1, :, ::-1],
    "None": S[None], "Nones": S[:, None, 1, None], "ellipsis": S[...], "ellipsis last": S[1, ...], "ellipsis first": S[..., -1],
    "ellipsis between": S[1, ..., ::2], "empty key": (), "ellipsis for nothing": S[:, :, :, ...], "whole": S[:],
    "array": I, "list": [2, 0], "empty list": [], "second array": S[:, I], "last array": S[..., I], "2-d array": J,
    "two arrays": S[I, I], "broadcast arrays": S[I, J], "three arrays": S[I, J, 1], "arrays apart": S[I, :, I],
    "array and int apart": S[0, :, I], "int and array together": S[:, 0, I], "array and slice": S[1:, I, ::-2],
    "arrays with None between": S[I, None, I], "None before array": S[None, I], "None after": S[:, I, None],
    "slice then arrays": S[::2, I, I], "duplicates": S[[1, 1, 0]], "rank-0 array": np.array(1), "numpy int": np.int64(2),
    "small ints": np.array([1, 0], np.int8), "unsigned": np.array([1, 0], np.uint8), "2-d arrays last": S[:, J, J],
    "mask": MASK, "mask of rows": X[:, 0, 0] > 10, "mask list": [True, False, True], "mask then slice": S[X[:, :, 0] > 20, ::2],
    "slice then mask": S[:, X[0, :, 0] > 3], "mask and array": S[X[:, 0, 0] > 10, [0, 1]], "all false": X > 99,
    "True": True, "False": False, "True and slice": S[True, 1:], "range": range(2),
}  # fmt: skip
MASKED = {name for name in KEYS if "mask" in name or name == "all false"}


@pytest.mark.parametrize("name", KEYS)
def test_reading(name, agrees):
    key = KEYS[name]
    expected = X[key]
    np.testing.assert_array_equal(tensor(X)[key].numpy(), expected)
    recorded = tensor(X, requires_grad=True)[key]  # by the ops, without NumPy's own indexing
    np.testing.assert_array_equal(recorded.detach().numpy(), expected)
    agrees(lambda x: x[key], lambda x: x[key], X)


@pytest.mark.parametrize("name", KEYS)
def test_writing(name, agrees):
    key = KEYS[name]
    part = X[key]
    values = [7.5, -np.arange(float(part.size)).reshape(part.shape), np.ones(part.shape[-1:]), np.float32(2)]
    for value in values:
        expected = X.copy()
        expected[key] = value
        x = tensor(X)
        memory = x.numpy()
        x[key] = value
        np.testing.assert_array_equal(memory, expected)
        np.testing.assert_array_equal(tj.index_update(X, key, value).numpy(), expected)
        agrees(lambda a, v=value: tj.index_update(a, key, v), lambda a, w=expected: w, X)
        agrees(lambda a, v=value: _set(a, key, v), lambda a, w=expected: w, X)


def _set(x, key, value):
    x = tj.multiply(x, 1.0)
    x[key] = value
    return x


@pytest.mark.parametrize("name", KEYS)
def test_adding(name, agrees):
    key = KEYS[name]
    value = -np.arange(float(X[key].size)).reshape(X[key].shape) + 0.5
    expected = X.copy()
    np.add.at(expected, key if not isinstance(key, range) else list(key), value)
    np.testing.assert_array_equal(tj.index_add(X, key, value).numpy(), expected)
    agrees(lambda a: tj.index_add(a, key, value), lambda a: expected, X)


@pytest.mark.parametrize("name", KEYS)
def test_gradients(name, check_gradients):
    key = KEYS[name]
    x = np.random.default_rng(0).normal(size=X.shape) if name in MASKED else X / 30
    check_gradients(lambda a: a[key] ** 2, x, second=False)
    value = np.random.default_rng(1).normal(size=X[key].shape)
    small = value if value.size < 80 else value[..., :1]
    check_gradients(lambda a, v: tj.index_update(a, key, v) ** 2, x, small, second=False)
    check_gradients(lambda a, v: tj.index_add(a, key, v) ** 2, x, small, second=False)


def test_second_gradients(check_gradients):
    x = np.array([0.3, 0.9, -0.4])
    check_gradients(lambda a: a[::-2] ** 3, x)
    check_gradients(lambda a: a[[0, 0, 2]] ** 3, x)
    check_gradients(lambda a, v: tj.index_update(a, [0, 0, 2], v) ** 3, x, [0.1, 0.2, 0.3])
    check_gradients(lambda a, v: tj.index_add(a, slice(1, None), v) ** 3, x, [0.1, 0.2])
    check_gradients(lambda a: a[a > 0] ** 3, x)


def test_rank_0(agrees):
    x = np.array(3.0)
    for key in ((), None, Ellipsis, True, False):
        agrees(lambda a, k=key: a[k], lambda a, k=key: a[k], x)
    scalar = tensor(3.0)
    scalar[()] = 4.0
    assert scalar.item() == 4.0
    with pytest.raises(OutOfBoundsError, match="too many indices"):
        scalar[0]


def test_traced_integers_and_tensors_index(agrees):
    agrees(lambda x, i: x[i], lambda x, i: x[i], X, np.array(2))
    agrees(lambda x, i: x[:, i, 1:], lambda x, i: x[:, i, 1:], X, np.array(-1))
    agrees(lambda x, i: x[i, :, [0, 1]], lambda x, i: x[i, :, [0, 1]], X, np.array(1))
    agrees(lambda x, i, j: x[i, ::2, j], lambda x, i, j: x[i, ::2, j], X, I, np.array([[1], [2]], np.int32))
    agrees(lambda x, i: tj.index_update(x, (i, 0), 9.0), lambda x, i: _set_np(x, (i, 0), 9.0), X, np.array(2))
    agrees(lambda x, i: x[[i, 0]], lambda x, i: x[[i, 0]], X, np.array(2))
    eager = tensor(X)
    assert eager[tensor(1), tensor(2), tensor(-1)].item() == X[1, 2, -1]
    np.testing.assert_array_equal(eager[1 : tensor(3)].numpy(), X[1:3])


def _set_np(x, key, value):
    x = x.copy()
    x[key] = value
    return x


def test_traced_masks_write_by_where(agrees, traced):
    x, m = X, X % 3 < 1
    agrees(lambda a, b: tj.index_update(a, b, 5.0), lambda a, b: _set_np(a, b, 5.0), x, m)
    rows = X[:, 0, 0] > 10
    agrees(
        lambda a, b: tj.index_update(a, b, np.arange(5.0)),
        lambda a, b: _set_np(a, b, np.arange(5.0)),
        x,
        rows,
    )
    agrees(lambda a, b: tj.index_update(a, (0, b), 1), lambda a, b: _set_np(a, (0, b), 1), x, X[0, :, 0] > 5)
    agrees(lambda a, b: tj.index_add(a, b, 1), lambda a, b: _set_np(a, b, a[b] + 1), x, m)
    with pytest.raises(ConcretizationError, match="array of shape"):
        traced(lambda a, b: tj.index_update(a, b, np.arange(3.0)), x, m)
    with pytest.raises(ConcretizationError):
        traced(lambda a, b: tj.index_update(a, (b, [0, 1]), 1.0), x, rows)


def test_out_of_bounds(traced):
    x = tensor(X)
    for key, message in [
        (3, "index 3 is out of bounds for axis 0 with size 3"), ((0, -5), "index -5 .* axis 1 with size 4"),
        ((0, 0, 0, 0), "too many indices: 4 .*shape \\(3, 4, 5\\)"), ([0, 3], "index 3 .* axis 0 with size 3"),
        ((slice(None), np.array([-5])), "index -5 .* axis 1 with size 4"),
    ]:  # fmt: skip
        for call in (
            lambda k=key: x[k],
            lambda k=key: x.__setitem__(k, 1.0),
            lambda k=key: tj.index_update(x, k, 1.0),
            lambda k=key: tj.index_add(x, k, 1.0),
        ):
            with pytest.raises(OutOfBoundsError, match=message):
                call()
    with pytest.raises(OutOfBoundsError, match="index 3 is out of bounds for axis 0"):
        traced(lambda a: a[3], X)


def test_other_errors():
    x = tensor(X)
    for error, key in [
        (DTypeError, 1.5), (DTypeError, [0.5]), (DTypeError, "a"), (DTypeError, (Ellipsis, Ellipsis)),
        (ShapeError, [True, False]), (ShapeError, ([0, 1], [0, 1, 2])),
    ]:  # fmt: skip
        with pytest.raises(error):
            x[key]
        with pytest.raises((error, OutOfBoundsError)):
            x[key] = 1.0
    with pytest.raises(ShapeError, match="fit"):
        x[0] = np.ones(3)
    with pytest.raises(ShapeError, match="index_update"):
        tj.index_update(x, 0, np.ones(3))
    with pytest.raises(DTypeError, match="index_add"):
        tj.index_add([1, 2], 0, 1.5)
    with pytest.raises(TracejitError, match="read-only"):
        tj.broadcast_to(tensor(1.0), (2,))[0] = 1.0
    with pytest.raises(DTypeError, match="300"):
        tensor(np.zeros(2, np.int8))[0] = 300


def test_writes_convert_as_numpy():
    for dtype in ("i1", "i8", "f4", "?"):
        for value in (1.75, 2, True, np.array([2.5, -1.0]), np.array([1, 0], "u1")):
            expected, mine = np.zeros((2, 2), dtype), tensor(np.zeros((2, 2), dtype))
            expected[1] = value
            mine[1] = value
            np.testing.assert_array_equal(mine.numpy(), expected)
            update = tj.index_update(np.zeros((2, 2), dtype), 1, value)
            assert update.dtype == expected.dtype
            np.testing.assert_array_equal(update.numpy(), expected)


def test_views_see_writes_and_elements_do_not():
    x = tensor(X)
    row, turned, element = x[1], x.T, x[1, 2, 3]
    x[1] = 0.0
    assert not row.numpy().any()
    assert not turned.numpy()[:, :, 1].any()
    assert element.item() == X[1, 2, 3]
    element += 1
    assert x[1, 2, 3].item() == 0.0
    row[0] = 5.0
    assert x[1, 0, 0].item() == 5.0
    assert x._memory is row._memory


def test_leaf_that_requires_grad_is_not_written():
    x = tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(GradientError, match="leaf tensor that requires grad is being modified in place"):
        x[0] = 3.0
    with pytest.raises(GradientError, match="in place"):
        x += 1
    STATE.recording = False
    try:
        memory = x.detach().numpy()
        x[0] = 3.0
        x *= 2.0
    finally:
        STATE.recording = True
    np.testing.assert_array_equal(memory, [6.0, 4.0])
    assert x.requires_grad
    assert x.is_leaf


def test_writes_into_the_graph():
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[0] = 10.0
    y[1] = y[1] * x[2]
    y[2] += x[0]
    np.testing.assert_array_equal(y.detach().numpy(), [10.0, 12.0, 7.0])
    tj.sum(y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 6.0, 2.0 + 4.0])


def test_value_that_requires_grad_makes_the_tensor_part_of_the_graph():
    x = tensor(2.0, requires_grad=True)
    y = tj.zeros(3)
    y[1] = x * x
    assert y.requires_grad
    tj.sum(y * 3).backward()
    assert x.grad.item() == 12.0
    whole = tj.zeros(2)
    whole[:] = tj.stack([x, x])
    assert whole.requires_grad


def test_saved_values_that_were_written_are_noticed():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y
    y[0] = 5.0
    with pytest.raises(GradientError, match="modified in"):
        tj.sum(z).backward()
    constant = tensor([3.0, 4.0])
    z = x * constant
    constant[0] = 0.0
    constant += 1.0
    with np.errstate(all="ignore"), pytest.raises(GradientError, match="modified in"):
        tj.sum(z).backward()


def test_writing_a_tensor_into_itself():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y[...] = y
    y *= y
    (results,) = run_backward([tj.sum(y)], [tensor(1.0)], retain_graph=False, create_graph=False, targets=[x])
    np.testing.assert_array_equal(results.numpy(), [18.0, 36.0])
    z = tensor([1.0, 2.0, 3.0])
    z[1:] = z[:-1]
    np.testing.assert_array_equal(z.numpy(), [1, 1, 2])


def test_closed_over_tensors_are_not_written_under_a_trace(traced):
    outside = tensor([1.0, 2.0])

    def write(x):
        outside[0] = 1.0
        return x

    def add(x):
        nonlocal outside
        outside += x
        return x

    for function in (write, add):
        with pytest.raises(TraceError, match="Return the new value"):
            traced(function, X)


def test_augmented_assignment_of_elements(agrees):
    def accumulate(x):
        x = x * 1.0
        for row in range(3):
            x[row, 1:] += x[row, :-1] * 2
            x[row] *= 0.5
        return x

    agrees(accumulate, accumulate, X)


@pytest.mark.parametrize("key", [0, 4, -1, -5, (2, 0), (-3, 1), (4, -2)])
def test_the_plan_of_an_element_is_that_of_any_key(key: object) -> None:
    shape = (5,) if isinstance(key, int) else (5, 2)
    planned, expected = known_plan(shape, key), plan_key("getitem", shape, key)
    for field in (
        "start",
        "size",
        "step",
        "whole",
        "middle",
        "positions",
        "indices",
        "place",
        "masks",
        "scalar",
    ):
        assert getattr(planned, field) == getattr(expected, field), field
    assert known_plan((1,), 0).whole
    assert known_plan((5,), True).scalar is plan_key("getitem", (5,), True).scalar


def test_elements_outside_are_refused_in_a_trace() -> None:
    for index in (5, -6):
        with pytest.raises(OutOfBoundsError, match="axis 0"):
            tj.trace(lambda x, i=index: x[i], tj.ones(5))
