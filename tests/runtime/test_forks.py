"""Forks at any moment: a child never waits for what another thread of its parent was doing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ..rotation import share_of
from .programs import python

ROOT = Path(__file__).parents[2]

#: Code that children run, each under an alarm: eager code, first compiles, lazy imports.
CHILD = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads

def child(number):
    signal.alarm(90)  # instead of waiting for ever
    import numpy as np
    import tracejit as tj
    plain = np.linspace(0, 1, 50 + number)
    x = tj.tensor(plain, requires_grad=True)
    y = (tj.sin(x) * x).sum()
    y.backward()
    assert np.allclose(np.asarray(x.grad), np.sin(plain) + plain * np.cos(plain))
    f = tj.jit(lambda x: tj.exp(x) @ tj.ones(len(x)) * (number + 1))
    assert np.isclose(float(f(plain)), np.exp(plain).sum() * (number + 1))
    assert tj.nn.relu(tj.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert tj.random.gamma(tj.random.key(0), 2.0).shape == ()
    assert tj.optim.sgd(0.1) is not None
    os._exit(0)

def fork(number):
    pid = os.fork()
    if pid == 0:
        try:
            child(number)
        finally:
            import traceback
            traceback.print_exc()
            os._exit(1)
    return pid

def wait(pid):
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"a child ended with {status}"
"""

FIRST_IMPORTS = (
    CHILD
    + """
import numpy as np, tracejit as tj
sys.setswitchinterval(1e-5)  # threads change in the middle of everything

def first(step):
    barrier.wait()
    step()

steps = [
    lambda: tj.jit(lambda x: tj.sin(x) * 2)(np.ones(7)),
    lambda: tj.nn.gelu(tj.ones(3)),
    lambda: tj.random.beta(tj.random.key(1), 1.0, 2.0),
    lambda: tj.optim.adam(0.1),
    lambda: tj.extend.ops,
]
barrier = threading.Barrier(len(steps) + 1)
threads = [threading.Thread(target=first, args=(step,)) for step in steps]
for thread in threads:
    thread.start()
barrier.wait()
pids = []
time.sleep(DELAY)
for number in range(3):
    pids.append(fork(number))
    time.sleep(0.004)
for thread in threads:
    thread.join()
for pid in pids:
    wait(pid)
print("alive")
"""
)


@pytest.mark.parametrize("delay", share_of([0.0, 0.002, 0.01, 0.03, 0.06, 0.1, 0.2], 2))
def test_forks_while_other_threads_import_and_compile_for_the_first_time(delay: float) -> None:
    assert python(FIRST_IMPORTS.replace("DELAY", str(delay)), 300).strip() == "alive"


IN_EACH_IMPORT = (
    CHILD
    + """
import builtins, importlib.abc
import numpy as np

class Slow(importlib.abc.MetaPathFinder):
    "Lets the main thread run, and fork, in the middle of each import of tracejit's and llvmlite's."
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tracejit", "llvmlite") and threading.current_thread() is not main:
            reached.set()
            time.sleep(0.004)
        return None

main = threading.main_thread()
import tracejit as tj
sys.meta_path.insert(0, Slow())
reached = threading.Event()
done = threading.Event()

def first():
    tj.jit(lambda x: tj.sin(x) * 2)(np.ones(7))
    tj.nn.gelu(tj.ones(3))
    done.set()

thread = threading.Thread(target=first)
thread.start()
forks = 0
while not done.is_set():
    if reached.wait(0.01):
        reached.clear()
        wait(fork(forks))
        forks += 1
thread.join()
assert forks
print("alive")
"""
)


def test_forks_in_the_middle_of_imports() -> None:
    assert python(IN_EACH_IMPORT).strip() == "alive"


FORGOTTEN = (
    CHILD
    + """
import numpy as np, tracejit as tj
from tracejit.base.process import forking
forking._IMPORT_SECONDS = 0.0  # as if an import began after the fork looked
source = tj.__path__[0] + "/nn/__init__.py"
inside, go_on = threading.Event(), threading.Event()
import importlib.machinery as machinery
plain = machinery.SourceFileLoader.exec_module

def exec_module(self, module):
    if module.__name__ == "tracejit.nn" and threading.current_thread() is not threading.main_thread():
        inside.set()
        go_on.wait(60)
    return plain(self, module)

machinery.SourceFileLoader.exec_module = exec_module
thread = threading.Thread(target=lambda: tj.nn.gelu(tj.ones(3)))
thread.start()
inside.wait(60)
wait(fork(0))
go_on.set()
thread.join()
assert tj.nn.relu(tj.tensor([-1.0, 2.0])).tolist() == [0, 2]
print("alive")
"""
)


def test_an_import_that_was_cut_off_is_begun_anew() -> None:
    assert python(FORGOTTEN).strip() == "alive"


OF_OTHERS = (
    CHILD
    + """
import numpy as np, tracejit as tj
place = pathlib.Path("PLACE")
slow = "import go_on; go_on.inside.set(); go_on.event.wait(60); done = True"
(place / "slow_module.py").write_text(slow)
(place / "go_on.py").write_text("import threading; event, inside = threading.Event(), threading.Event()")
sys.path.insert(0, "PLACE")
import go_on
thread = threading.Thread(target=lambda: __import__("slow_module"))
thread.start()
go_on.inside.wait(60)
pid = os.fork()
if pid == 0:
    signal.alarm(90)
    go_on.event = threading.Event()
    go_on.event.set()
    import slow_module
    os._exit(0 if slow_module.done else 1)
wait(pid)
go_on.event.set()
thread.join()
assert sys.modules["slow_module"].done
print("alive")
"""
)


def test_an_import_of_the_users_that_was_cut_off_is_begun_anew(tmp_path: Path) -> None:
    program = OF_OTHERS.replace("import os,", "import os, pathlib,").replace("PLACE", tmp_path.as_posix())
    assert python(program).strip() == "alive"


EAGER = (
    CHILD
    + """
import numpy as np, tracejit as tj
x = tj.ones(3)
for _ in range(1100):  # the thread that links native eager ops has just begun
    y = x + x
for number in range(3):
    wait(fork(number))
print("alive")
"""
)


def test_forks_while_eager_operations_become_native() -> None:
    """The fork waits for that thread, which needs LLVM: so it does not take LLVM's lock before."""
    assert python(EAGER).strip() == "alive"


def test_every_lock_is_free_in_a_child() -> None:
    """Locks of our own are `ForkLock`s, or a fork waits for them."""
    allowed = {
        "base/process/forking.py": "LLVM_LOCK, which forks hold, and one of threads, which a child forgets",
        "codegen/llvm/compiler.py": "of one compilation",
        "runtime/tiers.py": "made anew in a child",
    }
    locks = {f"threading.{name}" for name in ("Lock", "RLock", "Condition", "Semaphore", "Event", "Barrier")}
    locks.add("_thread.allocate_lock")
    users = set()
    for folder in ("base", "ir", "codegen", "runtime", "tracejit"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and ast.unparse(node) in locks:
                    users.add(path.resolve().relative_to(ROOT.resolve()).as_posix())
    assert users == set(allowed)
