"""Compiling that is interrupted or no longer wanted: signals get through, nobody waits for it, and all works
afterwards."""

from __future__ import annotations

import ctypes
import gc
import itertools
import re
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm import compiler, pieces
from tracejit.codegen.tiers import Effort
from tracejit.runtime import tiers
from tracejit.runtime.compilation import Upgrade
from tracejit.runtime.executable import Executable
from tracejit.runtime.loading.loader import load

from ..rotation import share_of
from ..support import interpret
from .interrupts import run

# -- pieces ---------------------------------------------------------------------------------------


def program(x: Any, w: Any) -> Any:
    """Kernels of many kinds, with an arena, errors, tables of constants, and loops over memory."""
    y = tj.tanh(x @ w) * x + tj.exp(x) * 0.3
    y = y - y.mean(axis=1, keepdims=True) * tj.sort(y, 1)
    z = y[tj.argmax(y, 1)] + tj.cumsum(y, 0)
    carry, steps = tj.scan(lambda c, row: (tj.sin(c) * 0.9 + row, c), tj.zeros(40), y)
    (last,) = tj.while_loop(lambda c: c[0].sum() < 80, lambda c: (c[0] + tj.cos(c[0]),), (tj.ones(60),))
    return y / (1 + tj.sin(z) * z), carry, steps, last, tj.grad(lambda x: (tj.erf(x) @ w).sum())(x)


@pytest.mark.parametrize(
    ("size", "settings"), share_of(list(itertools.product([1, 3000, 20_000], ["0", "always"])), 2)
)
def test_code_from_pieces_is_the_same(size: int, settings: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.linspace(-1, 1, 1600).reshape(40, 40), np.eye(40) * 0.5
    monkeypatch.setenv("TRACEJIT_TIERS", settings)
    function = tj.trace(program, x, w)
    whole = [result.tobytes() for result in Executable(function)([x, w])]
    monkeypatch.setattr(pieces, "PIECE", size)
    monkeypatch.setattr(pieces, "_CUT", size)
    counts: list[int] = []
    cut = pieces.cut

    def noted(text: str) -> list[str]:
        abandoned = cut(text)
        counts.append(len(abandoned))
        return abandoned

    monkeypatch.setattr(compiler, "cut", noted)
    executable = Executable(function)
    assert max(counts) > 3
    for _ in range(2):
        results = executable([x, w])
        assert [result.tobytes() for result in results] == whole
        assert tiers.BACKGROUND.wait(120)  # and then by the optimized code
    assert executable.tier == "optimized"
    for result, expected in zip(results, interpret(function, [x, w]), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def test_pieces_link_by_llvm_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 10)
    monkeypatch.setattr(pieces, "_SMALL", 0)
    monkeypatch.setattr(pieces, "_CUT", 10)
    text = """
@count = internal global i64 5
@table = internal constant [2 x i64] [i64 10, i64 20]
declare i64 @llabs(i64)

define internal i64 @first(i64 %x) nounwind {
  %entry = getelementptr i64, ptr @table, i64 1
  %value = load i64, ptr %entry
  %more = call i64 @second(i64 %value, ptr @count)
  %sum = add i64 %more, %x
  ret i64 %sum
}

define internal i64 @second(i64 %x, ptr %place) nounwind {
  %old = load i64, ptr %place
  %new = add i64 %old, %x
  store i64 %new, ptr %place
  %all = load i64, ptr @table
  %sum = add i64 %all, %new
  ret i64 %sum
}

define i64 @main(i64 %x) nounwind {
  %positive = call i64 @llabs(i64 %x)
  %sum = call i64 @first(i64 %positive)
  ret i64 %sum
}
"""
    assert len(pieces.cut(text)) == 3
    image, _ = compiler.emit_object(text)
    for library in (compiler.link_object(image, ["main"]), load(image, ["main"], {})):
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["main"])
        assert (call(-1), call(2)) == (1 + 10 + 25, 2 + 10 + 45)


def test_what_is_not_known_is_left_whole() -> None:
    text = "!0 = !{i32 1}\n" + "define void @f() {\n  ret void\n}\n" * 10_000
    assert pieces.cut(text) == [text]
    assert pieces.apart(text, {"f"}) is None


def test_functions_that_are_worth_it_are_optimized_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
@count = internal global i64 5
@table = internal constant [2 x i64] [i64 10, i64 20]

define internal i64 @loop(i64 %x) nounwind {
  %value = load i64, ptr @table
  %old = load i64, ptr @count
  %part = call i64 @twice(i64 %old)
  %sum = add i64 %part, %value
  store i64 %sum, ptr @count
  %all = add i64 %sum, %x
  ret i64 %all
}

define internal i64 @twice(i64 %x) nounwind {
  %sum = add i64 %x, %x
  ret i64 %sum
}

define i64 @main(i64 %x) nounwind {
  %first = load i64, ptr @table
  %sum = call i64 @loop(i64 %first)
  %all = add i64 %sum, %x
  ret i64 %all
}
"""
    emit, compiled = compiler._emit, list[tuple[Effort, list[str]]]()

    def noted(text: str, effort: Effort, *more: Any) -> Any:
        compiled.append((effort, re.findall(r"^define .*@(\w+)\(", text, re.MULTILINE)))
        return emit(text, effort, *more)

    monkeypatch.setattr(compiler, "_emit", noted)
    image, _ = compiler.emit_object(text, Effort.LIGHT, worth={"loop"})
    assert compiled == [(Effort.PLAIN, ["twice", "main"]), (Effort.LIGHT, ["loop"])]
    for library in (compiler.link_object(image, ["main"]), load(image, ["main"], {})):
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["main"])
        assert (call(1), call(2)) == (1 + 10 + 20, 2 + 10 + 50)


# -- the background -------------------------------------------------------------------------------


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    monkeypatch.setattr(pieces, "PIECE", 1)
    monkeypatch.setattr(pieces, "_CUT", 1)


def _is_in_the_background() -> bool:
    """Whether this thread compiles the optimized tier; another one does LLVM's work for the main thread."""
    frame = sys._getframe()
    while frame is not None and frame.f_code is not Upgrade.compile.__code__:
        frame = frame.f_back
    return frame is not None


