"""Objects with broken protocols, subclasses, huge shapes, arrays written by others."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE


class RaisingArray:
    def __array__(self, *args, **kwargs):
        raise RuntimeError("mine")


class LyingArray:
    def __array__(self, *args, **kwargs):
        return "no array"


class RaisingIndex:
    def __index__(self):
        raise RuntimeError("mine")


class LyingIndex:
    def __index__(self):
        return "x"


class GoodArray:
    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])


USES = {
    "tensor": lambda v: tj.tensor(v),
    "operand": lambda v: tj.ones(2) + v,
    "argument": lambda v: tj.jit(lambda x: x + 1)(v),
    "captured": lambda v: tj.jit(lambda x: x + v)(tj.ones(2)),
    "index": lambda v: tj.ones(2)[v],
    "shape": lambda v: tj.ones(2).reshape(v),
    "axis": lambda v: tj.ones(2).sum(axis=v),
    "fill": lambda v: tj.full(2, v),
    "write": lambda v: tj.ones(2).__setitem__(0, v),
    "static": lambda v: tj.jit(lambda x, n: x * 2, static_argnums=1)(tj.ones(2), v),
    "result": lambda v: tj.jit(lambda x: v)(1.0),
    "gradient": lambda v: tj.grad(lambda x: x.sum())(v),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "make",
    [
        RaisingArray,
        LyingArray,
        RaisingIndex,
        LyingIndex,
        object,
        lambda: "12",
        lambda: {1, 2},
        lambda: b"ab",
        lambda: 10**400,
        lambda: [[1, 2], [3]],
        lambda: [[], [1]],
        lambda: print,
    ],
)
def test_objects_with_broken_protocols(use, make):
    value = make()
    try:
        USES[use](value)
    except Exception as error:
        mistakes = (AttributeError, AssertionError, SystemError, UnboundLocalError)
        assert not isinstance(error, mistakes), repr(error)  # noqa: PT017  # which error is the table's row
    assert STATE.tracer is None
    assert STATE.recording is True
    assert (tj.tensor([1.0]) + 1).tolist() == [2]


def test_subclasses():
    class Array(np.ndarray):
        pass

    class Float(float):
        pass

    class Int(int):
        pass

    f = tj.jit(lambda x: x + 1)
    view = np.array([1.0, 2.0]).view(Array)
    for _ in range(2):
        assert type(f(view)) is tj.Tensor
        assert f(view).tolist() == [2, 3]
    assert (tj.ones(2) + Float(2.5)).tolist() == [3.5, 3.5]
    assert (tj.ones(2) * Int(3)).tolist() == [3, 3]
    assert tj.tensor(GoodArray()).tolist() == [1, 2]
    for number in (Float(2.5), Int(2)):
        try:
            assert f(number).item() == number + 1
        except tj.DTypeError as error:
            assert "argument args[0] has type" in str(error)  # noqa: PT017

    class Dict(dict):
        pass

    with pytest.raises(tj.DTypeError, match=r"argument args\[0\] has type Dict"):  # as JAX: register it
        tj.jit(lambda d: d)(Dict(a=1.0))


def test_overlapping_and_broadcast_views_as_results_of_tricks():
    base = np.arange(10.0)
    windows = np.lib.stride_tricks.sliding_window_view(base, 4)
    zeros = np.lib.stride_tricks.as_strided(base, (3, 3), (0, 0))
    backwards = base[::-2]
    for x in (windows, zeros, backwards):
        for mode in (lambda g, v: g(tj.asarray(v)), lambda g, v: tj.jit(g)(v)):
            assert mode(lambda t: t.sum(axis=0), x).tolist() == x.sum(axis=0).tolist()
            assert mode(lambda t: t * 2, x).tolist() == (x * 2).tolist()
    assert base.tolist() == list(range(10))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tj.zeros((1 << 40, 1 << 20)),
        lambda: tj.zeros((1 << 62, 1 << 62)),
        lambda: tj.broadcast_to(tj.ones(2), (1 << 40, 2)) + 1,
        lambda: tj.arange(1e15),
        lambda: tj.tile(tj.ones(2), 1 << 45),
        lambda: tj.pad(tj.ones(2), 1 << 45),
        lambda: tj.ones(1 << 20)[:, None] * tj.broadcast_to(tj.ones(1), (1 << 25,)),
    ],
)
def test_huge_shapes(make):
    for f in (make, lambda: tj.jit(make)()):
        with pytest.raises((MemoryError, ValueError)):
            f()
        assert STATE.tracer is None


def test_read_only_tensors_refuse_writes():
    a = np.ones(2)
    a.flags.writeable = False
    x = tj.asarray(a)
    with pytest.raises(tj.TracejitError, match="read-only"):
        x += 1
    with pytest.raises((tj.TracejitError, ValueError), match="read-only"):
        x[0] = 2.0
    assert a.tolist() == [1, 1]
    assert tj.jit(lambda t: t + 1)(a).tolist() == [2, 2]


def test_writing_to_a_captured_array_from_another_thread():
    w = np.zeros(1000)
    f = tj.jit(lambda x: x + w)
    x = np.ones(1000)
    stop = threading.Event()

    def write():
        value = 0.0
        while not stop.is_set():
            value = 1.0 - value
            w[:] = value

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(3000):
            assert set(f(x).tolist()) <= {1.0, 2.0}
    finally:
        stop.set()
        writer.join()
