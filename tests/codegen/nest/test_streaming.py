"""Stores past the cache: the same values as others, wherever results lie, at every tail."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tracejit.base.machine import Machine
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest import streaming
from tracejit.codegen.nest.reductions import chunks
from tracejit.ir.passes import run_passes
from tracejit.runtime.executable import Executable

from ...support import function_of, interpret, native
from ..narrow import narrower, run_narrow


def store_past_the_cache() -> None:
    """Let all results count as large, and stores past the cache pay."""
    streaming.streamed_bytes = lambda: 0
    Target.asks_for_lines = property(lambda target: False)  # type: ignore[assignment, method-assign]


@pytest.fixture(autouse=True)
def _all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "streamed_bytes", streaming.streamed_bytes)
    monkeypatch.setattr(Target, "asks_for_lines", Target.asks_for_lines)
    store_past_the_cache()


def streams(function: Any) -> bool:
    return "!nontemporal" in generate(run_passes(function), host()).text


def softmax(b: Any, x: Any) -> Any:
    rows = x.shape[0]
    e = b.exp(b.sub(x, b.broadcast(b.reshape(b.max(x, axes=(1,)), shape=(rows, 1)), shape=x.shape)))
    total = b.broadcast(b.reshape(b.sum(e, axes=(1,)), shape=(rows, 1)), shape=x.shape)
    return [b.div(e, total), b.neg(e)]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_maps_at_every_tail(dtype: str) -> None:
    arrays = [np.arange(n).astype(dtype) for n in (64, 65, 127, 128, 1000, 5003)]
    function = function_of("maps", arrays, lambda b, *xs: [b.add(x, x) for x in xs])
    assert streams(function)
    for got, want in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("columns", [64, 80, 128, 77])
def test_rows(columns: int) -> None:
    """Stores stay as they are where rows do not begin at whole vectors."""
    x = np.random.default_rng(columns).standard_normal((9, columns))
    function = function_of("rows", [x], softmax)
    assert streams(function) == (columns % 16 == 0)
    for got, want in zip(native(function, [x]), interpret(function, [x]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_results_that_lie_anywhere() -> None:
    """Results at addresses that are no multiple of a vector: an aligned store would kill the process."""
    x = np.arange(300.0)
    function = function_of("anywhere", [x], lambda b, x: b.add(x, x))
    assert streams(function)
    executable = Executable(function)
    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        executable.library.addresses["main"]
    )
    room = np.zeros(400)
    for shift in range(16):
        room[:] = -1.0
        inputs, outputs = (
            (ctypes.c_void_p * 1)(x.ctypes.data),
            (ctypes.c_void_p * 1)(room.ctypes.data + 8 * shift),
        )
        assert main(ctypes.addressof(inputs), ctypes.addressof(outputs)) == 0
        np.testing.assert_array_equal(room[shift : shift + 300], 2 * x)
        assert (room[:shift] == -1).all()
        assert (room[shift + 300 :] == -1).all()


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("n", [64, 65, 1000])
def test_pairs(dtype: str, n: int) -> None:
    """Real and imaginary parts, which are stored together, at addresses that are and are not aligned."""
    x = (np.arange(n) + 1j * np.arange(n)[::-1]).astype(dtype)
    function = function_of("pairs", [x], lambda b, x: b.add(x, x))
    assert streams(function)
    executable = Executable(function)
    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        executable.library.addresses["main"]
    )
    room = np.zeros(n + 40, dtype)
    for shift in range(9):
        room[:] = -1.0
        inputs, outputs = (
            (ctypes.c_void_p * 1)(x.ctypes.data),
            (ctypes.c_void_p * 1)(room.ctypes.data + x.itemsize * shift),
        )
        assert main(ctypes.addressof(inputs), ctypes.addressof(outputs)) == 0
        np.testing.assert_array_equal(room[shift : shift + n], 2 * x)
        assert (room[:shift] == -1).all()
        assert (room[shift + n :] == -1).all()


def test_over_an_operand() -> None:
    """A result in the memory of an operand; its lines are in the cache, and stores into them are ordinary."""
    x = np.arange(1000.0)
    function = function_of("over", [x], lambda b, x: b.add(x, x))
    text = generate(run_passes(function), host()).text
    assert "icmp eq ptr" in text[: text.index("!nontemporal")]
    executable = Executable(function)
    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        executable.library.addresses["main"]
    )
    place = (ctypes.c_void_p * 1)(x.ctypes.data)
    assert main(ctypes.addressof(place), ctypes.addressof(place)) == 0
    np.testing.assert_array_equal(x, 2 * np.arange(1000.0))


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.nest.test_streaming import *
assert host().vector_bits == {bits}, host()
store_past_the_cache()
for dtype in ('f4', 'f8', 'i4'):
    test_maps_at_every_tail(dtype)
for columns in (64, 80, 128):
    test_rows(columns)
test_results_that_lie_anywhere()
for dtype in ('c8', 'c16'):
    test_pairs(dtype, 65)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)


def centred(b: Any, x: Any) -> Any:
    total = b.sum(x, axes=(0,))
    return b.sub(x, b.broadcast(total, shape=x.shape))


@pytest.mark.parametrize("columns", [16, 32, 33])
def test_the_last_pass_over_a_tall_table(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A nest that is cut into chunks of rows; results at any address."""
    monkeypatch.setattr(chunks, "machine", lambda: Machine(task_cycles=1000.0))
    x = np.random.default_rng(0).standard_normal((5001, columns))
    function = function_of("tall", [x], centred)
    assert streams(function) == (columns % 16 == 0)
    executable = Executable(function)
    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        executable.library.addresses["main"]
    )
    room = np.zeros(x.size + 16)
    for shift in range(9):
        room[:] = -1.0
        inputs, outputs = (
            (ctypes.c_void_p * 1)(x.ctypes.data),
            (ctypes.c_void_p * 1)(room.ctypes.data + 8 * shift),
        )
        assert main(ctypes.addressof(inputs), ctypes.addressof(outputs)) == 0
        want = (x - x.sum(axis=0)).ravel()
        np.testing.assert_allclose(room[shift : shift + x.size], want, rtol=1e-9, atol=1e-9)
        assert (room[:shift] == -1).all()
        assert (room[shift + x.size :] == -1).all()
