"""Native eager ops: the same values, dtypes, shapes, warnings and errors as the Python functions that they
stand for, which they call for everything that does not suit them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.dispatch import eager_functions, native_ops
from tracejit.dispatch.native_ops import entry_layout_of_tensors
from tracejit.ir.ops.define import ufunc_behind
from tracejit.ir.registry import OPS
from tracejit.runtime.native.eager import NativeOps, eager_problem

LAYOUT = entry_layout_of_tensors()
if sys.implementation.name != "cpython" or sys.platform != "linux":
    pytest.skip("native code for eager ops is for CPython on Linux", allow_module_level=True)
assert LAYOUT is not None
assert not eager_problem()

EAGER = {
    op.name: function
    for op, function in eager_functions.ELEMENTWISE.items()
    if function.way is not eager_functions.Way.PYTHON
}
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    1e-40,
    1e308,
    3e38,
    -1e-310,
    710.0,
    1e5,
)
NUMBERS = (0, 1, -3, 2**31, -(2**53), 2**53 + 1, 2**63, 0.5, -0.0, 1e39, 1e-50, np.inf, np.nan, True)


class Native:
    """The native function of an op, with a count of the calls that it gave back."""

    def __init__(self, natives: NativeOps, name: str) -> None:
        function = EAGER[name]
        behind = ufunc_behind(function.op.eval)
        assert behind is not None
        ufunc, floats = behind
        self.plain, self.arity, self.missed = function.python, ufunc.nin, 0
        self.call = natives.make(ufunc, self._slow, function.remember, floats=floats)

    def _slow(self, *operands: Any) -> Any:
        self.missed += 1
        return self.plain(*operands)


@pytest.fixture(scope="module")
def natives() -> NativeOps:
    assert LAYOUT is not None
    return NativeOps(LAYOUT)


def outcome(function: Callable[..., Any], operands: Any) -> Any:
    """The outcome of a call: bits, dtype and shape, or the error; and the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = function(*operands)
        except Exception as error:
            return type(error), str(error)
    data = result._data
    assert type(result) is tj.Tensor
    assert type(data) is np.ndarray
    messages = [str(event.message) for event in seen]
    return data.tobytes(), data.dtype, data.shape, data.strides, messages, result.requires_grad


@pytest.mark.parametrize("name", sorted(EAGER))
def test_functions_on_arrays_have_the_same_bits(name: str, natives: NativeOps) -> None:
    behind = ufunc_behind(EAGER[name].op.eval)
    assert behind is not None
    ufunc, floats = behind
    native = natives.make(ufunc, EAGER[name].op.eval, None, floats=floats)
    rng = np.random.default_rng(3)
    for dtype in DTYPES:
        for shape in SHAPES:
            arrays = [values(dtype, shape, rng)._data for _ in range(ufunc.nin)]
            with np.errstate(all="ignore"):
                try:
                    want = np.asarray(EAGER[name].op.eval(*arrays))
                except Exception as error:
                    with pytest.raises(type(error)):
                        native(*arrays)
                    continue
                got = np.asarray(native(*arrays))
            assert (got.tobytes(), got.dtype, got.shape) == (want.tobytes(), want.dtype, want.shape)


def test_functions_on_arrays_take_no_tensors(natives: NativeOps) -> None:
    native = natives.make(np.add, lambda x, y: "slow", None, floats=False)
    assert native(np.ones(3), np.ones(3)).tolist() == [2.0] * 3
    assert native(tj.ones(3), np.ones(3)) == native(object(), 2.0) == native(1, 2) == "slow"


def test_backward_passes_use_them_until_a_kernel_changes() -> None:
    assert native_ops.load() == ""
    mul = OPS["mul"]
    assert eager_functions.kernel_on_arrays(mul) is not mul.kernel is np.multiply
    x = tj.tensor([2.0, 3.0], requires_grad=True)
    with tj.profile() as profile:
        assert eager_functions.kernel_on_arrays(mul) is mul.kernel
        (x * x).sum().backward()
    assert str(profile).count("mul") > 0
    assert eager_functions.kernel_on_arrays(mul) is not mul.kernel
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 6.0]


