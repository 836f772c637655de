"""`concatenate` and `stack` of small tensors, natively (`codegen.native.eager.inner_loops`): the same values,
errors and gradients as the Python functions, whatever happens to the list meanwhile."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.array import joining
from tracejit.dispatch import native_ops
from tracejit.dispatch.eager_functions import EagerFunction
from tracejit.dispatch.native_ops import entry_layout_of_tensors
from tracejit.ir.registry import OPS
from tracejit.runtime.native.eager import NativeOps

from .native_calls import native_calls

if sys.implementation.name != "cpython" or sys.platform != "linux":
    pytest.skip("native code for eager ops is for CPython on Linux", allow_module_level=True)


@pytest.fixture(autouse=True)
def _loaded() -> None:
    assert native_ops.load() == ""


class Native:
    """A native join with a count of the calls that it gave back."""

    def __init__(self, joined: EagerFunction) -> None:
        natives = NativeOps(entry_layout_of_tensors())  # type: ignore[arg-type]
        self.missed, self.plain = 0, lambda arrays, axis: joined.python(arrays, axis)
        stacking = joined is joining._STACK
        self.call = natives.make_join(self._slow, joined.remember, stacking=stacking)

    def _slow(self, *arguments: Any) -> Any:
        self.missed += 1
        return self.plain(*arguments)


@pytest.fixture(scope="module")
def concat() -> Native:
    return Native(joining._CONCAT)


@pytest.fixture(scope="module")
def stack() -> Native:
    return Native(joining._STACK)


def facts(function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """The outcome of a call: bits, dtype and shape, or the error."""
    try:
        result = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    assert type(result) is tj.Tensor
    data = result._data
    return data.tobytes(), data.dtype, data.shape, result.requires_grad, data.flags.c_contiguous


def counted(shape: tuple[int, ...], dtype: Any, start: int) -> tj.Tensor:
    return tj.asarray(np.arange(start, start + np.prod(shape, dtype=int)).astype(dtype).reshape(shape))


DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
SHAPES = ((), (1,), (5,), (2, 3), (3, 1), (1, 1, 4), (2, 3, 4), (2,) * 7, (0,), (2, 0), (0, 2), (3, 0, 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype: str, concat: Native, stack: Native) -> None:
    for shape, count in itertools.product(SHAPES, (1, 2, 3, 9)):
        arrays = [counted(shape, dtype, 7 * place) for place in range(count)]
        for axis in range(-len(shape) - 2, len(shape) + 2):
            for native in (concat, stack):
                for operands in (arrays, tuple(arrays)):
                    missed = native.missed
                    assert facts(native.call, operands, axis) == facts(native.plain, operands, axis)
                    rank = len(shape) + (native is stack)
                    assert (native.missed > missed) == (not -rank <= axis < rank), (shape, axis)


def test_sizes_along_the_axis_may_differ(concat: Native) -> None:
    missed = concat.missed
    for axis in range(3):
        for sizes in ((1, 4, 2), (0, 3), (3, 0, 0, 1), (0, 0)):
            shapes = [(*(2, 3, 2)[:axis], size, *(2, 3, 2)[axis + 1 :]) for size in sizes]
            arrays = [counted(shape, "f4", 5 * place) for place, shape in enumerate(shapes)]
            assert facts(concat.call, arrays, axis) == facts(concat.plain, arrays, axis)
    assert concat.missed == missed


def test_which_are_native(concat: Native, stack: Native) -> None:
    """The calls that are native, and the first that are not: larger ones are left to NumPy."""
    row, half, many = tj.ones(4096), tj.ones(2048), [tj.ones(1)] * 512
    deep = tj.ones((1,) * 15)
    for native, arrays, missed in (
        (stack, [row], 0), (concat, [row], 0), (stack, [half, half], 0), (concat, [half, half], 0),
        (concat, many, 0), (stack, many, 0), (stack, [tj.tensor(1.0)] * 3, 0), (stack, [deep], 0),
        (stack, [row, row], 1), (concat, [row, tj.ones(1)], 1), (concat, [tj.ones(4097)], 1),
        (concat, [*many, tj.ones(1)], 1), (stack, [deep[None]], 1), (concat, [deep[None]], 0),
        (concat, [deep[None, None]], 1), (concat, [tj.ones((64, 65))], 1), (concat, [tj.ones((2, 3)).T], 1),
        (concat, [np.ones(4)], 1), (stack, [row, np.ones(4096)], 1),
        (concat, [tj.ones(4)[::2]], 1), (concat, [tj.ones(4)[1:]] * 2, 0),
    ):  # fmt: skip
        before = native.missed
        assert facts(native.call, arrays, 0) == facts(native.plain, arrays, 0)
        assert native.missed - before == missed, (arrays[0].shape, len(arrays))


def odd_arguments() -> Iterator[tuple[Any, ...]]:
    x, scalar = tj.asarray(np.arange(6.0).reshape(2, 3)), tj.tensor(1.0)
    swapped, readonly = tj.asarray(np.ones((2, 3))), tj.asarray(np.ones((2, 3)))
    swapped._data = np.arange(6.0).reshape(2, 3).astype(">f8")
    readonly._data.flags.writeable = False
    aliased, huge, odd = (tj.asarray(np.ones((2, 3))) for _ in range(3))
    aliased._data = np.lib.stride_tricks.as_strided(np.ones(1), (2, 3), (0, 0))
    huge._data = np.lib.stride_tricks.as_strided(np.ones(1), (2**39, 2**20), (0, 0))
    odd._data = np.frombuffer(b"\0" * 49, np.uint8)[1:].view("f8").reshape(2, 3)
    empty = tj.asarray(np.zeros((2, 3)))
    empty._data = np.zeros((2**20, 0, 2**20))

    class Listed(list):  # type: ignore[type-arg]
        pass

    class Sub(tj.Tensor):
        pass

    sub = object.__new__(Sub)
    for name in tj.Tensor.__slots__[1:]:
        setattr(sub, name, getattr(x, name))
    for arrays in (
        [], (), [x], [x, x], (x, x, x), Listed([x, x]), iter([x, x]), (y for y in (x, x)), {0: x}, x, None, 5,
        [x, x.numpy()], [x, [[1.0] * 3] * 2], [x, 1.0], [1.0, 2.0], [x, None], [None], [x, "text"],
        [x, object()], [x, x[0]], [x, x[:1]], [x, x.T], [x, x[:, :2]], [scalar, scalar], [x, scalar],
        [x, x.astype("f4")], [x, x.astype("i8")], [swapped, swapped], [x, swapped], [readonly, x],
        [aliased, x], [odd, odd], [sub, x], [x, sub], [empty, empty], [empty], [x, [x, x]],
        [[x, x], [x, x]], np.ones((2, 3)), "ab",
        {x}, [huge[:2, :3], x], [tj.zeros((0, 3)), x], [x, tj.zeros((2, 0))],
    ):  # fmt: skip
        yield arrays, 0
    for axis in (
        True,
        False,
        None,
        1.0,
        "0",
        np.int64(1),
        2**31,
        2**63,
        -(2**63),
        -(2**70),
        3,
        -4,
        (0,),
        [1],
    ):
        yield [x, x], axis


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_everything_else_is_what_python_says(name: str) -> None:
    first, second = odd_arguments(), odd_arguments()  # some of them can be used once
    for native, plain in zip(first, second, strict=True):
        got = facts(getattr(tj, name), *native)
        with native_calls(False):
            want = facts(getattr(tj, name), *plain)
        named = "0x" in str(want)  # of an object of either
        assert got[:4] == want[:4] or (named and got[0] is want[0]), native


def test_other_calls(concat: Native) -> None:
    x = tj.ones(2)
    for arguments in ((), ([x],), ([x], 0, None)):
        with pytest.raises(TypeError):
            concat.call(*arguments)
    with pytest.raises(AttributeError):
        concat.call([object.__new__(tj.Tensor), x], 0)
    huge = tj.ones(1)
    huge._data = np.lib.stride_tricks.as_strided(np.ones(1), (2**39, 2**20), (0, 0))
    with pytest.raises((MemoryError, ValueError)):
        concat.call([huge, huge], 0)


# -- who looks at kernels ----------------------------------------------------------------------------


def test_other_kernels_and_traces_are_asked() -> None:
    x, seen = tj.ones(3), []
    before, foreign = OPS["concat"].eval, set(OPS.foreign)
    try:
        OPS.change(OPS["concat"], eval=lambda *xs, axis: seen.append(axis) or before(*xs, axis=axis))
        tj.stack([x, x], 1), tj.concatenate([x, x], -1)
    finally:
        OPS.change(OPS["concat"], eval=before)
        OPS.foreign &= foreign
    assert seen == [1, 0]
    tj.stack([x, x]), tj.concatenate([x, x])
    assert len(seen) == 2
    with tj.profile() as profile:
        tj.stack([x, x])
    assert "concat" in str(profile)
    f = tj.jit(lambda x: tj.stack([x, x * 2.0]) + tj.concatenate([x, x])[0])
    assert " concat(" in f.lower(x).as_text("trace")
    assert f(x).tolist() == [[2.0] * 3, [3.0] * 3]


# -- memory ------------------------------------------------------------------------------------------


def test_nothing_is_kept(concat: Native, stack: Native) -> None:
    x, w = tj.ones((2, 3)), tj.ones((2, 3), requires_grad=True)
    arrays, mixed = [x, x], (x, w, w)
    watched = (x, x._data, w, w._data, arrays, mixed, x._data.dtype, None, True, 1, 300)

    def calls() -> None:
        for native in (concat, stack):
            for axis in (0, 1, -1):
                native.call(arrays, axis), native.call(mixed, axis), native.call([w, x], axis)
            native.call([w] * 300, 0)
            native.call(mixed, 1).sum().backward()
            for wrong in (7, -9, 2**70):
                with pytest.raises(tj.AxisError):
                    native.call(mixed, wrong)
            with pytest.raises(tj.ShapeError):
                native.call([x, tj.ones(2)], 0)

    calls()
    gc.collect()
    before = [sys.getrefcount(operand) for operand in watched]
    for _ in range(100):
        calls()
    gc.collect()
    after = [sys.getrefcount(operand) for operand in watched]
    assert all(abs(actual - other) < 20 for actual, other in zip(after, before, strict=True)), (before, after)


def test_what_recording_raises_is_raised() -> None:
    def remember(result: Any, axis: Any, *parts: Any) -> None:
        assert (axis, result.shape, len(parts)) == (1, (3, 2), 2)
        raise KeyError("no")

    natives = NativeOps(entry_layout_of_tensors())  # type: ignore[arg-type]
    native = natives.make_join(lambda *arguments: "slow", remember, stacking=True)
    x = tj.ones(3, requires_grad=True)
    before = sys.getrefcount(x)
    for _ in range(100):
        with pytest.raises(KeyError):
            native([x, x], -1)
    assert sys.getrefcount(x) == before
    assert native([x.detach()], 0).tolist() == [[1.0] * 3]


HOSTILE = """
import gc, sys
import numpy as np
import tracejit as tj
from tracejit.dispatch import native_ops
from tracejit.array import joining
from tracejit.dispatch.native_ops import entry_layout_of_tensors
from tracejit.runtime.native.eager import NativeOps

