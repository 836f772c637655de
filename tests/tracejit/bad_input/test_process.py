"""Inputs that could end the process, each case in a process of its own."""

from __future__ import annotations

import pytest

from ...forked import forked


def _run(text):
    assert forked(text).endswith("alive\n")


DANGEROUS = {
    "resized array": """
a = np.ones(1000)
f = tj.jit(lambda x: x + 1); f(a); f(a)
g = tj.jit(lambda x: x + a); g(1.0); g(1.0)
a.resize(10, refcheck=False)
assert f(a).shape == (10,)
assert g(1.0).shape == (10,)
""",
    "changed in place: shape and dtype": """
a = np.arange(6.0)
f = tj.jit(lambda x: x * 2); f(a); f(a)
g = tj.jit(lambda x: x + a); g(1.0); g(1.0)
a.shape = (2, 3)
assert f(a).shape == g(1.0).shape == (2, 3)
b = a.view(np.int64)
assert f(b).dtype == np.int64
""",
    "other objects to a warm entry": """
class Odd:
    pass
f = tj.jit(lambda x, s: x * s)
a = np.ones(4)
for _ in range(3):
    f(a, 2.0)
odd = [(None, 1.0), (Odd(), 1.0), ("x", 2.0), (a, "x"), (a, None), (a,), (), (a, 1.0, 2.0), (Odd, Odd)]
odd += [(a, 10**30), (a, 1j), (tj.Tensor, a), (np.ndarray, 1.0), (object.__new__(tj.Tensor), 1.0)]
for args in odd:
    try:
        f(*args)
    except Exception as error:
        assert not isinstance(error, SystemError)
assert f(a, 3.0).tolist() == [3, 3, 3, 3]
""",
    "indices of more than 32 axes": """
x, i = np.arange(3.0), np.ones((1,) * 40, np.int64)
for f in (tj.index_add, lambda x, i, v: tj.grad(lambda x: tj.take(x, i).sum())(x)):
    assert f(x, i, 1.0).tolist() in ([0, 2, 2], [0, 1, 0])
""",
    "wide and deep": """
f = tj.jit(lambda *a: sum(a))
args = [np.ones(2) for _ in range(300)]
for _ in range(3):
    assert f(*args).tolist() == [300, 300]
def deep(x):
    for _ in range(3000):
        x = tj.sin(x)
    return x
assert np.isfinite(tj.jit(deep)(np.ones(3)).numpy()).all()
""",
    "many shapes": """
f = tj.jit(lambda x: (x * 2).sum())
for n in range(60):
    assert f(np.ones(n)).item() == 2 * n
r = tj.jit(lambda x: x + 1)(np.ones((1,) * 20))
assert r.shape == (1,) * 20
try:
    tj.ones((1,) * 64)[None]
except Exception as error:
    print(type(error).__name__)
""",
    "gathers far outside": """
f = tj.jit(lambda x, i: x[i])
x = np.arange(10.0)
f(x, np.array([1, 2]))
for bad in (2**62, -2**62, 2**31, -11, 10, np.iinfo(np.int64).min, np.iinfo(np.int64).max):
    try:
        f(x, np.array([0, bad]))
    except IndexError:
        continue
    raise SystemExit(f"no error for {bad}")
def put(x, i, v):
    x[i] = v
    return x
g = tj.jit(put)
for bad in (2**62, -2**62, -11, 10):
    try:
        g(x, np.array([0, bad]), 1.0)
    except IndexError:
        continue
    raise SystemExit(f"no error for {bad}")
assert x.tolist() == list(range(10))
""",
    "threads, resets and collection": """
import threading, gc
f = tj.jit(lambda x: x + 1)
stop = threading.Event()
def reset():
    while not stop.is_set():
        f.clear_cache()
        gc.collect()
t = threading.Thread(target=reset); t.start()
for i in range(300):
    assert f(np.full(3, float(i))).tolist() == [i + 1.0] * 3
stop.set(); t.join()
""",
    "rebinding while called": """
import threading
w = np.ones(100)
f = tj.jit(lambda x: x * w)
stop = threading.Event()
def rebind():
    global w
    n = 0
    while not stop.is_set():
        n += 1
        w = np.ones(100)
        if n % 100 == 0:
            w = tj.ones(100)
t = threading.Thread(target=rebind); t.start()
for _ in range(20000):
    assert f(2.0).numpy()[0] == 2.0
stop.set(); t.join()
""",
    "functions that die while their results live": """
import gc
def make():
    f = tj.jit(lambda x: (x + 1, x * 2))
    f(np.ones(100_000))
    return f(np.ones(100_000)), tj.jit(lambda x: x * 3)(tj.ones(5, requires_grad=True))
for _ in range(20):
    (a, b), c = make()
    gc.collect()
    c.sum().backward()
    assert a.numpy().sum() == b.numpy().sum() == 200_000
""",
    "at exit": """
import atexit
f = tj.jit(lambda x: x @ x)
big = f(np.ones((300, 300)))
keep = f
atexit.register(lambda: f(np.ones((300, 300))))
""",
    "fork": """
import os, warnings
warnings.simplefilter("ignore")
f = tj.jit(lambda x: (tj.exp(x) + 1).sum())
x = np.ones(1 << 20)
want = f(x).item()
pid = os.fork()
if pid == 0:
    os._exit(0 if f(x).item() == want else 1)
assert os.waitpid(pid, 0)[1] == 0
assert f(x).item() == want
""",
}


@pytest.mark.parametrize("name", DANGEROUS)
def test_the_process_survives(name):
    _run("import numpy as np\nimport tracejit as tj\n" + DANGEROUS[name] + "\nprint('alive')\n")


def test_hostile_arguments_of_compiled_functions():
    _run("from tests.tracejit.bad_input.hostile_arguments import main; main()")