def _background_pieces(monkeypatch: pytest.MonkeyPatch, at_second: Any) -> list[str]:
    """The pieces that the background compiles; ``at_second()`` is called at the second."""
    emitted: list[str] = []
    emit = compiler._emit

    def noted(text: str, *others: Any) -> bytes:
        if _is_in_the_background() and re.search(r"@k\d", text):
            emitted.append(text)
            if len(emitted) == 2:
                at_second()
        return emit(text, *others)

    monkeypatch.setattr(compiler, "_emit", noted)
    return emitted


def test_what_nobody_wants_any_more_is_given_up(in_pieces: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.zeros((40, 40)), np.eye(40)
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        go_on.wait(60)

    emitted = _background_pieces(monkeypatch, hold)
    executable = Executable(tj.trace(program, x, w))
    alive = weakref.ref(executable)
    assert inside.wait(60)
    del executable
    gc.collect()
    assert alive() is None
    go_on.set()
    assert tiers.BACKGROUND.wait(60)
    assert len(emitted) == 2


def test_callers_compile_between_two_pieces(in_pieces: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first call does not wait for all that the background has begun, however long it takes itself."""
    x, w = np.zeros((40, 40)), np.eye(40)
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        go_on.wait(60)

    emitted = _background_pieces(monkeypatch, hold)
    executable = Executable(tj.trace(program, x, w))
    assert inside.wait(60)
    monkeypatch.setattr(tiers, "_QUIET_SECONDS", 300.0)
    tiers.BACKGROUND.calling()
    go_on.set()
    small = Executable(tj.trace(lambda x: x + 1, np.zeros(3)))
    assert len(emitted) < 6
    assert small([np.ones(3)])[0].tolist() == [2.0, 2.0, 2.0]
    assert tiers.BACKGROUND.wait(120)
    assert executable.tier == small.tier == "optimized"


# -- signals --------------------------------------------------------------------------------------

HUGE = """
from tracejit.codegen.llvm import compiler as llvm
emit, hold, ended = llvm.emitted_without_lock, threading.Event(), []
def slow(machine, module):
    "LLVM at a huge function."
    if "@k0(" in str(module):  # and not code of the runtime's own
        began.set()
        hold.wait(300)
        ended.append(module)
    return emit(machine, module)
llvm.emitted_without_lock, llvm._LONG = slow, 8_000
began = threading.Event()

f = tj.jit(lambda x: tj.sort(tj.sin(x)))
x = np.linspace(0, 9, 1000)
interrupted(lambda: f(x), began=began)
# LLVM is still at it, and nobody waits
assert tj.jit(lambda x: x * 2 + 1)(np.ones(3)).tolist() == [3, 3, 3]
assert not ended
hold.set()
np.testing.assert_allclose(np.asarray(f(x)), np.sort(np.sin(x)))
"""


@pytest.mark.parametrize("settings", share_of(["0", "always"], 2))
def test_ctrl_c_while_llvm_is_at_a_huge_function(settings: str) -> None:
    run(HUGE, TRACEJIT_TIERS=settings)


ANYWHERE = """
class Stop(Exception): pass
def handler(number, frame): raise Stop
signal.signal(signal.SIGALRM, handler)
x = np.linspace(0.1, 1, 50)
def check(f, k):
    "Called, and differentiated: the values of a function that was interrupted at any time."
    np.testing.assert_allclose(np.asarray(f(x)), np.sin(x) @ x * k + np.cumsum(x))
shared = tj.jit(lambda x, y: tj.sin(x) @ x * y + tj.cumsum(x))
check(lambda x: shared(x, 3.0), 3.0)
hits, delay, round = 0, 0.0003, 0
while round < ROUNDS:
    round += 1
    k = 1.0 + round
    f = tj.jit(lambda x: tj.sin(x) @ x * k + tj.cumsum(x))
    g = tj.jit(tj.grad(lambda x: (tj.exp(x) * k).sum()))
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        f(x), g(x), shared(x[: 2 + round % 40], k)
        signal.setitimer(signal.ITIMER_REAL, 0)
        delay = 0.0003
    except Stop:
        hits += 1
        delay *= 1.15
    check(f, k)
    check(lambda x: shared(x, k), k)
    np.testing.assert_allclose(np.asarray(g(x)), np.exp(x) * k)
    y = tj.tensor(x, requires_grad=True)
    tj.sum(y * y).backward()
    np.testing.assert_allclose(np.asarray(y.grad), 2 * x)
assert hits > ROUNDS / 3, hits
from tracejit.runtime.bypass import _COUNT
assert _COUNT.value == 0, _COUNT
from tracejit.state import STATE
assert STATE.tracer is None
check(lambda x: shared(x, 2.0), 2.0)
child = os.fork()
if child == 0:
    signal.alarm(0)
    check(tj.jit(lambda x: tj.sin(x) @ x * 7.0 + tj.cumsum(x)), 7.0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.parametrize("settings", share_of(["0", "1"], 2))
def test_a_signal_anywhere_in_a_first_call(settings: str) -> None:
    """A signal comes in tracing, in passes, in LLVM, at linking: the next call is right, and nothing is
    stuck."""
    run(ANYWHERE.replace("ROUNDS", "80"), TRACEJIT_TIERS=settings)
