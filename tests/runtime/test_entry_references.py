"""Objects that the native entry reads stay alive while it runs without the GIL, and references balance."""

from __future__ import annotations

import subprocess
import sys

REBIND = """
import sys, threading
import numpy as np
import tracejit as tj

W = tj.ones(400_000)
f = tj.jit(lambda x: tj.exp(tj.sin(x * W)).sum())
x = tj.ones(400_000)
expected = float(f(x))
stop = threading.Event()

def rebind():
    global W
    while not stop.is_set():
        W = tj.ones(400_000)      # frees the old array, which a running call may be reading
        x.data = np.ones(400_000)

threads = [threading.Thread(target=rebind) for _ in range(2)]
for one in threads:
    one.start()
for _ in range(150):
    assert float(f(x)) == expected
stop.set()
for one in threads:
    one.join()
print("fine")
"""

REBIND_RECORDED = """
import threading
import numpy as np
import tracejit as tj

W = tj.ones(400_000)
f = tj.jit(lambda x: tj.exp(tj.sin(x * W)).sum())
x = tj.ones(400_000).requires_grad_()
expected = float(f(x).detach())
f(x).backward()
gradient = x.grad.numpy().copy()
stop = threading.Event()

def rebind():
    global W
    while not stop.is_set():
        W = tj.ones(400_000)
        x.data = np.ones(400_000)

threads = [threading.Thread(target=rebind) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(100):
    x.grad = None
    result = f(x)
    assert float(result.detach()) == expected
    result.backward()
    assert np.array_equal(x.grad.numpy(), gradient)
stop.set()
for thread in threads:
    thread.join()
print("fine")
"""

REBIND_COMPLEX = """
import threading
import numpy as np
import tracejit as tj

f = tj.jit(lambda p: p["c"] * tj.exp(tj.sin(p["x"])).sum())
p = {"x": np.ones(400_000), "c": complex(2.0, 5.0)}
expected = complex(f(p))
stop = threading.Event()

def rebind():
    while not stop.is_set():
        p["c"] = complex(float("2"), float("5"))  # frees the old number, which a running call may be reading
        others = [complex(k, k) for k in range(20)]

threads = [threading.Thread(target=rebind) for _ in range(2)]
for thread in threads:
    thread.start()
results = {complex(f(p)) for _ in range(400)}
stop.set()
for thread in threads:
    thread.join()
assert results == {expected}, results
print("fine")
"""

BALANCE = """
import sys
import numpy as np
import tracejit as tj

W = tj.ones(400_000)
f = tj.jit(lambda x: (tj.exp(tj.sin(x * W)).sum(), x))
x = np.ones(400_000)
f(x)
f(x)  # by the entry, which is linked now
before = [sys.getrefcount(one) for one in (x, W, W.numpy(), None, False)]
for _ in range(50):
    f(x)
after = [sys.getrefcount(one) for one in (x, W, W.numpy(), None, False)]
assert all(abs(a - b) < 20 for a, b in zip(after, before)), (before, after)
print("fine")
"""

BALANCE_RECORDED = """
import gc, sys
import numpy as np
import tracejit as tj

def leaf():
    return tj.ones(3).requires_grad_()

def fn(params, x, n):
    return {"y": tj.sin(params["w"]) * x * n, "rest": [params["b"] + weight]}

weight, params = leaf(), {"w": leaf(), "b": tj.ones(3)}
tensors = [weight, *params.values()]
x, number, single = np.ones(3), 2.5, np.ones(3, np.float32)
f = tj.jit(fn)
objects = [*tensors, *[tensor._data for tensor in tensors], x, number, x.dtype]
objects += [None, True, False, "y", params]

def run():
    for array in (x, single):  # either matches the other's entry until then
        result = f(params, array, number)
        (result["y"].sum() + result["rest"][0].sum()).backward()
        with tj.no_grad():
            f(params, array, number)

for _ in range(200):  # until eager operations have got native functions
    run()
gc.collect()
before = [sys.getrefcount(object_) for object_ in objects]
for _ in range(1000):
    run()
gc.collect()
after = [sys.getrefcount(object_) for object_ in objects]
assert all(abs(a - b) < 400 for a, b in zip(after, before)), (before, after)
print("fine")
"""


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_arrays_that_are_rebound_while_they_are_read() -> None:
    assert _run(REBIND) == "fine"


def test_arrays_that_are_rebound_while_a_recorded_call_reads_them() -> None:
    assert _run(REBIND_RECORDED) == "fine"


def test_complex_numbers_that_are_rebound_while_they_are_read() -> None:
    assert _run(REBIND_COMPLEX) == "fine"


def test_references_balance() -> None:
    assert _run(BALANCE) == "fine"


def test_references_of_recorded_calls_balance() -> None:
    assert _run(BALANCE_RECORDED) == "fine"
