"""Signals that come while objects are dropped: an exception in a finalizer has no caller, and was lost."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from .programs import ROOT, python

PRELUDE = """
import gc, os, pickle, signal, sys, tempfile
import numpy as np
import tracejit as tj

x = np.ones(8)

def jitted(number):
    f = tj.jit(lambda x: tj.cos(x * number).sum())
    f(x)
    return f

def with_arena(number):
    f = tj.jit(lambda x: tj.sort(tj.sin(x) + number) @ tj.cumsum(x))
    f(np.ones(5000))
    return f

def with_gradient(number):
    f = tj.jit(tj.grad(lambda x: (x * x * number).sum()))
    f(x)
    return f

def recorded(number):
    w = tj.tensor(x, requires_grad=True)
    f = tj.jit(lambda w: tj.sin(w) * number)
    return f, f(w).sum(), tj.exp(w * number) @ w

def with_loop(number):
    def f(x):
        total = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                total += x[i] * number
        return total
    f = tj.jit(f)
    f(x)
    return f

def with_callback(number):
    f = tj.jit(lambda x: tj.pure_callback(lambda v: v * number, tj.TensorType(tj.float64, (8,)), x))
    f(x)
    return f

def pointer(number):
    return tj.jit(lambda x: tj.sort(x) * number).cfunc(np.ones(3000))

def sent(number):
    f = jitted(number)
    f.__module__, f.__qualname__, globals()["sent_function"] = __name__, "sent_function", f
    pickle.dumps(f)
    del globals()["sent_function"]
    return f

def saved(number):
    w = tj.tensor(x, requires_grad=True)
    with tj.autograd.graph.save_on_disk():
        return (w * w * number).sum()

def hooked(number):
    w = tj.tensor(x, requires_grad=True)
    handle = tj.autograd.graph.register_multi_grad_hook([w, w * number], lambda gradients: None)
    (w * w).sum().backward()
    return handle, w

def source(number):
    names = {"tj": tj}
    exec(f"def f(x):\\n    return tj.sin(x) * {number}", names)
    tj.jit(names["f"])(x)
    names["f"](tj.tensor(x))
    return names

profiled = tj.profile()
def followed(number):
    if not profiled._begun:
        profiled.__enter__()
    return tj.tensor(x) * number

KINDS = [jitted, with_arena, with_gradient, recorded, with_loop, with_callback, pointer, sent, saved, hooked,
         source, followed]
"""

FRAMES = """
found = {}
for make in KINDS:
    make(2), gc.collect()  # what is done once
    made = [make(3)]
    frames = []
    def see(frame, event, argument):
        if event == "call":
            frames.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")
    sys.setprofile(see)
    made.clear()
    gc.collect()
    sys.setprofile(None)
    if frames:
        found[make.__name__] = frames
assert not found, found
"""

SIGNALS = """
delivered = raised = 0
lost, armed = [], False
sys.unraisablehook = lambda unraisable: lost.append(str(unraisable.exc_traceback.tb_frame.f_code))
def handler(number, frame):
    global delivered, armed
    if armed:
        armed = False
        delivered += 1
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)

waiting = [make(number) for make in KINDS for number in range(COUNT)]
signal.setitimer(signal.ITIMER_REAL, 2e-4, 2e-4)
while waiting:
    try:
        armed = True
        waiting.pop()
        if len(waiting) % 10 == 0:
            gc.collect()
        armed = False
    except KeyboardInterrupt:
        raised += 1
signal.setitimer(signal.ITIMER_REAL, 0)
assert not lost, (delivered, raised, lost)
assert delivered == raised
"""


@pytest.mark.parametrize("linker", ["", "llvm"])
def test_no_python_code_runs_where_an_object_is_dropped(linker: str) -> None:
    python(PRELUDE + FRAMES, TRACEJIT_LINKER=linker, TRACEJIT_TIERS="0")


def test_each_signal_that_comes_while_objects_are_dropped_is_raised() -> None:
    python(f"COUNT = 20\n{PRELUDE}{SIGNALS}", TRACEJIT_TIERS="0")


#: Classes and functions of `weakref` whose callbacks are Python code.
_PYTHON_CALLBACKS = {"finalize", "WeakSet", "WeakKeyDictionary", "WeakValueDictionary", "WeakMethod"}


def test_no_source_has_a_finalizer_in_python() -> None:
    """`base/process/finalization.py` has what does the same in C."""
    finalizers = []
    for folder in ("base", "ir", "codegen", "runtime", "tracejit"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(parent.is_symlink() for parent in path.parents):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if _is_finalizer(node) and path.name != "finalization.py":
                    finalizers.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not finalizers


def _is_finalizer(node: Any) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name == "__del__"
    if isinstance(node, ast.ClassDef):
        return any(map(_calls_python, node.bases))
    if not isinstance(node, ast.Call):
        return False
    has_callback = ast.unparse(node.func) in ("weakref.ref", "weakref.proxy") and len(node.args) > 1
    is_test = ast.unparse(node.func) in ("isinstance", "issubclass")
    return has_callback or any(map(_calls_python, [node.func, *([] if is_test else node.args)]))


def _calls_python(node: ast.expr) -> bool:
    is_of_weakref = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "weakref"
    return is_of_weakref and node.attr in _PYTHON_CALLBACKS
