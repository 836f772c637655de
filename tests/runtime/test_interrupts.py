"""Signals while native code runs: Ctrl-C ends it, in every kind of loop, and leaves all as it should be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.interface import POLL
from tracejit.codegen.lowering import exits
from tracejit.runtime.executable import Executable

from ..rotation import share_of
from .interrupts import run, tiers

#: Code that would run for hours, and some that ends, with its result. `n` is how long it runs.
LOOPS = {
    "while in registers": (
        "lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0)", "(1e15,)", "(10.0,)", "10.0"
    ),
    "while that a branch holds": (
        "lambda n: tj.cond(n > 0, lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0), "
        "lambda n: n, n)",
        "(1e15,)", "(10.0,)", "10.0",
    ),
    "while over memory": (
        "lambda n, x: tj.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, c[1] * 0.5 + 1.0), "
        "(0.0, x))[1]",
        "(1e15, np.zeros(100))", "(3.0, np.zeros(100))", "np.full(100, 1.75)",
    ),
    "while over matrices": (
        "lambda n, x: tj.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, tj.tanh(c[1] @ c[1])), "
        "(0.0, x))[1]",
        "(1e15, np.zeros((300, 300)))", "(3.0, np.zeros((300, 300)))", "np.zeros((300, 300))",
    ),
    "fori in registers": (
        "lambda k, x: tj.fori_loop(0, 10**14, lambda i, c: c * 0.5 + k, x)", "(1.0, 0.0)", None, None
    ),
    "fori of each element": (
        "lambda k, x: tj.fori_loop(0, 10**12, lambda i, c: c * 0.5 + k, x)", "(1.0, np.zeros(64))", None, None
    ),
    "fori of each element, by threads": (
        "lambda k, x: tj.fori_loop(0, 10**10, lambda i, c: c * 0.5 + k, x)", "(1.0, np.zeros(100_000))",
        None, None,
    ),
    "scan that stacks": (
        "lambda k, x: tj.scan(lambda c, i: (tj.sin(c) * k, c[0]), x, tj.arange(10.0**9))", None, None, None
    ),
    "nested in registers": (
        "lambda n: tj.fori_loop(0, 10**9, lambda i, c: "
        "tj.fori_loop(0, 1000, lambda j, d: d * 0.5 + n, c), 0.0)",
        "(1.0,)", None, None,
    ),
    "nested over memory": (
        "lambda n, x: tj.fori_loop(0, 10**9, lambda i, c: "
        "tj.fori_loop(0, 5, lambda j, d: tj.tanh(d @ d) * n, c), x)",
        "(1.0, np.zeros((20, 20)))", None, None,
    ),
    "short whiles in a long one": (
        "lambda n: tj.while_loop(lambda c: c[0] < n, lambda c: (tj.while_loop(lambda d: d < 3.0, "
        "lambda d: d + 1.0, 0.0) + c[0], c[1] * 0.5), (0.0, 1.0))[0]",
        "(1e15,)", "(30.0,)", "30.0",
    ),
    "gradient of a while": (
        "tj.grad(lambda x, n: tj.while_loop(lambda c: c[0] < n, "
        "lambda c: (c[0] + 1.0, c[1] * 1.0), (0.0, x))[1])",
        None, "(2.0, 5.0)", "1.0",
    ),
    "pairs": (
        "lambda x: tj.sum(tj.exp(-tj.abs(x[:, None] - x[None, :])), 1)", "(np.zeros(2_000_000),)",
        "(np.zeros(10),)", "np.full(10, 10.0)",
    ),
    "sum of pairs": (
        "lambda x: tj.sum(tj.exp(-tj.abs(x[:, None] - x[None, :])))", "(np.zeros(2_000_000),)",
        "(np.zeros(10),)", "100.0",
    ),
    "product": (
        "lambda x: x @ x", "(np.ones((12_000, 12_000)),)", "(np.ones((3, 3)),)", "np.full((3, 3), 3.0)"
    ),
    "products in a row": (
        "lambda x: tj.fori_loop(0, 10**7, lambda i, c: c @ x, x)", "(np.ones((1000, 1000)) / 1000,)",
        "(np.ones((1, 1)),)", "np.ones((1, 1))",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings"),
    share_of([(name, settings) for settings in tiers() for name, case in LOOPS.items() if case[1]], 2),
)
def test_ctrl_c_ends_a_loop(name: str, settings: dict[str, str]) -> None:
    """The loop is compiled just now, or called by the native entry. The next calls are right."""
    text, long, short, expected = LOOPS[name]
    program = f"f = tj.jit({text})\nlong = {long}\n"
    program += "for after in (0.3, 0.05):\n    interrupted(lambda: f(*long), after)\n"
    if short:
        program += (
            f"for _ in range(3):\n    np.testing.assert_allclose(np.asarray(f(*{short})), {expected})\n"
        )
    run(program, **settings)


def test_one_thread_is_interrupted_as_well() -> None:
    run(
        "x = np.zeros(2_000_000)\n"
        "f = tj.jit(lambda x: tj.sum(tj.exp(-tj.abs(x[:, None] - x[None, :])), 1))\n"
        "for after in (0.3, 0.05):\n    interrupted(lambda: f(x), after)\n",
        TRACEJIT_NUM_THREADS="1",
    )


def test_code_from_the_disk_cache_is_interrupted(tmp_path: Path) -> None:
    program = """
