"""Threads: results do not depend on them, their number is checked, and they survive forks and concurrency."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError
from tracejit.runtime.executable import Executable

from ..support import function_of, interpret
from .programs import PROGRAMS, compiled, large, python


@pytest.fixture(autouse=True)
def _restore_threads() -> Iterator[None]:
    before = tj.num_threads()
    yield
    tj.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_threads(name: str, dtype: str) -> None:
    """DESIGN section 9, bit for bit."""
    x = large(dtype)
    executable = Executable(compiled(name, x))
    runs = []
    for count in (1, 2, 3, 8, 1):
        tj.set_num_threads(count)
        runs.append([result.tobytes() for result in executable([x])])
    assert all(run == runs[0] for run in runs)


def test_something_runs_in_parallel() -> None:
    """The test above covers parallel code: it does not compare one thread with one."""
    x = large()
    assert Executable(compiled("softmax", x)).module.parallel
    assert Executable(compiled("map", x)).module.parallel


@pytest.mark.parametrize("name", ["map", "softmax", "reductions"])
def test_large_results_are_right(name: str) -> None:
    x = large("float64")
    function = compiled(name, x)
    for got, want in zip(Executable(function)([x]), interpret(function, [x]), strict=True):
        # sums of 700,000 terms in another order: n eps sum|x| is 1e-10 at most
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "2"])
def test_bad_counts_are_refused(bad: Any) -> None:
    before = tj.num_threads()
    with pytest.raises(TracejitError, match="positive integer"):
        tj.set_num_threads(bad)
    assert tj.num_threads() == before


def test_context_manager_restores_after_an_error() -> None:
    before = tj.num_threads()

    def fail() -> None:
        with tj.threads(1):
            assert tj.num_threads() == 1
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert tj.num_threads() == before


def test_environment_sets_the_count() -> None:
    assert python("import tracejit as tj; print(tj.num_threads())", TRACEJIT_NUM_THREADS="3").strip() == "3"
    code = "try:\n    import tracejit as tj\n    tj.num_threads()\nexcept Exception as e: print(e)"
    assert "TRACEJIT_NUM_THREADS" in python(code, TRACEJIT_NUM_THREADS="many")


def test_import_starts_no_threads_and_loads_no_llvm() -> None:
    code = """
import sys, os, tracejit
print(len(os.listdir('/proc/self/task')), 'llvmlite' in sys.modules)
"""
    alone = python(code.replace(", tracejit", ", numpy")).split()[0]  # numpy's BLAS starts its own
    assert python(code).split() == [alone, "False"]


FORK = """
import os, sys, numpy as np, tracejit as tj
tj.set_num_threads(4)
f = tj.jit(lambda x: tj.exp(x * -0.5) * x)
x = np.linspace(0, 1, 2_000_000)
want = np.asarray(f(x)).tobytes()
for generation in range(2):
    child = os.fork()
    if child == 0:
        for _ in range(5):
            assert np.asarray(f(x)).tobytes() == want
        g = tj.jit(lambda x: tj.sin(x) + 1)
        assert np.allclose(np.asarray(g(x)), np.sin(x) + 1)
        assert tj.num_threads() == 4
        if generation:
            os._exit(0)
        inner = os.fork()  # and the child of a child
        if inner == 0:
            os._exit(0 if np.asarray(f(x)).tobytes() == want else 3)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1]))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, status
    assert np.asarray(f(x)).tobytes() == want
print('alive')
"""


def test_alive_after_fork() -> None:
    assert python(FORK).strip() == "alive"


FORK_IN_THE_MIDDLE = """
import os, signal, threading, time, numpy as np, tracejit as tj
tj.set_num_threads(4)
f = tj.jit(lambda x: tj.exp(x * -0.5) * x)
x = np.linspace(0, 1, 1_000_000)
want = np.asarray(f(x)).tobytes()
total = tj.jit(lambda x: tj.sum(tj.cumsum(x * 2.0, 0)))
stop = threading.Event()
def calls():
    while not stop.is_set():
        f(x)
