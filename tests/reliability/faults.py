"""Programs that something goes wrong in: forks, memory that is wanted back, arrays that change during calls,
folders that go away, modules that are reloaded, modes of the processor.

Each program is Python source that runs in a process of its own, with `COUNT` defined, and prints one line of
figures at its end. ``python -m tests.reliability`` runs them with the counts that docs/reliability.md states;
`test_faults.py` runs all of them with small ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Fault:
    """A program, how often it does what it does in a test, and in a long run."""

    program: str
    few: int
    many: int
    #: Environment variables that it runs with.
    environment: tuple[tuple[str, str], ...] = ()


PRELUDE: Final = """
import gc, os, pathlib, signal, sys, tempfile, threading, time, warnings
import numpy as np
import tracejit as tj

#: Bytes that a process grows by once: pools of the allocator, tables that get their final size.
GROWN_ONCE = 12_000_000

def resident():
    "Bytes of physical memory in use."
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""

FORKS: Final = """
# threads compile all the time; each child compiles, calls, records a gradient and ends
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads
stop, compiled = threading.Event(), [0, 0]
def compile_always(number):
    while not stop.is_set():
        f = tj.jit(lambda x, n=compiled[number]: tj.sin(x) * n + number)
        assert f(np.zeros(3)).tolist() == [number] * 3
        compiled[number] += 1
threads = [threading.Thread(target=compile_always, args=(number,)) for number in range(2)]
for thread in threads:
    thread.start()

def child(number):
    signal.alarm(300)  # instead of waiting for ever
    x = tj.tensor(np.arange(1.0, 4), requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]
    if number % 10 == 0:
        assert tj.jit(lambda x: x * 2 + number)(np.ones(5)).tolist() == [2 + number] * 5

for number in range(COUNT):
    pid = os.fork()
    if pid == 0:
        try:
            child(number)
            os._exit(0)
        finally:
            import traceback
            traceback.print_exc()
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"child {number} ended with {status}"
stop.set()
for thread in threads:
    thread.join()
print(f"{COUNT} children ended well, while {sum(compiled)} functions were compiled")
"""

SHAPES: Final = """
# one function of many shapes, then it is dropped: what it took is free again, and serves one of other shapes.
# Little of it goes back to the system. Tables of types remember some thousand shapes, a few objects of each,
# and these lie in most of the arenas that Python got from the system for what has been freed since.
REMEMBERED = 40 * 4096  # objects in these tables at most
def calls(first):
    f = tj.jit(lambda x: tj.sin(x).sum() + x[0])
    for n in range(first, first + COUNT):
        assert np.isclose(float(f(np.zeros(n))), 0.0)
    return resident(), sys.getallocatedblocks()

tj.jit(lambda x: tj.sin(x).sum() + x[0])(np.zeros(3))
gc.collect()
before, objects = resident(), sys.getallocatedblocks()
peak, most = calls(10)
gc.collect()
dropped, left = resident(), sys.getallocatedblocks() - objects
assert left < REMEMBERED + 5_000 and left < 0.1 * (most - objects) + 5_000, (left, most - objects)
calls(10 + COUNT)
gc.collect()
more = resident() - dropped
assert more < GROWN_ONCE + 3_000 * COUNT, more
taken, other = (peak - before) / COUNT / 1000, more / COUNT / 1000
print(f"{COUNT} shapes took {taken:.0f} kB and {(most - objects) / COUNT:.0f} objects each, of which "
      f"{left / COUNT:.0f} objects stayed when the function was dropped; {COUNT} other shapes took "
      f"{other:.1f} kB each from the system")
"""

FUNCTIONS: Final = """
# functions, their gradients and results are made, called and dropped
def cycle(count):
    for number in range(count):
        f = tj.jit(lambda x, n=number: tj.cos(x * n).sum())
        g = tj.jit(tj.grad(lambda x, n=number: (x * x * n).sum())) if number % 5 == 0 else f
        f(np.ones(8)), g(np.ones(8))
    gc.collect()

cycle(min(COUNT, 400))
before = resident()
cycle(COUNT)
kept = resident() - before
assert kept < GROWN_ONCE + 3_000 * COUNT, kept
print(f"{COUNT} functions were made, called and dropped; {max(kept, 0) / COUNT / 1000:.1f} kB of each stayed")
"""