def values(dtype: Any, shape: Any, rng: np.random.Generator) -> tj.Tensor:
    if dtype == np.bool_:
        array = rng.integers(0, 2, shape).astype(bool)
    elif np.issubdtype(dtype, np.integer):
        array = rng.integers(-4, 5, shape).astype(dtype)
    else:
        plain = rng.normal(0, 3, shape)
        with np.errstate(all="ignore"):
            array = np.where(rng.random(shape) < 0.02, rng.choice(SPECIAL, shape), plain).astype(dtype)
    return (
        tj.Tensor.__new__(tj.Tensor)
        if array is None
        else tj.asarray(np.ascontiguousarray(array).reshape(shape))
    )


DTYPES = (np.float64, np.float32, np.int64, np.int32, np.bool_, np.int8, np.uint64)
SHAPES = ((), (1,), (4,), (17,), (3, 5), (0,), (2, 0, 3), (4096,), (4097,))


@pytest.mark.parametrize("name", sorted(EAGER))
def test_the_same_bits_as_numpys_ufunc(name: str, natives: NativeOps) -> None:
    op = Native(natives, name)
    rng = np.random.default_rng(len(name))
    for dtype in DTYPES:
        for shape in SHAPES:
            for seed in range(2):
                operands = [values(dtype, shape, rng) for _ in range(op.arity)]
                if seed and op.arity == 2:
                    operands[seed % 2] = values(dtype, (), rng)
                assert outcome(op.call, operands) == outcome(op.plain, operands), (dtype, shape)


@pytest.mark.parametrize("name", ["add", "mul", "div", "sin", "less" if "less" in EAGER else "lt", "neg"])
def test_the_loop_is_taken(name: str, natives: NativeOps) -> None:
    op = Native(natives, name)
    for dtype in (np.float64, np.float32):
        for shape in ((), (4,), (3, 5), (4096,)):
            op.call(*[tj.asarray(np.full(shape, 0.5, dtype))] * op.arity)
    assert op.missed == 0
    op.call(*[tj.ones(4097)] * op.arity)
    assert op.missed == 1


@pytest.mark.parametrize("name", sorted(offer for offer in EAGER if len(EAGER[offer].op.params) == 2))
def test_python_numbers(name: str, natives: NativeOps) -> None:
    op = Native(natives, name)
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        x = values(dtype, (5,), rng)
        for number in NUMBERS:
            assert outcome(op.call, (x, number)) == outcome(op.plain, (x, number)), (dtype, number)
            assert outcome(op.call, (number, x)) == outcome(op.plain, (number, x)), (dtype, number)


def test_numbers_take_the_loop(natives: NativeOps) -> None:
    op = Native(natives, "mul")
    for x in (tj.ones(4), tj.ones(4, dtype=tj.float32)):
        for number in (2, 0.5, -1, 2**53):
            op.call(x, number)
            op.call(number, x)
    op.call(tj.arange(4), 3)
    assert op.missed == 0
    op.call(tj.arange(4), 3.5)
    op.call(tj.ones(4), 2**53 + 2)
    op.call(tj.ones(4), True)
    assert op.missed == 3


def test_arrays_take_the_loop(natives: NativeOps) -> None:
    op, rng = Native(natives, "mul"), np.random.default_rng(0)
    for dtype in (np.float64, np.float32, np.int64):
        x = values(dtype, (3, 5), rng)
        array = x.numpy() + 1
        for operands in ((x, array), (array, x), (array, array), (array, 2), (x, array[0, 0:1].reshape(()))):
            assert outcome(op.call, operands) == outcome(op.plain, operands), dtype
    assert op.missed == 0
    x, masked = tj.ones(3), np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])
    for other in (np.ones(3, "f2"), np.ones(3, ">f8"), np.ones(6)[::2], np.ones(3, "i2"), masked):
        assert outcome(op.call, (x, other)) == outcome(op.plain, (x, other))
    assert op.missed == 5


def test_gradients_keep_the_values_of_arrays(natives: NativeOps) -> None:
    op, x, array = Native(natives, "mul"), tj.tensor([0.5, 2.0], requires_grad=True), np.array([3.0, 4.0])
    for result in (op.call(x, array), op.call(array, x)):
        array[0] = 9.0  # the user's own: nobody counts writes to it
        (gradient,) = tj.autograd.grad(result.sum(), x)
        assert gradient.tolist() == [3.0, 4.0]
        array[0] = 3.0
    assert op.missed == 0