os.environ.pop("TRACEJIT_CACHE")
f = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))
for _ in range(3):  # all that the process compiles is on disk then
    f(1.0)
    time.sleep(0.5)
interrupted(lambda: f(1e15))
assert float(f(5.0)) == 5
assert ("llvmlite" in sys.modules) == (FIRST == 1)
"""
    for first in (1, 0):
        run(program.replace("FIRST", str(first)), TRACEJIT_CACHE_DIR=str(tmp_path), TRACEJIT_TIERS="0")


HANDLERS = """
class Timeout(Exception): pass
def alarm(number, frame): raise Timeout
seen = []
f = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))
f(1.0)
# a handler that raises something of its own, of another signal
signal.signal(signal.SIGALRM, alarm)
interrupted(lambda: f(1e15), number=signal.SIGALRM, error=Timeout)
# handlers that only take note: the loop goes on, and is right
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(float(f(3.0))))
def send():
    for _ in range(5):
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGUSR1)
thread = threading.Thread(target=send)
thread.start()
assert float(f(4e8)) == 4e8
thread.join()
deadline = time.monotonic() + 300
while len(seen) < 1 and time.monotonic() < deadline:
    time.sleep(0.01)
assert seen and set(seen) == {3.0}, seen
# the user's own handler of SIGINT, and one that is ignored
signal.signal(signal.SIGINT, lambda number, frame: (_ for _ in ()).throw(ValueError("mine")))
interrupted(lambda: f(1e15), error=ValueError)
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
assert float(f(1e8)) == 1e8
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""


def test_the_handlers_are_the_users() -> None:
    run(HANDLERS)


STATE = """
import gc
f = tj.jit(lambda n, x: tj.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, c[1] * -1.0), (0.0, x))[1])
x = np.arange(5000.0)   # an arena that is kept, results from the allocator
want = np.asarray(f(4.0, x)).copy()
def rounds():
    for _ in range(8):
        interrupted(lambda: f(1e15, x), after=0.05)
    assert np.array_equal(np.asarray(f(4.0, x)), want) and np.array_equal(x, want)
rounds()
gc.collect()
before = sys.getrefcount(x), sys.getrefcount(f), len(gc.get_objects())
rounds()
gc.collect()
after = sys.getrefcount(x), sys.getrefcount(f), len(gc.get_objects())
assert before[:2] == after[:2], (before, after)
assert after[2] - before[2] < 100, (before, after)
# donated arguments may be half updated, and are arrays as before
g = tj.jit(lambda x, n: tj.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, c[1] + 1.0), (0.0, x))[1],
           donate_argnums=0)
w = tj.zeros(5000)
w = g(w, 2.0)
interrupted(lambda: g(w, 1e15))
assert w.shape == (5000,) and len(set(w.tolist())) == 1
# random numbers go on
tj.random.seed(0)
h = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0) + tj.random.rand())
a = float(h(1.0)) % 1
interrupted(lambda: h(1e15))
b = float(h(1.0)) % 1
assert a != b
# gradients
w = tj.tensor(2.0, requires_grad=True)
k = tj.jit(lambda w, n: tj.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, tj.sin(c[1])), (0.0, w))[1])
interrupted(lambda: k(w, 1e7 * 1e8), after=0.05, error=(KeyboardInterrupt, MemoryError))
k(w, 1.0).backward()
assert np.isclose(float(w.grad), np.cos(2.0))
"""


def test_what_an_interrupted_call_leaves_behind() -> None:
    run(STATE)


OTHERS = """
# other threads' loops go on, in the pool and beside it, and their results are right
n = 400_000
exp = tj.jit(lambda x: tj.exp(x * -0.5) * x)
x = np.linspace(0, 1, n)
want = np.asarray(exp(x)).tobytes()
f = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))
pairs = tj.jit(lambda x: tj.sum(tj.exp(-tj.abs(x[:, None] - x[None, :])), 1))
f(1.0)
stop, wrong, counts = threading.Event(), [], [0, 0, 0]
def calls(i):
    while not stop.is_set():
        if np.asarray(exp(x)).tobytes() != want:
            wrong.append(i)
        if float(f(3e6)) != 3e6:
            wrong.append(i)
        counts[i] += 1
threads = [threading.Thread(target=calls, args=(i,)) for i in range(3)]
for thread in threads:
    thread.start()
for _ in range(4):
    interrupted(lambda: f(1e15), after=0.1)
    interrupted(lambda: pairs(np.zeros(2_000_000)), after=0.1)
before = list(counts)
deadline = time.monotonic() + 300
while not all(c > b for c, b in zip(counts, before)) and time.monotonic() < deadline:
    time.sleep(0.01)
stop.set()
for thread in threads:
    thread.join()
assert not wrong, wrong
assert all(c > b for c, b in zip(counts, before)), counts
assert np.asarray(exp(x)).tobytes() == want
"""


