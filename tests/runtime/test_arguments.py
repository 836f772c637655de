"""Odd arguments to compiled functions: NumPy's result or a clear error, never a crash or a changed array.

Executables take arrays of just their types; jitted functions anything, by a slow path where the native entry
does not know it. What could crash runs in a subprocess.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError
from tracejit.runtime.executable import Executable

from ..support import Array, function_of
from .programs import python


def misaligned(x: Array) -> Array:
    raw = np.zeros(x.nbytes + 1, np.uint8)
    out = raw[1:].view(x.dtype).reshape(x.shape)
    out[...] = x
    assert out.dtype.itemsize == 1 or not out.flags.aligned
    return out


def read_only(x: Array) -> Array:
    out = x.copy()
    out.flags.writeable = False
    return out


class Mine(np.ndarray):
    """A user's subclass."""


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "contiguous": lambda x: x,
    "fortran": np.asfortranarray,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "misaligned": misaligned,
    "read-only": read_only,
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "subclass": lambda x: x.view(Mine),
    "memmap-like": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_layouts(layout: str, dtype: str) -> None:
    """Layouts by an Executable and by jit, before and after the native entry exists."""
    base = np.arange(1, 13).reshape(3, 4).astype(dtype)
    x = LAYOUTS[layout](base)
    plain = np.array(np.asarray(x).astype(dtype))
    before = np.asarray(x).tobytes()
    want = plain * 2 + plain[::-1]
    if layout != "subclass":
        function = function_of(
            "f", [plain], lambda b, x: b.add(b.mul(x, 2), b.slice(x, start=(2, 0), size=(3, 4), step=(-1, 1)))
        )
        assert np.array_equal(Executable(function)([x])[0], want)
    f = tj.jit(lambda x: x * 2 + x[::-1])
    for argument in (x, plain, x, plain, x):
        got = f(argument)
        assert np.array_equal(np.asarray(got), want)
        assert np.asarray(got).dtype == plain.dtype
    assert np.asarray(x).tobytes() == before


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_keeps_its_semantics() -> None:
    """``np.matrix`` multiplies as a matrix, also beside calls that are compiled for arrays."""
    array = np.array([[1.0, 2.0], [3.0, 4.0]])
    f = tj.jit(lambda x: x * x)
    assert np.array_equal(np.asarray(f(array)), array * array)
    with pytest.warns(tj.UncompiledCallWarning, match=r"a numpy\.matrix, whose operations are not"):
        result = f(array.view(np.matrix))
    assert np.array_equal(np.asarray(result), array @ array)
    assert np.array_equal(np.asarray(f(array)), array * array)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (), (1,), (1, 1)])
def test_empty_and_rank_0(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)
    f = tj.jit(lambda x: (x + 1, tj.sum(x), tj.exp(x) * 2))
    for _ in range(3):
        for got, want in zip(f(x), (x + 1, np.sum(x), np.exp(x) * 2), strict=True):
            assert np.asarray(got).shape == np.shape(want)
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-15)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1.0,), {}), ((1.0, 2.0, 3.0), {}), ((1.0, 2.0), {"z": 1}), ((1.0,), {"x": 2.0})],
)
def test_wrong_number_of_arguments(args: Any, kwargs: Any) -> None:
    """Python's own TypeError, before and after a native entry exists."""
    f = tj.jit(lambda x, y: x + y)
    for _ in range(2):
        with pytest.raises(TypeError):
            f(*args, **kwargs)
        assert float(f(1.0, 2.0)) == 3.0


def test_keyword_arguments() -> None:
    f = tj.jit(lambda x, y: x - y)
    x, y = np.array([5.0]), np.array([3.0])
    for _ in range(3):
        assert f(x, y).tolist() == f(x, y=y).tolist() == f(y=y, x=x).tolist() == [2.0]


@pytest.mark.parametrize(
    "bad",
    [
        None,
        object(),
        {1, 2},
        np.array(["a"]),
        np.array([None]),
        np.longdouble(1),
        b"x",
        2**70,
        np.datetime64("2020"),
    ],
)
def test_unsupported_arguments_are_explained(bad: Any) -> None:
    f = tj.jit(lambda x, y: x + 1.0 if not isinstance(y, dict) else x)
    x = np.ones(3)
    assert f(x, 1.0).tolist() == [2, 2, 2]
    for _ in range(2):
        if bad is None:  # an empty container, as in JAX
            assert f(x, bad).tolist() == [2, 2, 2]
            continue
        with pytest.raises((TypeError, OverflowError)) as caught:
            f(x, bad)
        assert isinstance(caught.value, TracejitError)
        assert "args" in str(caught.value) or "64" in str(caught.value)
        assert f(x, 1.0).tolist() == [2, 2, 2]


