"""Baseline code first, optimized code in its place: the same results, whatever happens meanwhile."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm import compiler
from tracejit.codegen.tiers import Effort
from tracejit.runtime import tiers
from tracejit.runtime.cache.code import Code
from tracejit.runtime.executable import Executable

from ..memory import is_given_back

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All code has a baseline tier, and nothing is left to do after a test."""
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    yield
    assert tiers.BACKGROUND.wait(60)


def mixed(x: Any, w: Any) -> Any:
    """Products, sums over rows, a loop in registers, maths functions, and what contraction applies to."""
    y = tj.tanh(x @ w) * x + x * 0.3
    y = y - y.mean(axis=1, keepdims=True) * tj.exp(-y * y)
    carry, steps = tj.scan(lambda c, row: (c * 0.9 + row.sum() * 0.1, c), tj.tensor(0.5), y)
    return y / (1 + tj.sin(y) * y), carry, steps, tj.cumsum(y, 0), y.max(axis=0)


def inputs(seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((40, 40)), generator.standard_normal((40, 40))


def bits(results: Any) -> list[bytes]:
    return [np.asarray(result).tobytes() for result in results]


def test_both_tiers_give_the_same_bits(held: threading.Event) -> None:
    function = tj.trace(mixed, *inputs())
    executable = Executable(function)
    assert executable.tier == "baseline"
    baseline = bits(executable(inputs()))
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized"
    assert bits(executable(inputs())) == baseline


def test_gradients_give_the_same_bits(held: threading.Event) -> None:
    loss = lambda x, w: sum(result.sum() for result in mixed(x, w))  # noqa: E731
    f = tj.jit(tj.grad(loss, argnums=(0, 1)))
    baseline = bits(f(*inputs()))
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert bits(f(*inputs())) == baseline


def test_loops_of_any_length_give_the_same_bits(held: threading.Event) -> None:
    """Loops of any length give the same bits, also those that the code generator optimizes in the baseline
    tier, and those that count as one step in one of the tiers."""

    def loops(x: Any) -> Any:
        halved = tj.while_loop(lambda y: y > 0.1, lambda y: y * y * 0.7 + y * 0.01, x[0])
        short = tj.fori_loop(0, 301, lambda i, y: y * 0.9 + x[1] * y, x[1])
        long = tj.fori_loop(0, 70_001, lambda i, y: 3.7 * y * (1.0 - y) + x[0] * 1e-9, x[2])
        counts = []
        for row in range(40):
            counts.append(tj.while_loop(lambda y: y < 2.0, lambda y: y * (1.1 + x[3]) + 0.01, x[0] * row))
        return halved, short, long, tj.stack(counts)

    executable = Executable(tj.trace(loops, np.array([0.9, 0.05, 0.3, 0.11])))
    x = np.array([0.8, 0.06, 0.4, 0.07])
    assert executable.tier == "baseline"
    baseline = bits(executable((x,)))
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized"
    assert bits(executable((x,))) == baseline


def test_native_entries_go_to_the_full_code(held: threading.Event) -> None:
    f = tj.jit(lambda x: x * 2 + 1)
    x = np.ones(3)
    assert f(x).tolist() == [3.0] * 3
    (signature,) = f._tree.leaves()
    executable = signature.compiled.executable
    baseline = executable.address
    assert f._entry is not None
    assert "baseline code until" in f.explain()
    tables = [holder for holder, _ in executable._followers]
    assert len(tables) == 2
    assert all(baseline.to_bytes(8, "little") in table for table in tables)
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert executable.address != baseline
    assert executable.tier == "optimized"
    assert all(executable.address.to_bytes(8, "little") in table for table in tables)
    assert all(baseline.to_bytes(8, "little") not in table for table in tables)
    assert f(x).tolist() == [3.0] * 3
    assert "baseline code" not in f.explain()
    assert f.explain().signatures[0].programs[0].tier == "optimized"


def test_entries_made_later_go_to_the_full_code() -> None:
    executable = Executable(tj.trace(lambda x: x + 1, np.ones(3)))
    assert tiers.BACKGROUND.wait(60)
    holder = bytearray(8)
    place = np.frombuffer(holder, np.int64)
    executable.follow(holder, place.ctypes.data)
    assert int(place[0]) == executable.address
    assert not executable._followers


def test_code_that_answers_otherwise_does_not_take_the_place(
    held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Callers have read what the baseline code's errors mean, and which memory it may be given."""
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    executable = Executable(tj.trace(mixed, *inputs()))
    before = executable.address
    monkeypatch.setattr(Code, "answers_like", lambda *_: False)
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert executable.address == before
    assert "other errors" in executable.problem
    assert len(told) == 1


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "0")
    assert Executable(tj.trace(mixed, *inputs())).tier == "optimized"


def steps(body: Callable[[Any], Any], x: Any) -> Any:
    """`body` applied many times, one after the other."""
    return tj.fori_loop(0, 30_000, lambda i, y: body(y), x)


def test_loops_that_run_long_are_optimized_by_the_code_generator_alone(
    held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = tj.trace(lambda x: tj.while_loop(lambda i: i < x, lambda i: i + 1, 0), tj.tensor(3))
    nested = tj.trace(lambda x: steps(lambda y: steps(lambda z: z * 0.5 + 1.0, y), x), tj.tensor(1.0))
    short = tj.trace(lambda x: tj.fori_loop(0, 300, lambda i, y: y * 0.5 + 1.0, x), tj.tensor(1.0))
    emit, texts = compiler._emit, dict[Effort, str]()

    def noted(text: str, effort: Effort, *more: Any) -> Any:
        texts[effort] = text
        return emit(text, effort, *more)

    monkeypatch.setattr(compiler, "_emit", noted)
    for function, x, expected in ((count, 3, 3), (nested, 1.0, 2.0)):
        texts.clear()
        executable = Executable(function)
        assert executable.tier == "baseline"
        assert list(texts) == [Effort.PLAIN, Effort.LIGHT]
        (loop,) = re.findall(r"^define .*$", texts[Effort.LIGHT], re.MULTILINE)
        assert "@k" in loop
        assert "@main(" in texts[Effort.PLAIN]
        if function is count:  # the other one runs for seconds
            assert executable((np.asarray(x),))[0] == expected
    texts.clear()
    assert Executable(short).tier == "baseline"
    assert list(texts) == [Effort.PLAIN]


def test_those_that_run_long_have_one_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_TIERS")
    assert Executable(tj.trace(lambda x: x + 1, np.ones(3))).tier == "baseline"
    x = np.broadcast_to(1.0, (20_000, 20_000))
    assert Executable(tj.trace(lambda x: tj.exp(tj.sin(x)) * tj.log(x), x)).tier == "optimized"
    long = "x" * 100_000
    assert tiers.saves_time(long, 1e6)
    assert not tiers.saves_time(long, 1e9)


def test_the_bits_do_not_depend_on_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    def large(x: Any) -> Any:
        for i in range(60):
            x = tj.sin(x) + tj.exp(-x * x) * (i + 0.1)
            x = x - x.mean(axis=1, keepdims=True)
        return x

    monkeypatch.setenv("TRACEJIT_TIERS", "")
    function = tj.jit(large, loops="unrolled").trace(inputs()[0])
    with_tiers = Executable(function)
    assert with_tiers.tier == "baseline"
    monkeypatch.setenv("TRACEJIT_TIERS", "0")
    without = Executable(function)
    assert without.tier == "optimized"
    assert bits(with_tiers(inputs()[:1])) == bits(without(inputs()[:1]))


def test_first_calls_of_many_threads() -> None:
    functions = [tj.jit(lambda x, i=i: tj.sin(x) * i + x @ x) for i in range(6)]
    x = inputs()[0]
    expected = [np.sin(x) * i + x @ x for i in range(6)]

    def work(seed: int) -> None:
        for position in np.random.default_rng(seed).permutation(6 * 20) % 6:
            np.testing.assert_allclose(
                functions[position](x).numpy(), expected[position], rtol=1e-12, atol=1e-12
            )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert tiers.BACKGROUND.wait(60)
    assert all(
        signature.compiled.executable.tier == "optimized" for f in functions for signature in f._tree.leaves()
    )


def test_calls_go_on_while_the_code_is_replaced() -> None:
    x = np.linspace(0.0, 1.0, 20_000)
    stop = threading.Event()
    wrong: list[float] = []

    def call(f: Any, expected: bytes) -> None:
        while not stop.is_set():
            if f(x).numpy().tobytes() != expected:
                wrong.append(1.0)

    for _ in range(5):
        f = tj.jit(lambda x: tj.sin(x) * x + 0.5)
        expected = f(x).numpy().tobytes()
        callers = [threading.Thread(target=call, args=(f, expected)) for _ in range(3)]
        for caller in callers:
            caller.start()
        assert tiers.BACKGROUND.wait(60)
        stop.set()
        for thread in callers:
            thread.join()
        stop.clear()
    assert not wrong


def test_what_is_dropped_is_not_compiled(held: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = Executable(tj.trace(lambda x: x + 1, np.ones(3)))
    gone = weakref.ref(executable)
    compiled: list[str] = []
    monkeypatch.setattr(compiler, "emit_object", lambda text, **_: compiled.append(text))
    del executable
    gc.collect()
    assert gone() is None
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert not compiled


def test_errors_in_the_background_are_told(held: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    f = tj.jit(lambda x: x + 1)
    assert f(np.ones(3)).tolist() == [2.0] * 3

    def fail(text: str, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no optimized code today")

    monkeypatch.setattr(compiler, "emit_object", fail)
    held.set()
    assert tiers.BACKGROUND.wait(60)
    assert [str(warning.exc_value) for warning in told] == ["no optimized code today"]
    assert f(np.ones(3)).tolist() == [2.0] * 3
    assert "could not be compiled: RuntimeError: no optimized code today" in f.explain()


def test_the_disk_cache_keeps_the_full_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEJIT_CACHE")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))
    images: list[bytes] = []
    emit = compiler.emit_object

    def noted(text: str, effort: Effort = Effort.FULL, **more: Any) -> Any:
        object_file = emit(text, effort, **more)
        if effort is Effort.FULL and "@main" in text:
            images.append(object_file[0])
        return object_file

    monkeypatch.setattr(compiler, "emit_object", noted)
    function = tj.trace(mixed, *inputs())
    executable = Executable(function)
    baseline = bits(executable(inputs()))
    assert tiers.BACKGROUND.wait(60)
    assert executable.tier == "optimized"
    code = Executable(function)
    assert code.found
    assert code.tier == "optimized"
    assert bits(code(inputs())) == baseline
    (image,) = images
    assert any(image in path.read_bytes() for path in tmp_path.iterdir())


def test_memory_stays_over_compile_and_drop() -> None:
    def cycle(number: int) -> None:
        f = tj.jit(lambda x: tj.exp(x) * number + x)
        f(np.ones(2000))
        if number % 2:
            assert tiers.BACKGROUND.wait(60)

    def cycles(count: int) -> None:
        for number in range(count):
            cycle(number)
        assert tiers.BACKGROUND.wait(60)

    if not Path("/proc/self/statm").exists():
        pytest.skip("needs /proc")
    cycles(60)
    assert is_given_back(lambda: cycles(120), 6 << 20)


LARGE = """
import os, sys, time
os.environ["TRACEJIT_TIERS"] = "always"
import numpy as np, tracejit as tj
from tracejit.runtime import tiers

def large(x):
    for i in range(300):
        x = tj.sin(x) * x + tj.exp(-x * x) * (i + 0.1)
    return x

f = tj.jit(large)
x = np.linspace(0.0, 1.0, 100)
wanted = f(x).numpy().tobytes()
(one,) = f._tree.leaves()
"""


def run(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LARGE + program],
        capture_output=True, text=True, env=environment, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout.strip()


def test_a_process_ends_while_code_is_compiled() -> None:
    assert run("for g in range(3): tj.jit(lambda x: large(x) + g)(x)\nprint(one.compiled.executable.tier)")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_goes_on_compiling() -> None:
    program = """
os.environ["TRACEJIT_NUM_THREADS"] = "1"
time.sleep(0.05)
child = os.fork()
if child == 0:
    ok = tiers.BACKGROUND.wait(60) and one.compiled.executable.tier == "optimized"
    ok = ok and f(x).numpy().tobytes() == wanted
    ok = ok and tj.jit(lambda x: x + 1)(x)[0] == 1.0
    os._exit(0 if ok else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert tiers.BACKGROUND.wait(60) and one.compiled.executable.tier == "optimized"
"""
    assert run(program) == "0"


def test_the_native_entry_has_two_tiers() -> None:
    program = """
import ctypes
from tracejit.runtime.native import entry
(definition,) = entry._DEFINITIONS.values()
assert not definition.linked
assert f(x).numpy().tobytes() == wanted  # a first call does not wait for it
assert definition.linked and tiers.BACKGROUND.wait(60)
kept = [getattr(one, "addresses", {}) for one in entry._KEPT]
addresses = [one["tracejit_entry"] for one in kept if "tracejit_entry" in one]
assert len(addresses) == 2 and definition.function == addresses[1]
assert f(x).numpy().tobytes() == wanted
g = tj.jit(lambda tree, x, k: {"y": (tree["a"] * k + x, [x])})
for entries in range(2):
    got = g({"a": x}, tj.tensor(x), 2.0)
    assert got["y"][0].numpy().tolist() == (x * 2.0 + x).tolist(), got
print("fine")
"""
    assert run(program) == "fine"


def test_a_call_that_links_the_entry_is_like_others() -> None:
    """Code of SciPy's gets arrays from it, and nobody else does."""
    program = """
from tracejit.runtime.native import entry
(definition,) = entry._DEFINITIONS.values()
scope = {"f": f, "x": x, "__name__": "scipy.optimize"}
exec("def call(): return f(x)", scope)
assert not definition.linked
results = [scope["call"]()]
assert definition.linked
results.append(scope["call"]())
assert all(type(result) is np.ndarray and result.tobytes() == wanted for result in results)
assert type(f(x)) is tj.Tensor
try:
    f(x, x)
except TypeError:
    print("fine")
"""
    assert run(program) == "fine"


def test_the_background_looks_at_what_calls_left() -> None:
    class Knot:
        def __init__(self) -> None:
            self.itself = self

    thresholds = gc.get_threshold()
    gc.set_threshold(0)  # nothing else collects
    try:
        knot = weakref.ref(Knot())
        tiers.BACKGROUND.submit(lambda: None)
        assert tiers.BACKGROUND.wait(60)
    finally:
        gc.set_threshold(*thresholds)
    assert knot() is None