def test_other_threads_are_left_alone() -> None:
    run(OTHERS)


NOT_MAIN = """
# a loop in another thread does not end at Ctrl-C, which the main thread gets; and it lets that run meanwhile
f = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))
f(1.0)
thread = threading.Thread(target=lambda: f(1e15), daemon=True)
thread.start()
interrupted(lambda: time.sleep(100))
assert thread.is_alive()
assert float(f(4.0)) == 4.0
"""


def test_a_loop_in_another_thread_lets_the_main_thread_run() -> None:
    """The main thread runs at the end of the process, too, which the thread does not hold up."""
    run(NOT_MAIN)


NESTED = """
f = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))
calls = []
def inner(x):
    calls.append(1)
    return np.asarray(f(x))
outer = tj.jit(lambda x: tj.pure_callback(inner, tj.tensor(0.0), x) + 1.0)
assert float(outer(4.0)) == 5.0
for _ in range(2):
    calls.clear()
    interrupted(lambda: outer(1e15))
    assert len(calls) == 1     # it is not begun again
assert float(outer(4.0)) == 5.0
# an op that NumPy computes: its kernel is not called again either
x = np.full(3_000_000, 2**62 - 1)
y = np.arange(1, 3_000_001)
g = tj.jit(lambda x, y: tj.gcd(x, y))
g(x[:10], y[:10])
try:
    interrupted(lambda: [g(x, y) for _ in range(100)], after=0.5)
finally:
    assert np.array_equal(np.asarray(g(x[:10], y[:10])), np.gcd(x[:10], y[:10]))
"""


def test_calls_from_callbacks() -> None:
    run(NESTED)


FORKED = """
f = tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))
pairs = tj.jit(lambda x: tj.sum(tj.exp(-tj.abs(x[:, None] - x[None, :])), 1))
f(1.0), pairs(np.zeros(1000))
def child():
    pid = os.fork()
    if pid == 0:
        signal.alarm(100)
        try:
            interrupted(lambda: f(1e15))
            interrupted(lambda: pairs(np.zeros(2_000_000)))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
child()
# of another thread, which is the child's main thread then
import warnings
warnings.simplefilter("ignore", DeprecationWarning)
failed = []
def other():
    try:
        child()
    except BaseException as error:
        failed.append(error)
thread = threading.Thread(target=other)
thread.start()
thread.join()
assert not failed, failed
interrupted(lambda: f(1e15))
"""


def test_forked_children() -> None:
    run(FORKED)


def test_a_process_that_is_told_to_end_ends() -> None:
    """Processes without a handler of Python's end, too."""
    run("""
import subprocess
code = '''
import tracejit as tj
print("begun", flush=True)
tj.jit(lambda n: tj.while_loop(lambda c: c < n, lambda c: c + 1.0, 0.0))(1e15)
'''
for number in (signal.SIGINT, signal.SIGTERM):
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    time.sleep(1.5)
    process.send_signal(number)
    assert process.wait(60) in (-number, 130), process.returncode
    process.stdout.close(), process.stderr.close()
""")


def test_short_loops_do_not_ask() -> None:
    """Loops that end in less than a millisecond do not poll for signals, which would cost time."""
    short = tj.trace(lambda x: tj.fori_loop(0, 1000, lambda i, c: c * 0.5 + 1, x), 0.0)
    assert POLL not in Executable(short).module.text
    assert POLL not in Executable(tj.trace(lambda x: tj.exp(x) + 1, np.zeros(1000))).module.text


@pytest.mark.parametrize("every", [1.0, 50.0])
@pytest.mark.parametrize("name", [name for name, case in LOOPS.items() if case[2]])
def test_loops_that_ask_often_are_right(name: str, every: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results do not depend on how steps are cut into strips."""
    text, _, short, expected = LOOPS[name]
    monkeypatch.setattr(exits, "BETWEEN_POLLS", every)
    monkeypatch.setattr(exits, "LONG_CYCLES", every)
    f = tj.jit(eval(text, {"tj": tj}))
    arguments = eval(short or "", {"np": np})
    np.testing.assert_allclose(np.asarray(f(*arguments)), eval(expected or "", {"np": np}))
    np.testing.assert_allclose(np.asarray(f(*arguments)), eval(expected or "", {"np": np}))


def test_a_long_loop_has_its_steps_undisturbed() -> None:
    """The innermost loop of a scan does not count: it asks between strips."""
    text = Executable(
        tj.trace(lambda x: tj.fori_loop(0, 10**9, lambda i, c: c * 0.5 + 1, x), 0.0)
    ).module.text
    blocks = re.split(r"\n(?=[\w.]+:\n)", text)
    (tight,) = [block for block in blocks if "= fmul double" in block]
    assert POLL not in tight
