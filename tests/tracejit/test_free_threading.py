"""Free-threaded Python: native entries and native eager functions are off, and results agree.

No such interpreter is needed: `runtime.native.capi` goes by ``sys.version``, which a new process changes.
"""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys

sys.version = sys.version.replace("(", "free-threading build (", 1)
import numpy as np

import tracejit as tj

f = tj.jit(lambda x, y: {"sum": (tj.sin(x) * y).sum()})
x = np.linspace(0.0, 1.0, 5)
for _ in range(3):
    assert abs(f(x, 2.0)["sum"] - 2 * np.sin(x).sum()) < 1e-12
assert not f.explain().signatures[0].native_entry
assert np.allclose(tj.jit(tj.grad(lambda x: f(x, 1.0)["sum"]))(x), np.cos(x))
w = tj.tensor([1.0, 2.0], requires_grad=True)
for _ in range(200):  # often enough that an operation would become native
    (w * w + w).sum().backward()
assert np.array_equal(w.grad, [600.0, 1000.0])
from tracejit.runtime.native.capi import native_interface

assert native_interface.cache_info().currsize == 1
print("done")
"""


def test_without_the_gil_calls_go_through_python() -> None:
    process = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert process.stdout == "done\n", process.stderr