def odd_operands() -> Iterator[tuple[Any, ...]]:
    x = tj.asarray(np.arange(12.0).reshape(3, 4))
    yield x, tj.ones(4)
    yield x.T, x.T
    yield x[:, ::2], x[:, ::2]
    yield x, tj.ones((4, 3))
    yield x, tj.ones((3, 4), dtype=tj.float32)
    yield x, x.numpy()
    yield x.numpy(), x
    yield [[1.0] * 4] * 3, x
    yield x, "text"
    yield x, None
    yield None, x
    yield object(), x
    yield 1.0, 2.0
    yield 1, 2
    yield (x,)
    yield x, x, x
    yield ()
    yield x, np.float64(3.0)
    yield x, np.float32(3.0)
    yield x, 1j
    yield tj.asarray(np.zeros(5, ">f8").astype("f8")), tj.ones(5)


@pytest.mark.parametrize("operands", list(odd_operands()))
def test_everything_else_is_what_python_says(operands: tuple[Any, ...], natives: NativeOps) -> None:
    for name in ("add", "div"):
        op = Native(natives, name)
        want, got = outcome(op.plain, operands), outcome(op.call, operands)
        if len(operands) == 2:
            assert got == want
        else:
            assert got[0] is want[0] is TypeError


def test_a_subclass_is_not_looked_into(natives: NativeOps) -> None:
    class Sub(tj.Tensor):
        pass

    sub = object.__new__(Sub)
    op = Native(natives, "neg")
    assert outcome(op.call, (sub,)) == outcome(op.plain, (sub,))
    assert op.missed == 1


def test_unset_tensors_do_not_crash(natives: NativeOps) -> None:
    op = Native(natives, "add")
    with pytest.raises(AttributeError):
        op.call(object.__new__(tj.Tensor), tj.ones(3))


def test_numpys_error_state_is_asked(natives: NativeOps) -> None:
    op = Native(natives, "div")
    x, zero = tj.ones(3), tj.zeros(3)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        op.call(x, zero)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        op.call(x, zero)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="ignore"):
            op.call(x, zero)
        op.call(x, x)  # flags of before are nobody's business
    with np.errstate(under="raise"), pytest.raises(FloatingPointError):
        Native(natives, "mul").call(tj.full(3, 1e-200), tj.full(3, 1e-200))


# -- gradients ---------------------------------------------------------------------------------------


def test_gradients_are_recorded(natives: NativeOps) -> None:
    mul, sin = Native(natives, "mul"), Native(natives, "sin")
    x = tj.tensor([0.5, 2.0], requires_grad=True)
    y = tj.tensor([3.0, -1.0])
    for result in (mul.call(x, y), mul.call(y, x), mul.call(x, 3.0), mul.call(3.0, x), sin.call(x)):
        assert result.requires_grad
        assert result.grad_fn is not None
    mul.call(sin.call(x), y).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 2.0]) * [3.0, -1.0], rtol=1e-15)
    assert not mul.call(y, y).requires_grad
    with tj.no_grad():
        assert not mul.call(x, y).requires_grad
    assert mul.missed == sin.missed == 0


def test_what_recording_raises_is_raised(natives: NativeOps) -> None:
    assert LAYOUT is not None
    behind = ufunc_behind(OPS["sin"].eval)
    assert behind is not None

    def remember(result: Any, x: Any) -> None:
        raise KeyError("no")

    native = natives.make(behind[0], EAGER["sin"].python, remember, floats=True)
    before = len(gc.get_objects())
    for _ in range(100):
        with pytest.raises(KeyError):
            native(tj.ones(3, requires_grad=True))
    gc.collect()
    assert len(gc.get_objects()) - before < 100


# -- who looks at kernels, and who traces ------------------------------------------------------------


