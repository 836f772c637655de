"""Lines that are asked for before they are read or stored to: the same values wherever arrays lie, at every
tail."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

from tracejit.codegen.kernels.scan import cumulative
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest import streaming
from tracejit.ir.passes import run_passes
from tracejit.runtime.executable import Executable

from ...support import function_of, interpret, native


@pytest.fixture
def _all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "asks_for_lines", property(lambda target: True))
    for module in (streaming, cumulative):
        monkeypatch.setattr(module, "asked_bytes", lambda: 0)


def text_for(function: Any, target: Target) -> str:
    return generate(run_passes(function), target).text


def to_write(text: str) -> int:
    """Number of lines that the code prefetches to write to them."""
    return len(re.findall(r"@llvm.prefetch.p0\(ptr %\w+, i32 1, i32 3", text))


def to_read(text: str) -> int:
    """Number of lines that the code prefetches to read them."""
    return len(re.findall(r"@llvm.prefetch.p0\(ptr %\w+, i32 0, i32 3", text))


def doubled(*shape: int) -> Any:
    return function_of("doubled", [np.zeros(shape)], lambda b, x: b.add(x, x))


TRIPLE, WIDE = "x86_64-unknown-linux-gnu", "+avx512bw,+avx512dq,+avx512f,+avx512vl"


def test_who_to_write() -> None:
    """Servers of Intel's ask for lines of large arrays; others store large ones past the cache."""
    large = doubled(3_000_000)
    xeon = text_for(large, Target(TRIPLE, "cascadelake", f"{WIDE},+prfchw", 512))
    zen = text_for(large, Target(TRIPLE, "znver4", f"{WIDE},+prfchw", 512))
    assert (to_write(xeon) > 0, "!nontemporal" in xeon) == (True, False)
    assert (to_write(zen) > 0, "!nontemporal" in zen) == (False, True)
    # where no instruction asks for a line to be written
    without = text_for(large, Target(TRIPLE, "cascadelake", WIDE, 512))
    assert not to_write(without)


def test_small_results_are_not_asked_for() -> None:
    xeon = Target(TRIPLE, "cascadelake", f"{WIDE},+prfchw", 512)
    assert not to_write(text_for(doubled(30_000), xeon))
    assert to_write(text_for(doubled(40_000), xeon))


def neighbours(b: Any, x: Any) -> Any:
    above, below = (b.slice(x, start=(row, 0), size=(600, 600), step=(1, 1)) for row in (0, 2))
    return b.add(above, below)


def test_what_is_read() -> None:
    """Lines are asked for where a large result is written of large arrays along memory."""
    xeon = Target(TRIPLE, "cascadelake", f"{WIDE},+prfchw", 512)

    def asked(build: Any, *shapes: tuple[int, ...]) -> tuple[bool, bool]:
        text = text_for(function_of("f", [np.zeros(shape) for shape in shapes], build), xeon)
        return to_read(text) > 0, to_write(text) > 0

    square, row = (600, 600), (600,)
    assert asked(lambda b, x: b.exp(x), square) == (True, True)
    # a row that all rows read is in the cache, and so is a column that all columns read
    assert asked(lambda b, x: b.exp(b.broadcast(x, shape=square)), row) == (False, True)
    assert asked(lambda b, x: b.sum(x, axes=(0,)), square) == (False, False)
    # neighbours of an element are in lines that were asked for already
    text = text_for(function_of("f", [np.zeros((602, 600))], neighbours), xeon)
    assert to_read(text) == to_write(text) > 0
    assert asked(lambda b, x: b.sum(x, axes=(1,)), square) == (False, False)


@pytest.mark.usefixtures("_all_is_large")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "c8", "c16"])
def test_maps_at_every_tail(dtype: str) -> None:
    arrays = [np.arange(n).astype(dtype) for n in (1, 64, 65, 127, 128, 1000, 5003)]
    function = function_of("maps", arrays, lambda b, *xs: [b.add(x, x) for x in xs])
    assert to_write(text_for(function, host()))
    for result, expected in zip(native(function, arrays), interpret(function, arrays), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.usefixtures("_all_is_large")
@pytest.mark.parametrize("columns", [64, 77])
def test_rows_and_transposed_ones(columns: int) -> None:
    x = np.random.default_rng(columns).integers(-9, 9, (40, columns)).astype(float)

    def build(b: Any, x: Any) -> Any:
        means = b.broadcast(b.reshape(b.max(x, axes=(1,)), shape=(40, 1)), shape=x.shape)
        return [b.sub(x, means), b.neg(b.transpose(x, perm=(1, 0)))]

    function = function_of("rows", [x], build)
    assert to_write(text_for(function, host())) > 1
    for result, expected in zip(native(function, [x]), interpret(function, [x]), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.usefixtures("_all_is_large")
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums(*, reverse: bool) -> None:
    x = np.arange(1003.0)
    function = function_of("running", [x], lambda b, x: b.cumsum(x, axis=0, reverse=reverse))
    assert bool(to_write(text_for(function, host()))) != reverse
    expected = np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)
    np.testing.assert_array_equal(native(function, [x])[0], expected)


@pytest.mark.usefixtures("_all_is_large")
def test_results_that_lie_anywhere() -> None:
    """The result alone is written, whatever lies behind it, also where it is the operand itself."""
    x = np.arange(300.0)
    executable = Executable(doubled(300))
    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
        executable.library.addresses["main"]
    )
    room = np.zeros(400)
    for shift in (0, 1, 7, 8):
        room[:] = -1.0
        inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
        outputs = (ctypes.c_void_p * 1)(room.ctypes.data + 8 * shift)
        assert main(ctypes.addressof(inputs), ctypes.addressof(outputs)) == 0
        np.testing.assert_array_equal(room[shift : shift + 300], 2 * x)
        assert (room[:shift] == -1).all()
        assert (room[shift + 300 :] == -1).all()
    place = (ctypes.c_void_p * 1)(x.ctypes.data)
    assert main(ctypes.addressof(place), ctypes.addressof(place)) == 0
    np.testing.assert_array_equal(x, 2 * np.arange(300.0))