assert native_ops.load() == ""
natives, missed, waiting = NativeOps(entry_layout_of_tensors()), [], []

def collecting(phase, info):          # runs where the Tensor of the result is made, or later
    while waiting:
        waiting.pop()()

def arrays(n):
    return [tj.tensor(np.full(5, float(one)), requires_grad=one % 2 == 0) for one in range(n)]

CHANGED = (                           # what was looked at has changed: slow
    lambda given: given.clear(),
    lambda given: given.extend(arrays(40)),
    lambda given: given.pop(),
    lambda given: given.__setitem__(0, tj.ones(3)),
    lambda given: given.__setitem__(1, None),
    lambda given: given.__setitem__(2, np.ones(5)),
    lambda given: setattr(given[0], "data", np.full(7, 9.0)),
    lambda given: setattr(given[1], "data", np.full(5, 9.0, "f4")),
    lambda given: setattr(given[1], "data", np.full((5, 2), 9.0)[:, 0]),
    lambda given: setattr(given[1]._data, "shape", (5, 1)),
    lambda given: given[1]._data.resize(100_000, refcheck=False),
    lambda given: delattr(given[1], "_data"),
)
SAME = (                              # the type is still that: what is there now is joined
    lambda given: given.__setitem__(slice(None), [tj.tensor(np.full(5, 9.0)) for _ in given]),
    lambda given: setattr(given[1], "data", np.full(5, 9.0)),
    lambda given: given.reverse(),
    lambda given: given[1].requires_grad_(),
    lambda given: [one.requires_grad_(False) for one in given],
)