CHANGED_ARRAYS: Final = """
# while a thread calls, others free, rebind, refill and reshape what the calls read
x = np.ones(20_000)
holder = {"w": np.ones(20_000), "parts": [np.ones(20_000), np.ones(20_000)]}
functions = [
    tj.jit(lambda x: x * holder["w"]),
    tj.jit(lambda x: x * holder["parts"][0] + holder["parts"][1] - 1.0),
    tj.jit(lambda x: tj.concatenate(holder["parts"])[:20_000] * x),
]
for f in functions:
    f(x)
stop = threading.Event()
def change():
    n = 0
    while not stop.is_set():
        n += 1
        holder["w"] = np.ones(20_000)
        holder["parts"][n % 2] = np.ones(20_000)
        if n % 7 == 0:
            holder["parts"] = [np.ones(20_000), np.ones(20_000)]
        if n % 50 == 0:  # NumPy refuses where anybody holds the array, and so where a call reads it
            try:
                holder["w"].resize((20_000, 1))
            except ValueError:
                pass
            holder["w"] = np.ones(20_000)
threads = [threading.Thread(target=change) for _ in range(2)]
for thread in threads:
    thread.start()
different = 0
for number in range(COUNT):
    try:
        result = functions[number % 3](x)
    except tj.TracejitError:  # of a shape that came for a moment
        different += 1
        continue
    assert np.asarray(result).min() == 1.0 == np.asarray(result).max()
stop.set()
for thread in threads:
    thread.join()
print(f"{COUNT} calls beside two threads that replaced what they read: {COUNT - different} right, "
      f"{different} met another shape")
"""

RESIZED: Final = """
# arguments that another thread resizes in place, against NumPy's advice: the process stays alive, and so do
# calls of other arrays
f, g = tj.jit(lambda x: x * 2.0 + 1.0), tj.jit(lambda x: tj.cumsum(x).sum())
stop, arrays = threading.Event(), [np.ones(4000) for _ in range(4)]
f(np.ones(4000)), g(np.ones(4000))
busy = [threading.Lock() for _ in arrays]
def resize():
    n = 0
    while not stop.is_set():
        n += 1
        with busy[n % 4]:  # memory that is freed during a call is read by nobody's code unharmed
            arrays[n % 4].resize((2000 + n % 3 * 2000,), refcheck=False)
            arrays[n % 4][:] = 1.0
thread = threading.Thread(target=resize)
thread.start()
for number in range(COUNT):
    with busy[number % 4]:
        array = arrays[number % 4]
        assert f(array).tolist() == [3.0] * len(array)
        assert float(g(array)) == len(array) * (len(array) + 1) / 2
stop.set()
thread.join()
print(f"{COUNT} calls of arrays that another thread resized between them: each had the length of its call")
"""

CACHE_AT_ONCE: Final = """
# processes that write the same entries at once, while the folder is removed, made read-only and given back
import shutil, subprocess
folder = pathlib.Path(tempfile.mkdtemp()) / "cache"
program = '''
import os, sys, warnings
warnings.simplefilter("ignore")
import numpy as np, tracejit as tj
for n in range(1, 1 + int(sys.argv[1])):
    f = tj.jit(lambda x, n=n: tj.exp(x * 0.0) * n)
    assert f(np.zeros(4)).tolist() == [n] * 4, n
print("fine")
'''
environment = {**os.environ, "TRACEJIT_CACHE": "1", "TRACEJIT_CACHE_DIR": str(folder)}
processes = [
    subprocess.Popen([sys.executable, "-c", program, str(COUNT)], env=environment, text=True,
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for _ in range(2)
]
disturbed = 0
while any(process.poll() is None for process in processes):
    time.sleep(0.02)
    disturbed += 1
    if not folder.is_dir():
        continue
    if disturbed % 3 == 0:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        try:
            folder.chmod(0o500 if disturbed % 3 == 1 else 0o700)
        except FileNotFoundError:
            continue  # a process is about to make it again
for process in processes:
    assert process.communicate()[0].strip() == "fine"
shutil.rmtree(folder.parent, ignore_errors=True)
print(f"two processes compiled the same {COUNT} functions at once; their folder was removed or locked "
      "again and again")
"""