def compiles():
    i = 0
    while not stop.is_set():
        i += 1
        tj.jit(lambda x: tj.sin(x) * i + 1)(np.ones(i % 50 + 1))
def signatures():
    i = 0
    while not stop.is_set():
        i += 1
        total(np.ones(i % 200 + 1))
threads = [threading.Thread(target=one) for one in (calls, compiles, signatures)]
for one in threads:
    one.start()
for n in range(8):
    time.sleep(0.013 * (n % 5))
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # instead of waiting for ever
        assert all(np.asarray(f(x)).tobytes() == want for _ in range(3))
        assert float(total(np.ones(300 + n))) == (300 + n) * (301 + n)
        g = tj.jit(lambda x: tj.cos(x) @ x)
        assert np.allclose(np.asarray(g(np.ones((64, 64)))), np.cos(1) * 64)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        print('child', n, 'ended with', status)
stop.set()
for one in threads:
    one.join()
print('alive')
"""


def test_alive_after_a_fork_while_others_call_and_compile() -> None:
    """Locks that other threads held are free in the child, and their jobs are not its own."""
    code = f"import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n{FORK_IN_THE_MIDDLE}"
    assert python(code).strip() == "alive"


DAEMONS = """
import threading, time, numpy as np, tracejit as tj
tj.set_num_threads(3)
f = tj.jit(lambda x: tj.exp(x * -0.5) * x)
x = np.linspace(0, 1, 1_000_000)
f(x)
def calls():
    while True:
        f(x)
for _ in range(3):
    threading.Thread(target=calls, daemon=True).start()
time.sleep(0.2)
print('ends')
"""


def test_daemon_threads_in_native_code_at_exit() -> None:
    """Daemon threads come back to an interpreter that is gone, and must be stopped there, not crash."""
    assert python(DAEMONS).strip() == "ends"


def run_at_once(count: int, work: Any) -> list[Any]:
    """`work(i)` in `count` threads that begin together; what each returned. Raises what one raised."""
    barrier, results, errors = threading.Barrier(count), [None] * count, []

    def run(i: int) -> None:
        try:
            barrier.wait()
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join(60)
        assert not runner.is_alive(), "deadlock"
    if errors:
        raise errors[0]
    return results


def test_concurrent_first_compiles() -> None:
    """Eight threads call one function that nobody compiled: one signature, eight right results."""
    f = tj.jit(lambda x: tj.sum(tj.exp(x) * x))
    x = np.linspace(0, 1, 1001)
    results = run_at_once(8, lambda i: float(f(x)))
    assert len(set(results)) == 1
    assert results[0] == pytest.approx(float(np.sum(np.exp(x) * x)), rel=1e-13)
    assert f.explain().splitlines()[0].endswith("1 signature compiled")


def test_concurrent_compiles_of_different_functions() -> None:
    def work(i: int) -> float:
        return float(tj.jit(lambda x: tj.sum(x * (i + 1)))(np.ones(100)))

    assert run_at_once(8, work) == [100.0 * (i + 1) for i in range(8)]


@pytest.mark.parametrize("size", [16, 300_000])
def test_concurrent_calls(size: int) -> None:
    """One compiled function with an arena, called by eight threads on their own data."""
    f = tj.jit(lambda x: tj.sum(tj.cumsum(x * 2.0) - x))
    f(np.zeros(size))
    expected = [float(np.sum(np.cumsum(np.full(size, i / 8) * 2.0) - i / 8)) for i in range(8)]

    def work(i: int) -> set[float]:
        x = np.full(size, i / 8)
        return {float(f(x)) for _ in range(200 if size == 16 else 12)}

    for got, want in zip(run_at_once(8, work), expected, strict=True):
        assert len(got) == 1
        assert got.pop() == pytest.approx(want, rel=1e-12)


def test_changing_the_count_while_others_call() -> None:
    x = large()
    executable = Executable(compiled("map", x))
    want = executable([x])[0].tobytes()

    def work(i: int) -> bool:
        if i == 0:
            for count in (1, 4, 2, 8) * 5:
                tj.set_num_threads(count)
            return True
        return all(executable([x])[0].tobytes() == want for _ in range(5))

    assert all(run_at_once(5, work))


def test_errors_of_concurrent_calls_do_not_mix() -> None:
    """Out-of-range indices in some threads; the others get their results."""
    x, good, bad = np.arange(5.0), np.array([1, 4]), np.array([1, 5])
    executable = Executable(function_of("g", [x, good], lambda b, x, i: b.gather(x, i)))

    def work(i: int) -> int:
        failures = 0
        for _ in range(100):
            try:
                assert executable([x, bad if i % 2 else good])[0].tolist() == [1.0, 4.0]
            except IndexError:
                failures += 1
        return failures

    assert run_at_once(8, work) == [0, 100] * 4


BUSY = """
import os, subprocess, sys, time
import numpy as np, tracejit as tj
rng = np.random.default_rng(0)
sizes = (256, 784, 512, 10)
weights = [(rng.normal(size=pair) / 30).astype('f4') for pair in zip(sizes[1:], sizes[2:])]
x, y = (rng.normal(size=(256, n)).astype('f4') for n in (784, 10))
def loss(ws, x, y):
    for w in ws[:-1]:
        x = tj.maximum(x @ w, 0)
    return tj.mean((x @ ws[-1] - y) ** 2)