def test_observers_and_backends_see_every_op() -> None:
    assert native_ops.load() == ""
    x = tj.ones(4)
    with tj.profile() as profile:
        x + x
    assert "add" in str(profile)
    seen = []
    with pytest.raises(tj.NonFiniteError), tj.debug.check_nans(), np.errstate(all="ignore"):
        seen.append(tj.log(x - 2))
    before, foreign = OPS["add"].eval, set(OPS.foreign)
    try:
        OPS.change(OPS["add"], eval=lambda x, y: seen.append("mine") or np.add(x, y))
        x + x
        assert seen == ["mine"]
    finally:
        OPS.change(OPS["add"], eval=before)
        OPS.foreign &= foreign
    x + x
    assert seen == ["mine"]


def test_traces_see_every_op() -> None:
    assert native_ops.load() == ""
    x = tj.ones(4)
    f = tj.jit(lambda x: tj.sin(x + x) * 2.0)
    assert [name for name in ("add", "sin", "mul") if f" {name}(" in f.lower(x).as_text("trace")] == [
        "add",
        "sin",
        "mul",
    ]
    W = tj.ones(4)
    assert tj.jit(lambda x: x + W + W)(x).tolist() == [3.0] * 4


# -- memory and threads ------------------------------------------------------------------------------

BALANCE = """
import gc, resource, sys
import numpy as np
import tracejit as tj
from tracejit.dispatch import native_ops

assert native_ops.load() == ""
x, y, w = tj.ones(40), tj.ones(40), tj.ones(40, requires_grad=True)
n, f32 = 2.0, tj.ones(40, dtype=tj.float32)
held = [x, y, w, x._data, n, f32._data.dtype, x._data.dtype, None, False, True, 7]

def once():
    x + y; x * n; n * x; x < y; tj.sin(x); w * x; w * 7; tj.exp(w); f32 * 7; x / 0.5
    try:
        x + "text"
    except TypeError:
        pass
    with np.errstate(all="ignore"):
        x / 0.0
    ((w * x).sum() + tj.sin(w).sum()).backward()

def measure():
    gc.collect()
    return [sys.getrefcount(one) for one in held], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

for _ in range(500):
    once()
before, rss = measure()
for _ in range(5000):
    once()
after, rss2 = measure()
assert all(abs(a - b) < 40 for a, b in zip(after, before)), (before, after)
assert rss2 - rss < 2000, (rss, rss2)
print("fine")
"""

THREADS = """
import gc, sys, threading
import numpy as np
import tracejit as tj
from tracejit.dispatch import native_ops

assert native_ops.load() == ""
sys.setswitchinterval(1e-5)
gc.set_threshold(5)
shared = tj.ones(64)
w = tj.ones(64, requires_grad=True)
stop, wrong = threading.Event(), []

def rebind():
    while not stop.is_set():
        shared.data = np.ones(64)     # frees the array that others are adding up

def trace():
    while not stop.is_set():
        tj.jit(lambda x: tj.sin(x) + x).lower(tj.ones(64))

def work():
    for _ in range(3000):
        x = shared + shared
        y = tj.sqrt(x * 2.0) * w
        if x.tolist()[5] != 2.0 or y.tolist()[7] != 2.0 or not y.requires_grad:
            wrong.append(x)

others = [threading.Thread(target=rebind), threading.Thread(target=trace)]
workers = [threading.Thread(target=work) for _ in range(3)]
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

BACKGROUND = """
import os, sys, time
import tracejit as tj
from tracejit.dispatch import native_ops

x = tj.ones(4)
for _ in range(990):
    x + x
assert not native_ops._PROGRESS.asked and "llvmlite" not in sys.modules
for _ in range(20):
    x + x
assert native_ops._PROGRESS.asked
child = os.fork()                     # waits for what runs in the background
if child == 0:
    assert native_ops._PROGRESS.done
    os._exit(0 if (x + x).tolist() == [2.0] * 4 and tj.jit(lambda x: x * 3)(x).tolist() == [3.0] * 4 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert native_ops._PROGRESS.done and native_ops._PROGRESS.problem == "", native_ops._PROGRESS.problem
assert (x + x).tolist() == [2.0] * 4
print("fine")
"""


@pytest.mark.parametrize("program", [BALANCE, THREADS, BACKGROUND], ids=["balance", "threads", "background"])
def test_in_a_process_of_its_own(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"


def test_concurrent_loading_is_done_once() -> None:
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(native_ops.load())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert results == [""] * 4