def test_types_change_from_call_to_call() -> None:
    """The chain of native entries: each type gets its own result, in any order, again and again."""
    f = tj.jit(lambda x: x * 2 + 1)
    inputs: list[Any] = [np.ones(3, d) for d in ("f4", "f8", "i1", "i4", "i8", "u1", "u4", "u8")]
    inputs += [np.ones(shape) for shape in ((), (1,), (4,), (2, 2), (0,))] + [
        1,
        1.5,
        True,
        tj.ones(3),
        tj.ones((2, 3)),
    ]
    for seed in range(4):
        for i in np.random.default_rng(seed).permutation(len(inputs)):
            x = inputs[i]
            got, want = np.asarray(f(x)), np.asarray(x) * 2 + 1
            assert got.shape == want.shape
            assert np.array_equal(got, want)
            if isinstance(x, np.ndarray):
                assert got.dtype == want.dtype


@pytest.mark.parametrize(
    "bad", [np.ones(4), np.ones((3, 1)), np.ones(3, np.float32), np.ones(3, np.int64), np.ones(())]
)
def test_executables_check_types(bad: Array) -> None:
    executable = Executable(function_of("f", [np.ones(3)], lambda b, x: b.neg(x)))
    with pytest.raises(TracejitError, match=r"argument 0 must be f64\[3\]"):
        executable([bad])


@pytest.mark.parametrize("count", [0, 2])
def test_executables_check_counts(count: int) -> None:
    executable = Executable(function_of("f", [np.ones(3)], lambda b, x: b.neg(x)))
    with pytest.raises(TracejitError, match="expected 1 arguments"):
        executable([np.ones(3)] * count)


def test_an_array_changed_under_the_entry() -> None:
    """An ndarray object with another shape, dtype and layout than before is inspected afresh each time."""
    f = tj.jit(lambda x: x + 1)
    x = np.arange(6.0)
    assert f(x).shape == (6,)
    x.resize((2, 3), refcheck=False)
    assert f(x).tolist() == (x + 1).tolist()
    x.resize((6,), refcheck=False)
    assert f(x).tolist() == (x + 1).tolist()
    x.resize((4,), refcheck=False)
    assert f(x).tolist() == [1, 2, 3, 4]


def test_tensors_and_arrays_mix() -> None:
    f = tj.jit(lambda x, y: x + y)
    arrays, tensors = np.ones(3), tj.ones(3)
    for _ in range(2):
        for x in (arrays, tensors):
            for y in (arrays, tensors, 1.0, 1):
                assert type(f(x, y)) is tj.Tensor
                assert f(x, y).tolist() == [2, 2, 2]


HOSTILE = """
import gc, numpy as np, tracejit as tj

class Evil(np.ndarray):
    def __array_finalize__(self, other): pass
    @property
    def shape(self): return (10**9,)

class Lying:
    shape, dtype, ndim = (3,), np.dtype('f8'), 1
    def __array__(self, *args, **kwargs): raise RuntimeError('no')

f = tj.jit(lambda x: tj.cumsum(x) * 2.0)
x = np.arange(3.0)
for _ in range(3): f(x)
tried = 0
uninitialised = object.__new__(tj.Tensor)
candidates = [x.view(Evil), Lying(), uninitialised, type, f, np.ndarray, tj.Tensor,
              ..., iter([]), x.__array_interface__,
              memoryview(x), np.lib.stride_tricks.as_strided(x, (3,), (0,)), np.float64(1), np.void(b'abc'),
              np.array([(1, 2.0)], dtype=[('a', 'i4'), ('b', 'f8')]), float('nan'),
              -0.0, 2**63, -2**63 - 1, [[1.0], [1.0, 2.0]], []]
for candidate in candidates:
    for _ in range(2):
        try:
            f(candidate)
        except Exception as error:
            assert str(error), type(error)
        tried += 1
        assert f(x).tolist() == [0, 2, 6]
for arguments in [(), (x,) * 2, (x,) * 300]:
    try: f(*arguments)
    except TypeError: tried += 1
recursive = []; recursive.append(recursive)
try: f(recursive)
except (RecursionError, Exception): tried += 1
gc.collect()
print(tried)
"""


def test_hostile_arguments_do_not_crash() -> None:
    assert python(HOSTILE).strip() == "46"


RECURSION = """
import numpy as np, tracejit as tj
f = tj.jit(lambda x: x + 1)
g = tj.jit(lambda x: f(f(x)) * 2)
h = tj.jit(lambda n: n * 2)
x = np.ones(3)
assert g(x).tolist() == [6, 6, 6] and f(x).tolist() == [2, 2, 2] and g(x).tolist() == [6, 6, 6]
def boom(x):
    raise KeyError('mine')
b = tj.jit(boom)
for _ in range(3):
    try: b(x)
    except KeyError as error: assert error.args == ('mine',)
    assert g(x).tolist() == [6, 6, 6]
import signal, threading
class Stop(Exception): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)
k = tj.jit(lambda x: tj.sum(tj.exp(x)))
big = np.ones(2_000_000)
want = float(k(big))
for delay in (0.001, 0.003, 0.01):
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        for _ in range(1000): assert float(k(big)) == want
    except Stop: pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert float(k(big)) == want
print('fine')
"""


def test_nesting_errors_and_signals() -> None:
    assert python(RECURSION).strip() == "fine"
