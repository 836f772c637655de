"""Creation functions against NumPy, eagerly and under a trace."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.base.errors import ConcretizationError, DTypeError, ShapeError

CASES = [
    *[(name, args) for name in ("zeros", "ones") for args in ((3,), ((2, 0),), ((),), ((2, 3), "i4"), (2, "?"))],
    *[("full", args) for args in ((3, 7), ((2,), 1.5), ((2,), True), ((2, 2), 1, "f4"), ((2, 3), np.arange(3)))],
    *[(name, (np.ones((2, 3), "i2"),)) for name in ("zeros_like", "ones_like")],
    ("full_like", (np.ones(3, "i2"), 9)), ("full_like", (np.ones(3, "i2"), 2.5, "f8")), ("zeros_like", ([1.5, 2],)),
    ("eye", (3,)), ("eye", (2, 4, 1)), ("eye", (3, 2, -1, "i4")), ("eye", (0,)), ("identity", (2,)),
    ("tri", (3,)), ("tri", (3, 5, 1)), ("tri", (3, 2, -1, "?")),
    *[("arange", args) for args in ((5,), (2, 7), (7, 2, -2), (0,), (5, 2), (1.5,), (0.5, 3.0, 0.25), (3, 1, -0.5),
                                   (0, 1, 0.1), (1, 7, 2, "f4"), (0, 3, 1, "i1"), (2.0, 3.0, 5.0), (3, 4), (np.float32(2.5),))],
    *[("linspace", args) for args in ((0, 1), (0, 1, 5), (2.5, -1, 7, False), (0, 10, 4, True, False, "i4"), (0, 1, 1), (0, 1, 0),
                                     (3, 3, 4), (np.array([0, 1]), np.array([5.0, 9.0]), 3), (-3, 3, 4, True, False, int),
                                     (np.array([0, 1]), np.array([[5.0], [9.0]]), 3, True, False, None, 1), (0, 1, 5, True, True))],
    *[("logspace", args) for args in ((0, 2, 3), (0, 3, 4, False), (0, 3, 4, True, 2.0), (0, 2, 3, True, 10.0, "i4"))],
    *[("geomspace", args) for args in ((1, 1000, 4), (256, 1, 9), (-1, -1000, 4), (1, 8, 3, False), (2, 2, 3))],
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), CASES, ids=str)
def test_against_numpy(name, args, agrees):
    rtol = 1e-14 if name in ("linspace", "logspace", "geomspace") else 0
    agrees(lambda: getattr(tj, name)(*args), lambda: getattr(np, name)(*args), rtol=rtol)


def test_linspace_ends_are_exact():
    for count in (2, 3, 49, 50, 1000):
        np.testing.assert_array_equal(tj.linspace(0.1, 0.7, count).numpy(), np.linspace(0.1, 0.7, count))


def test_linspace_of_traced_bounds(agrees, check_gradients):
    agrees(
        lambda a, b: tj.linspace(a, b, 5),
        lambda a, b: np.linspace(a, b, 5),
        np.array(0.5),
        np.array(2.0),
        rtol=1e-14,
    )
    check_gradients(lambda a, b: tj.linspace(a, b, 5) ** 2, 0.5, [2.0, 1.0])
    check_gradients(lambda a, b: tj.geomspace(a, b, 5), 0.5, [2.0, 1.0])


def test_traces_hold_no_captures(traced):
    from tracejit.tracing.traces import trace_flat

    holders = trace_flat(
        lambda: ([tj.zeros(1000), tj.eye(30), tj.arange(1000), tj.linspace(0, 1, 900), tj.tri(30)], None), []
    ).captured
    assert holders == []
    with pytest.raises(ConcretizationError):
        traced(tj.arange, np.array(3))
    for bounds in ((5000,), (-3, 1e5, 0.7), (np.float32(1), 9000, np.int8(3)), (7000, 0, -1.3)):
        long = tj.jit(lambda bounds=bounds: tj.arange(*bounds))()
        np.testing.assert_allclose(long, np.arange(*bounds), rtol=1e-12)
        assert long.dtype == np.arange(*bounds).dtype
    assert tj.jit(lambda: tj.arange(2**45)[2**40])() == 2**40  # nobody makes the others
    assert tj.arange(np.array(3), dtype=int).tolist() == tj.arange(tj.tensor(3)).tolist() == [0, 1, 2]


def test_asarray():
    array = np.arange(3.0)
    assert np.shares_memory(tj.asarray(array).numpy(), array)
    x = tensor(array)
    assert tj.asarray(x) is x
    assert not np.shares_memory(tj.asarray(x, copy=True).numpy(), x.numpy())
    assert tj.asarray([1, 2], "f4").dtype == np.float32
    assert tj.asarray(np.arange(3), "f4").dtype == np.float32
    with pytest.raises(DTypeError, match="copy"):
        tj.asarray(array, "f4", copy=False)
    for bad in ("a", None, [None]):
        with pytest.raises(DTypeError):
            tj.asarray(bad)
    with pytest.raises(ShapeError, match="rectangular"):
        tj.asarray([[1], [1, 2]])


def test_arrays_of_tensors(agrees, check_gradients):
    agrees(lambda x: tj.tensor([x, 1.0, x * 2]), lambda x: np.array([x, 1.0, x * 2]), np.array(2.5))
    agrees(lambda x: tj.tensor([[x, 1], [2, x]]), lambda x: np.array([[x, 1], [2, x]]), np.array(2.5, "f4"))
    agrees(lambda x: tj.asarray([x, x]), lambda x: np.array([x, x]), np.array(2.5, "f4"))
    agrees(lambda x: tj.tensor([x[0], x[1]], "i4"), lambda x: np.array([x[0], x[1]], "i4"), np.ones((2, 3)))
    agrees(lambda x: tj.asarray([x, 3]), lambda x: np.array([x, 3]), np.array(2))
    agrees(tj.tensor, np.array, np.ones((2, 3)))
    check_gradients(lambda x: tj.tensor([x[0], 1.0, x[1] * x[0]]) ** 2, [0.5, 1.5])
    with pytest.raises(ShapeError, match="ragged"):
        tj.asarray([tensor([1.0, 2.0]), tensor(1.0)])


def test_constants_under_a_trace(traced):
    from tracejit.tracing.traces import trace_flat

    small, large = np.arange(64.0), np.arange(65.0)
    traced = trace_flat(lambda: ([tj.tensor(small.tolist()), tj.tensor(large), tj.tensor(2.0)], None), [])
    assert [instruction.op.name for instruction in traced.function.body] == ["constant", "copy", "full"]
    assert len(traced.captured) == 1


def test_errors():
    for call in (
        lambda: tj.zeros(-1),
        lambda: tj.ones(2.5),
        lambda: tj.arange(0, 1, 0),
        lambda: tj.linspace(0, 1, -1),
        lambda: tj.full((2,), np.ones(3)),
    ):
        with pytest.raises(ShapeError):
            call()
    for call in (lambda: tj.zeros(2, "c32"), lambda: tj.full(2, 300, "i1"), lambda: tj.arange("a")):
        with pytest.raises(DTypeError):
            call()


def test_default_dtype():
    tj.set_default_dtype("f4")
    try:
        assert tj.zeros(2).dtype == np.float32
        assert tj.arange(0.0, 1.0, 0.5).dtype == np.float32
        assert tj.linspace(0, 1, 3).dtype == np.float32
        assert tj.full(2, 1.5).dtype == np.float32
        assert tj.eye(2).dtype == np.float32
        assert tj.where([True], 1.0, 0.0).dtype == np.float32
        assert tj.mean([1, 2]).dtype == np.float32
        assert tj.arange(3).dtype == np.int64
    finally:
        tj.set_default_dtype("f8")


def test_the_namespace_is_complete():
    module = sys.modules["tracejit.array"]
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("start", "stop", "base", "axis"),
    [
        (2.0, 3.0, [2.0, 3.0], -1),
        (2.0, 3.0, [2, 3], 0),
        ([1.0, 2.0], 3.0, [[2.0], [3.0]], 1),
        (0, 2, np.float32(2), 0),
    ],
)
def test_logspace_of_several_bases(start, stop, base, axis):
    theirs = np.logspace(start, stop, 4, base=base, axis=axis)
    ours = tj.logspace(start, stop, 4, base=base, axis=axis)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert np.allclose(ours.numpy(), theirs)


@pytest.mark.parametrize("dtype", [None, "f4", "c16", "i2"])
def test_large_copies_begin_a_line(dtype):
    """Copies begin a line wherever the copied array begins; in its order, and with memory of its own."""
    memory = np.arange(40_010, dtype="f8")
    for start in range(8):
        source = memory[start : start + 40_000].reshape(200, 200)
        for array in (source, source.T, source[::2]):
            copy = tensor(array, dtype).numpy()
            expected = np.array(array, dtype)
            np.testing.assert_array_equal(copy, expected, strict=True)
            assert copy.strides == expected.strides
            assert not np.shares_memory(copy, array)
        assert tensor(source, dtype).numpy().__array_interface__["data"][0] % 64 == 0
