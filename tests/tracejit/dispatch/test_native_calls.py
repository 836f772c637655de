"""Eager calls that go to NumPy's builtin functions natively (`EagerFunction`): the same values,
errors, views and gradients as the Python functions that they stand for."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.dispatch import native_ops
from tracejit.dispatch.eager_functions import FUNCTIONS
from tracejit.dispatch.native_ops import entry_layout_of_tensors
from tracejit.ir.registry import OPS
from tracejit.runtime.native.eager import NativeOps, eager_problem
from tracejit.tape.views import views_of

from .native_calls import native_calls

if sys.implementation.name != "cpython" or sys.platform != "linux":
    pytest.skip("native code for eager ops is for CPython on Linux", allow_module_level=True)
assert not eager_problem()


@pytest.fixture(autouse=True)
def _loaded() -> None:
    assert native_ops.load() == ""


AXES = (None, 0, 1, -1, -2, 5, (0,), (0, 1), (1, 1), (), True, np.int64(0), 0.0, "0")
CALLS: dict[str, Callable[..., Any]] = {
    **{
        f"{name} {axis!r} {keepdims}": lambda x, name=name, axis=axis, keepdims=keepdims: getattr(tj, name)(
            x, axis, keepdims=keepdims
        )
        for name in ("sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin")
        for axis in AXES
        for keepdims in (False, True)
    },
    **{
        f"reshape {shape!r}": lambda x, shape=shape: tj.reshape(x, shape)
        for shape in (
            6, -1, (3, 2), (-1, 2), (6, 1), (-2, 3), (-1, -1), (2, 4), [3, 2], (True, 6), 6.0, (), 2**70,
        )
    },
    **{
        f"transpose {axes!r}": lambda x, axes=axes: tj.transpose(x, axes)
        for axes in (None, (1, 0), (0, 1), (-1, 0), [1, 0], (0, 0), (0, 2), (0,), (), 0, (1, False), ("a", 0))
    },
    **{
        f"index {key!r}": lambda x, key=key: x[key]
        for key in (
            0, -1, 7, slice(1), slice(None, None, -1), slice(1, None), slice(5, 9), slice(None, None, 0),
            None, ..., (0, 0), (0, -9), (..., 0), (None, 0), (0, None), (slice(None), None), (slice(None), 1),
            (..., ...), (0, 0, 0), (slice(None), slice(0, 2)), (), (0, ...), True, 1.0, "a", (0, "a"),
            slice(1.0), [1, 0], np.int64(1), np.array([0, 1]), (0, slice(np.int64(1))),
        )
    },
    "index tensor": lambda x: x[tj.tensor([1, 0, 0])],
    "index negative": lambda x: x[tj.tensor([[-1], [0]])],
    "index outside": lambda x: x[tj.tensor([7])],
    "index rank 0": lambda x: x[tj.tensor(1)],
    "index i32": lambda x: x[tj.tensor([0, 1], dtype=tj.int32)],
    "index slice of tensor": lambda x: x[tj.tensor(0) : tj.tensor(1)],
    "T": lambda x: x.T,
    "ravel": tj.ravel,
    "copy": tj.copy,
    "copy in C order": lambda x: x.copy(),
    "mT": lambda x: x.mT,
    **{
        f"swapaxes {axes!r}": lambda x, axes=axes: x.swapaxes(*axes)
        for axes in ((0, -1), (0, 1), (1, 1), (0, 2), (True, 0), (0.0, 1), (None, 0), ((0,), 1), ([0], 1))
    },
    **{
        f"method transpose {axes!r}": lambda x, axes=axes: x.transpose(*axes)
        for axes in ((), (None,), (1, 0), ((1, 0),), ([1, 0],), (0,), (0, 0), (0, 2), ("a",), (1.0, 0))
    },
    **{
        f"diagonal {arguments!r}": lambda x, arguments=arguments: x.diagonal(*arguments)
        for arguments in ((), (1,), (-1,), (9,), (0, 1, 0), (0, 0, 0), (1.5,), (True,), (0, 0, 2), (None,))
    },
    "diagonal of planes": lambda x: tj.diagonal(x[None], 1, 2, 1),
    **{
        f"flip {axis!r}": lambda x, axis=axis: tj.flip(x, axis)
        for axis in (None, 0, -1, (0, 1), (), (0, 0), 5, 1.0, "a")
    },
    **{
        f"broadcast_to {shape!r}": lambda x, shape=shape: tj.broadcast_to(x, shape)
        for shape in ((4, 2, 3), (2, 3), 3, (3,), -1, (-1, 3), [2, 2, 3], (2, 3.0), "a", None, (4, 0, 3))
    },
    "moveaxis": lambda x: tj.moveaxis(x, 0, -1),
    "moveaxis of several": lambda x: tj.moveaxis(x[None], (0, 1), (2, 0)),
    "moveaxis to itself": lambda x: tj.moveaxis(x, 0, 0),
    "view": lambda x: x.view(),
    "split": lambda x: tj.concatenate(tj.split(x, x.shape[0])[::-1]),
    **{
        f"squeeze {axis!r}": lambda x, axis=axis: x[None, :, None].squeeze(axis)
        for axis in (None, 0, 2, -2, 1, (0, 2), [0, 2], (0, 0), (), 9, 0.0, True, "a")
    },
    "squeeze": tj.squeeze,
    "squeeze 0": lambda x: tj.squeeze(x, 0),
    "squeeze new": lambda x: tj.squeeze(x[:, None], 1),
    "expand_dims": lambda x: tj.expand_dims(x, -1),
    "expand_dims 1": lambda x: tj.expand_dims(x, 1),
    "expand_dims 9": lambda x: tj.expand_dims(x, 9),
    **{f"astype {name}": lambda x, name=name: x.astype(name) for name in ("f4", "f8", "i8", "?", "u1", "O")},
    "matmul": lambda x: x @ x,
    "matmul T": lambda x: x @ x.T,
    "matmul vector": lambda x: x @ x[0],
    "vector matmul": lambda x: x[0] @ x.T,
    "matmul of vectors": lambda x: x[0] @ x[1],
    "matmul number": lambda x: tj.matmul(x, 2.0),
    "where": lambda x: tj.where(x > 0, x, 2 * x),
    "where numbers": lambda x: tj.where(x > 0, 1.5, x),
    "where number": lambda x: tj.where(1, x, 2),
    "where shapes": lambda x: tj.where(tj.tensor([True, False, True]), x, 0.0),
    "where misfit": lambda x: tj.where(tj.ones(9) > 0, x, 0.0),
    "concatenate": lambda x: tj.concatenate([x, 2 * x]),
    "concatenate -1": lambda x: tj.concatenate((x, x, x), -1),
    "concatenate 5": lambda x: tj.concatenate((x, x), 5),
    "concatenate dtypes": lambda x: tj.concatenate([x, x.astype("f4")]),
    "concatenate lists": lambda x: tj.concatenate([x, [[1.0] * 3]]),
    "concatenate nothing": lambda x: tj.concatenate([]),
    "concatenate many": lambda x: tj.concatenate([x] * 9),
    "concatenate numbers": lambda x: tj.concatenate([x, 1.0]),
    "stack": lambda x: tj.stack([x, 2 * x]),
    "stack -1": lambda x: tj.stack((x, x), -1),
    "stack 1": lambda x: tj.stack((x, x), 1),
    "stack 9": lambda x: tj.stack((x, x), 9),
    "stack -9": lambda x: tj.stack((x, x), -9),
    "stack shapes": lambda x: tj.stack([x, x[:1]]),
    "stack lists": lambda x: tj.stack([x, x.detach().tolist()]),
    "add row": lambda x: x + x[0],
    "add column": lambda x: x[:, None] * x[:1],
    "add misfit": lambda x: x + tj.ones(17),
    "maximum of bounds": lambda x: tj.maximum(x.T, 0),
}  # fmt: skip
ARRAYS = {
    "f64": np.array([[1.5, -2.0, 3.0], [0.0, 5.0, -6.5]]),
    "f32": np.array([[1.5, -2.0, 3.0], [0.0, 5.0, -6.5]], "f4"),
    "i64": np.array([[1, -2, 3], [0, 5, -6]]),
    "u8": np.array([[1, 2, 3], [0, 5, 200]], "u1"),
    "bool": np.array([[True, False, True], [False, False, True]]),
    "turned": np.arange(6.0).reshape(3, 2).T,
    "strided": np.arange(24.0).reshape(4, 6)[::2, ::-2],
    "square": np.array([[1.0, 2.0], [3.0, -4.0]]),
    "vector": np.array([3.0, -1.0, 2.0]),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "nan": np.array([[np.nan, 1.0, np.inf], [2.0, -np.inf, -0.0]]),
    "huge": np.array([[1e300, -1e300, 1.0], [1e308, 1e308, 1e-320]]),
}


def outcome(function: Callable[..., Any], array: np.ndarray[Any, Any], *, graded: bool) -> tuple[Any, ...]:
    """The outcome of a call for the user: bits, errors, warnings, memory, and the gradient."""
    x = tj.tensor(array)
    x._data = array  # as it lies: `tensor` copies
    if graded:
        x.requires_grad_()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(x)
        except Exception as error:
            return type(error), str(error)
        data = result.detach().numpy()
        facts: tuple[Any, ...] = (
            data.tobytes(), data.dtype, data.shape, result.requires_grad, np.may_share_memory(data, array),
            result._memory is not None and result._memory is x._memory, data.flags.c_contiguous,
            sorted(str(warning.message) for warning in seen),
        )  # fmt: skip
        if result.requires_grad:
            (result * np.arange(1.0, 1 + data.size).reshape(data.shape)).sum().backward()
            facts += (x.grad.numpy().tobytes(), x.grad.shape, x.grad.dtype)
    return facts


@pytest.mark.parametrize(
    ("array", "graded"),
    [
        (name, graded)
        for name, array in ARRAYS.items()
        for graded in (False, True)[: 1 + (array.dtype.kind == "f")]
    ],
)
def test_like_the_python_functions(array: str, graded: bool) -> None:
    data = ARRAYS[array]
    for name, function in CALLS.items():
        native = outcome(function, data, graded=graded)
        with native_calls(False):
            plain = outcome(function, data, graded=graded)
        assert native == plain, name


def test_most_calls_are_native() -> None:
    """Most calls are native, so that the test above does not compare the Python functions with themselves."""
    x, missed = tj.tensor(ARRAYS["f64"]), []
    natives = NativeOps(entry_layout_of_tensors())  # type: ignore[arg-type]
    arguments = {
        "sum": (0, None, None, True), "mean": (None, None, None, False), "argmax": (1,),
        "reshape": ((3, -1),), "transpose": (None,), "getitem": ((slice(1), None, ...),),
        "cast": (np.dtype("f4"),), "copy": (),
        "where": (x, 0.5), "gather": (tj.tensor([1]),),
    }  # fmt: skip
    for function in FUNCTIONS:
        name = function.op.name
        if name in arguments:
            native = function.make(natives, lambda *arguments: missed.append(arguments))
            assert isinstance(native(x, *arguments.pop(name)), tj.Tensor), name
    assert not missed
    assert not arguments


def test_views_are_views() -> None:
    def program() -> list[Any]:
        x = tj.tensor(np.arange(12.0).reshape(3, 4))
        w = tj.tensor([2.0, 3.0], requires_grad=True)
        row, turned, flat = x[1], x.T, x.reshape(-1)
        part = turned[1:3].reshape((2, 3))[:, None]
        part[0, 0, 1] = w[0] * 5
        flat[7:9] = w
        row.mul_(2.0)
        loss = sum((tensor * tensor).sum() for tensor in (x, row, turned, flat, part))
        loss.backward()
        return [tensor.detach().numpy().tolist() for tensor in (x, row, turned, flat, part, w.grad)] + [
            x._memory[0],
            len(x._aliases),
        ]

    native = program()
    with native_calls(False):
        assert native == program()


def test_a_view_made_without_gradients_is_refused_when_written() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True) * 1.0
    with tj.no_grad():
        views = [x[:1], x.reshape(2, 1), x.T]
    for view in views:
        with pytest.raises(tj.GradientError, match="while gradients were not recorded"):
            view.mul_(2.0)


def test_a_value_saved_with_its_axes_is_found_out_when_written() -> None:
    x = tj.tensor([[1.0, 2.0]], requires_grad=True)
    top = x.max(1, keepdims=True)
    loss = (top * 1.0).sum()
    top.detach().add_(1.0)
    with pytest.raises(tj.GradientError, match="modified in place"):
        loss.backward()


@pytest.mark.parametrize("name", ["sum", "mean", "max", "prod"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_gradients_of_gradients(name: str, keepdims: bool) -> None:
    def loss(x: tj.Tensor) -> tj.Tensor:
        return (getattr(x, name)(1, keepdims=keepdims) ** 3).sum() * x[0, 1] + x[1:, ::2].sum() ** 2

    x = tj.tensor(np.array([[1.5, -2.0, 3.0], [0.5, 5.0, -6.5]]), requires_grad=True)
    assert tj.autograd.gradgradcheck(loss, (x,))
    graph = tj.graph_of(loss(x))
    assert np.allclose(
        tj.grad(lambda x: loss(x))(x.detach()).numpy(), tj.autograd.grad(loss(x), x)[0].numpy()
    )
    assert "reduce" not in str(graph)


def test_what_kernels_may_do() -> None:
    natives = NativeOps(entry_layout_of_tensors())  # type: ignore[arg-type]
    x = tj.tensor([1.0, 2.0])

    def made(kernel: Callable[..., Any]) -> Callable[..., Any]:
        return natives.make_call(kernel, lambda *arguments: ("slow", arguments), None)

    def interrupted(array: Any) -> Any:
        raise KeyboardInterrupt

    for unsuitable in (lambda a: None, lambda a: 1.5, lambda a: (a,), lambda a: 1 / 0, lambda: None):
        assert made(unsuitable)(x) == ("slow", (x,))
    with pytest.raises(KeyboardInterrupt):
        made(interrupted)(x)
    assert made(np.negative)(x).tolist() == [-1.0, -2.0]
    assert made(lambda a: a[0])(x).tolist() == 1.0
    assert made(lambda a, *more: a * len(more))(x, 1, 2, 3, 4, 5, 6).tolist() == [6.0, 12.0]
    assert made(lambda a, *more: a)(x, *range(9))[0] == "slow"
    assert made(np.negative)()[0] == "slow"
    for second in ("key", "axis", "shape", "matrix"):
        native = natives.make_call(np.copy, lambda *arguments: ("slow", arguments), None, second=second)
        assert native(x)[0] == "slow"  # there is no second argument to look at
    for other in ([1.0], np.ones(2), None, "x"):
        assert made(np.negative)(other)[0] == "slow"


def test_another_kernel_is_asked() -> None:
    x = tj.tensor([[1.0, 2.0]])
    seen: list[str] = []

    def watched(op: Any) -> Callable[..., Any]:
        def kernel(*arrays: Any, **attrs: Any) -> Any:
            seen.append(op.name)
            return op.eval(*arrays, **attrs)

        return kernel

    OPS.use_kernels(watched)
    try:
        x.sum(0), x.reshape(2), x.T, x @ x.T, tj.where(x > 1, x, 0.0), tj.concatenate([x, x])
    finally:
        OPS.use_kernels(None)
    assert set(seen) >= {"sum", "reshape", "transpose", "matmul", "where", "gt", "concat"}
    count = len(seen)
    assert x.sum().tolist() == 3.0
    assert len(seen) == count


def test_nothing_is_kept() -> None:
    x = tj.tensor(np.ones((2, 3)))
    key, shape, index = (slice(None), None), (3, 2), tj.tensor([0, 1])

    def calls() -> None:
        x[0], x[key], x.reshape(shape), x.T, x.sum(0), x.max(), x[index], x.T[1:][0]
        tj.where(x > 0, x, 0.0), tj.concatenate([x, x]), tj.stack([x, x]), x.astype("f4"), x.copy()
        for wrong in (lambda: x[9], lambda: x.reshape(7), lambda: x.sum(5), lambda: x @ x):
            with pytest.raises((tj.AxisError, tj.ShapeError, tj.OutOfBoundsError)):
                wrong()

    calls()
    gc.collect()
    watched = (x, x._data, key, shape, index, index._data, x._memory, None)
    before = [sys.getrefcount(operand) for operand in watched[:-1]]
    for _ in range(200):
        calls()
    gc.collect()
    assert [sys.getrefcount(operand) for operand in watched[:-1]] == before
    assert not views_of(x)
    view = x.T[1:]
    gone = weakref.ref(view)
    assert views_of(x) == [view]
    del view
    assert gone() is None
    assert not views_of(x)


def test_the_list_of_views_stays_short() -> None:
    """References to views that died are left out now and then, those to living ones never."""

    def longest() -> int:
        x = tj.tensor(np.arange(600.0))
        kept, most = [], 0
        for i in range(3000):
            first, second = x[i % 500 :], x[i % 500]
            if i % 10 == 0:
                kept.append(first)
            most = max(most, len(x._aliases))
            assert second.shape == ()
        assert {id(view) for view in kept} <= {id(view) for view in views_of(x)}
        return most

    assert longest() <= 2 * 300 + 66
    with native_calls(False):
        assert longest() <= 2 * 300 + 66


@pytest.mark.parametrize("native", [True, False])
def test_views_of_several_threads_stay_known(native: bool) -> None:
    """One thread shortens the list of views while others add to it."""

    def make_views(kept: list[tj.Tensor]) -> None:
        for i in range(4000):
            view = x[i % 50 :]
            if i % 7 == 0:
                kept.append(view)

    x, interval = tj.tensor(np.arange(60.0)), sys.getswitchinterval()
    kept: list[list[tj.Tensor]] = [[] for _ in range(4)]
    threads = [threading.Thread(target=make_views, args=(views,)) for views in kept]
    sys.setswitchinterval(1e-6)
    try:
        with native_calls(native):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert {id(view) for views in kept for view in views} <= {id(view) for view in views_of(x)}