RELOADED: Final = """
# a module is reloaded under a jitted function of it, and under functions that call it
import importlib
folder = pathlib.Path(tempfile.mkdtemp())
sys.path.insert(0, str(folder))
source = folder / "model_of_test.py"
def write(number):
    source.write_text(f"scale = {number}.0\\nclass Layer:\\n    w = {number}.0\\n"
                      f"def helper(x):\\n    return x * scale * {number} + Layer.w\\n")
    os.utime(source, (number, number))
write(1)
import model_of_test as model
captured = model.helper
f, g, h = tj.jit(lambda x: model.helper(x)), tj.jit(captured), tj.jit(lambda x: model.Layer.w * x)
x = np.ones(3)
for number in range(1, COUNT + 1):
    write(number)
    importlib.reload(model)
    for _ in range(2):
        assert f(x).tolist() == [number * number + number] * 3, number
        assert g(x).tolist() == captured(x).tolist(), number  # the old code, which reads the new globals
        assert h(x).tolist() == [number] * 3, number
print(f"a module was reloaded {COUNT} times: what was jitted before followed")
"""

MODES: Final = """
# NumPy's error state, the rounding mode and the treatment of denormals are after calls what they were before
import ctypes, ctypes.util
from tracejit.runtime.denormals import is_flushing
libm = ctypes.CDLL(ctypes.util.find_library("m"))
DOWN, UP, ZERO, NEAREST = 0x400, 0x800, 0xC00, 0
if "aarch64" in os.uname().machine:
    DOWN, UP, ZERO = 0x800000, 0x400000, 0xC00000
a, big = np.ones((4, 4)) + np.eye(4), np.linspace(0.1, 1, 200_000)
calls = [
    (tj.jit(lambda x: tj.exp(x) / (x - x)), big), (tj.jit(lambda x: tj.sort(x).sum()), big),
    (tj.jit(lambda x: x @ x.T), np.ones((300, 300))), (tj.jit(tj.linalg.inv), a),
    (tj.jit(lambda x: tj.linalg.eigh(x)[0]), a), (tj.jit(tj.fft.fft), np.ones(64)),
    (tj.jit(lambda x: tj.scan(lambda c, v: (c * v, c), 1.0, x)[1]), big), (tj.jit(tj.cumsum), big),
    (tj.jit(lambda x: tj.sum(x * 0.5), flush_denormals=True), big),
    (tj.jit(lambda x: tj.pure_callback(np.sin, tj.TensorType(tj.float64, x.shape), x)), np.ones(3)),
    (tj.sin, tj.tensor(big)), (lambda x: (x / 0.0).sum(), tj.ones(3)),
    (lambda x: tj.grad(lambda v: tj.log(v).sum())(x), np.zeros(3)),
]
failing = [
    (tj.jit(tj.linalg.cholesky), -a), (tj.jit(lambda x: x[x.astype(int) + 9]), np.ones(3)),
    (tj.linalg.inv, tj.zeros((2, 2))),
]
checked = 0
for number in range(COUNT):
    for mode in (NEAREST, DOWN, UP, ZERO):
        for settings in ({"all": "ignore"}, {"all": "warn"}, {"over": "raise", "invalid": "call"}):
            with np.errstate(**settings, call=print), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for f, x in [*calls, *failing]:
                    state, flushing = np.geterr(), is_flushing()
                    assert libm.fesetround(mode) == 0
                    try:
                        f(x)
                    except (tj.TracejitError, ArithmeticError, ValueError):
                        pass
                    after = libm.fegetround()
                    libm.fesetround(NEAREST)
                    assert (after, np.geterr(), is_flushing()) == (mode, state, flushing), (f, mode)
                    checked += 1
print(f"{checked} calls left the rounding mode, NumPy's error state and denormals as they were")
"""

