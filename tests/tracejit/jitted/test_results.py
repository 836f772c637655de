"""Results: their kinds, their memory, and what is refused as one."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.native.allocator import CACHE_LIMIT
from tracejit.runtime.native.allocator import cached_bytes
from tracejit.state import STATE

from ...memory import is_given_back
from .common import same


def test_kinds_of_results():
    x = tj.tensor([1.0, 2.0])
    assert tj.jit(lambda x: None)(x) is None
    same(tj.jit(lambda x: 3)(x), 3, "int64")
    same(tj.jit(lambda x: 2.5)(x), 2.5)
    same(tj.jit(lambda x: True)(x), True, "bool")
    same(tj.jit(lambda x: np.arange(3))(x), [0, 1, 2], "int64")
    same(tj.jit(lambda x: np.float32(2))(x), 2, "float32")
    assert tj.jit(lambda x: [])(x) == []


def test_the_same_tensor_twice():
    def twice(x):
        y = x * 2
        return y, y, x

    a, b, c = tj.jit(twice)(np.array([1.0, 2.0]))
    same(a, [2, 4])
    same(b, [2, 4])
    same(c, [1, 2])


@pytest.mark.parametrize(
    "bad",
    [b"text", object(), {1, 2}, np.array("a"), np.array([None])],
    ids=lambda bad: type(bad).__name__,
)
def test_results_of_other_types_are_refused(bad):
    with pytest.raises(tj.DTypeError):
        tj.jit(lambda x: {"out": [x, bad]})(1.0)
    assert STATE.tracer is None


def test_the_error_for_a_result_says_where_it_is():
    with pytest.raises(tj.DTypeError, match=r"result \['out'\]\[1\] has type bytes"):
        tj.jit(lambda x: {"out": [x, b"text"]})(1.0)


VIEWS = {
    "itself": lambda x: x,
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1),
    "slice": lambda x: x[:1],
    "broadcast": lambda x: tj.broadcast_to(x, (2, *x.shape)),
    "astype": lambda x: x.astype("float64", copy=False),
    "twice": lambda x: (x, x.T),
    "asarray": lambda x: tj.asarray(x),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("shape", [(2, 2), (100, 200)], ids=str)
@pytest.mark.parametrize("kind", [np.asarray, tj.tensor])
def test_results_share_no_memory_with_inputs_and_can_be_written(name, shape, kind):
    x = kind(np.arange(float(np.prod(shape))).reshape(shape))
    before = np.array(x)
    f = tj.jit(VIEWS[name])
    for _ in range(2):
        for leaf in tj.tree_leaves(f(x)):
            assert not np.shares_memory(leaf.numpy(), np.asarray(x))
            leaf[0] = -7.0
    np.testing.assert_array_equal(np.asarray(x), before)


def test_a_returned_capture_shares_no_memory_with_it():
    held = tj.tensor([1.0, 2.0])
    f = tj.jit(lambda: held)
    for _ in range(2):
        out = f()
        out[0] = 9.0
    same(held, [1, 2])


def test_a_result_is_not_the_argument_that_was_written():
    @tj.jit
    def f(x):
        x[0] = 9.0
        x += 1
        return x

    for argument in (np.array([1.0, 2.0]), tj.tensor([1.0, 2.0])):
        result = f(argument)
        same(result, [10, 3])
        np.testing.assert_array_equal(np.asarray(argument), [10, 3])
        same(f(argument), [10, 4])
        same(result, [10, 3])


# -- memory ---------------------------------------------------------------------------------------


def test_memory_of_large_results_comes_back():
    f = tj.jit(lambda x: (x + 1, x * 2))
    x = np.zeros(1 << 18)
    f(x)

    def cycle() -> None:
        for _ in range(300):  # 4 MB each time: 1.2 GB if nothing came back
            a, b = f(x)
        assert a.numpy()[0] == 1.0
        assert b.numpy()[0] == 0.0

    assert is_given_back(cycle, 100 << 20)
    assert 0 < cached_bytes() <= CACHE_LIMIT


def test_live_results_are_never_used_again():
    f = tj.jit(lambda x: x + 1)
    kept = [f(np.full(1 << 14, float(i))) for i in range(10)]
    part = f(np.full(1 << 14, 50.0))[10:20]
    array = f(np.full(1 << 14, 60.0)).numpy()
    for i in range(20):
        f(np.full(1 << 14, -float(i)))
    for i, result in enumerate(kept):
        assert (result.numpy() == i + 1).all()
    assert (part.numpy() == 51).all()
    assert (array == 61).all()