def slow(*arguments):
    missed.append(arguments)

gc.callbacks.append(collecting)
for known in (joining._CONCAT, joining._STACK):
    native = natives.make_join(slow, known.remember, stacking=known is joining._STACK)
    for number, deed in enumerate((*CHANGED, *SAME) * 3):
        gc.disable()
        gc.collect()
        held, given = [[] for _ in range(2000)], arrays(3)  # a collection is due
        waiting.append(lambda: deed(given))
        before = len(missed)
        gc.enable()
        result = native(given, 0)
        gc.disable()
        if sys.version_info < (3, 12):    # later ones wait with it for the next Python instruction
            assert not waiting
            assert (len(missed) > before) == (number % len((*CHANGED, *SAME)) < len(CHANGED)), number
        if result is not None:
            assert result.requires_grad == any(one.requires_grad for one in given), number
            values = {*result.detach().numpy().ravel().tolist()}
            assert values in ({0.0, 1.0, 2.0}, {9.0}, {0.0, 9.0, 2.0}), (number, values)
            if result.requires_grad:
                result.sum().backward()
        waiting.clear()
        missed.clear()
        del held
print("fine")
"""

THREADS = """
import sys, threading
import numpy as np
import tracejit as tj
from tracejit.dispatch import native_ops

assert native_ops.load() == ""
sys.setswitchinterval(1e-6)
shared = [tj.ones(8), tj.ones(8, requires_grad=True)]
stop, wrong = threading.Event(), []

def change():
    while not stop.is_set():
        shared.append(tj.ones(8))
        shared[0] = tj.ones(8, requires_grad=True)
        shared[1].data = np.ones(8)
        shared.insert(0, shared.pop())
        del shared[2:]

def trace():
    while not stop.is_set():
        tj.jit(lambda x: tj.stack([x, x])).lower(tj.ones(8))

def work():
    for _ in range(3000):
        for result in (tj.stack(shared), tj.concatenate(shared, -1)):
            if set(result.detach().numpy().ravel().tolist()) != {1.0}:
                wrong.append(result)
            if result.requires_grad:
                result.sum().backward()

others = [threading.Thread(target=change), threading.Thread(target=trace)]
workers = [threading.Thread(target=work) for _ in range(2)]
for one in others + workers:
    one.start()
for one in workers:
    one.join()
stop.set()
for one in others:
    one.join()
assert not wrong
print("fine")
"""


@pytest.mark.parametrize("program", [HOSTILE, THREADS], ids=["hostile", "threads"])
def test_in_a_process_of_its_own(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONMALLOC", "debug")  # what was freed is overwritten
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"