step = tj.jit(lambda ws, x, y: [w - 1e-3 * g for w, g in zip(ws, tj.grad(loss)(ws, x, y))])
def median(count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        step(weights, x, y)
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2]
median(5)
ratios = []
while len(ratios) < 8 and min(ratios, default=9.0) >= 3.5:
    alone = median(30)
    spin = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    time.sleep(0.2)
    ratios.append(median(30) / alone)
    spin.kill()
    spin.wait()
print(min(ratios))
"""


@pytest.mark.slow
def test_beside_a_process_that_keeps_a_core_busy() -> None:
    """Steps of a network get slower by what the other process takes, and do not collapse: with NumPy's
    BLAS they took thirty times as long. The limit is that of the benchmarks, 2.5, with room for the machine's
    other work."""
    assert float(python(BUSY)) < 4.0


_CORES = '''
import os, pathlib, time
import numpy as np
import tracejit as tj

def allowed():
    """The cores that each thread of this process may use, those of libraries left out."""
    tasks = [one for one in pathlib.Path("/proc/self/task").iterdir() if one.name not in others]
    texts = {task.name: (task / "status").read_text() for task in tasks}
    return {name: text.split("Cpus_allowed:")[1].split()[0] for name, text in texts.items()}

others = set(os.listdir("/proc/self/task")) - {str(os.getpid())}
mine = ONE and {min(os.sched_getaffinity(0))}
if mine:
    os.sched_setaffinity(0, mine)
tj.set_num_threads(3)
f, x = tj.jit(lambda x: tj.sin(x).sum()), np.ones(300_000)
want = np.asarray(f(x)).tobytes()
for i in range(60):
    assert np.asarray(f(x)).tobytes() == want
    time.sleep(0.002)  # workers fall asleep, and are woken wherever the system likes
masks, end = allowed(), time.monotonic() + 300
assert len(masks) >= 3
while len(set(masks.values())) > 1 and time.monotonic() < end:  # one may be on its way just now
    time.sleep(0.01)
    masks = allowed()
assert len(set(masks.values())) == 1, masks
print("fine")
'''


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinities of threads here")
@pytest.mark.parametrize("alone", [False, True])
def test_workers_that_move_away_from_their_caller_keep_their_cores(alone: bool) -> None:
    """Workers leave their caller's core for a moment only, and stay where there is one core alone."""
    assert python(_CORES.replace("ONE", str(alone))).strip() == "fine"