#: Loops of kernels that run for hours, each of which Ctrl-C ends.
_KERNELS: Final = {
    "map": ("tj.exp(c * 0.5)", "np.ones(300_000)"),
    "reduction": ("c - c.sum() * 1e-9", "np.ones(300_000)"),
    "row reductions": ("c / c.sum(1, keepdims=True)", "np.ones((500, 700))"),
    "product": ("c @ c * 1e-3", "np.ones((200, 200))"),
    "sort": ("tj.sort(c)", "np.arange(50_000.0)"),
    "running sum": ("tj.cumsum(c) * 1e-5", "np.ones(100_000)"),
    "convolution": ("tj.convolve(c, c[:31], mode='same') * 0.01", "np.ones(20_000)"),
    "transform": ("tj.fft.irfft(tj.fft.rfft(c), len(c))", "np.ones(2**15)"),
    "gather": ("c[tj.arange(50_000)[::-1]]", "np.ones(50_000)"),
    "scatter": ("c.at[tj.arange(50_000) % 777].add(1.0)", "np.ones(50_000)"),
    "factorization": ("tj.linalg.cholesky(c @ c.T + 300 * tj.eye(80))", "np.eye(80)"),
    "solve": ("tj.linalg.solve(c + 99 * tj.eye(60), c)", "np.eye(60)"),
    "small matrices": ("tj.linalg.inv(c + 9 * tj.eye(3))", "np.ones((3000, 3, 3))"),
    "transpose": ("c.T + 1.0", "np.ones((600, 600))"),
    "stencil": ("c.at[1:-1].set(0.5 * (c[2:] + c[:-2]))", "np.ones(100_000)"),
    "random numbers": ("c * 0 + tj.random.normal(tj.random.key(3), (20_000,))", "np.ones(20_000)"),
    "host call": ("tj.pure_callback(np.negative, tj.TensorType(tj.float64, (9,)), c)", "np.ones(9)"),
}  # fmt: skip


def _interrupted(body: str, start: str) -> str:
    return f"""
f = tj.jit(lambda x: tj.fori_loop(0, 10**12, lambda i, c: {body}, x))
g = tj.jit(lambda x: tj.fori_loop(0, 2, lambda i, c: {body}, x))
x = {start}
expected = np.asarray(g(x)).tobytes()
for number in range(COUNT):
    interrupted(lambda: f(x), after=0.05 if number else 0.3)
    assert np.asarray(g(x)).tobytes() == expected
print(f"{{COUNT}} interrupts ended the loop, and what came next was right")
"""


#: Programs that are interrupted, which get `interrupts.py`'s prelude.
INTERRUPTED: Final = {
    name: Fault(_interrupted(*case), 1, 20, (("TRACEJIT_NUM_THREADS", "2"),))
    for name, case in _KERNELS.items()
} | {
    "compilation": Fault(
        """
def long(x):
    for n in range(30_000):
        x = tj.sin(x) + n
    return x
for number in range(COUNT):
    interrupted(lambda: tj.jit(long, loops="unrolled")(np.ones(3)), after=0.2 + number % 7 * 0.3)
    assert tj.jit(lambda x: x + number)(np.ones(2)).tolist() == [1 + number] * 2
print(f"{COUNT} interrupts ended a compilation, and the next one worked")
""",
        1,
        20,
    ),
    "waiting for the pool": Fault(
        """
big = np.ones(3_000_000)
f = tj.jit(lambda x: tj.sin(tj.exp(tj.cos(x) * 0.3) * x).sum())
expected = float(f(big))
def calls():
    while True:
        f(big)
for number in range(COUNT):
    interrupted(calls, after=0.1 + number % 5 * 0.01)
    assert float(f(big)) == expected
print(f"{COUNT} interrupts ended calls on four threads, and the next one was right")
""",
        2,
        50,
        (("TRACEJIT_NUM_THREADS", "4"),),
    ),
}

FAULTS: Final = {
    "forks": Fault(FORKS, 40, 10_000),
    "shapes": Fault(SHAPES, 80, 10_000, (("TRACEJIT_TIERS", "0"),)),
    "functions": Fault(FUNCTIONS, 100, 5_000, (("TRACEJIT_TIERS", "0"),)),
    "changed arrays": Fault(CHANGED_ARRAYS, 3_000, 200_000),
    "resized arrays": Fault(RESIZED, 500, 50_000),
    "cache at once": Fault(CACHE_AT_ONCE, 10, 300),
    "reloaded module": Fault(RELOADED, 4, 300),
    "modes": Fault(MODES, 1, 20, (("TRACEJIT_NUM_THREADS", "2"),)),
}
