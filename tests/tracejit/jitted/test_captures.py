"""Captures of a jitted function are read afresh at each call, wherever the function found them."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

_ROOT = Path(__file__).parents[3]


def values(tensor):
    return np.asarray(tensor.detach()).tolist()


def module(**names):
    """A namespace whose functions have globals of their own."""
    imported = types.ModuleType("made")
    imported.__dict__.update(tj=tj, np=np, **names)
    return imported


def run(names, text):
    exec(text, names.__dict__)
    return names.f


@pytest.mark.parametrize("kind", [tj.tensor, np.array])
def test_rebinding_a_global(kind):
    m = module(w=kind([1.0, 2.0]))
    f = tj.jit(run(m, "def f(x): return x * w"))
    assert values(f(2.0)) == [2, 4]
    m.w = kind([10.0, 20.0])
    assert values(f(2.0)) == [20, 40]
    m.w = kind([3.0, 4.0])
    assert values(f(2.0)) == [6, 8]


@pytest.mark.parametrize("kind", [tj.tensor, np.array])
def test_rebinding_a_closure_variable(kind):
    w = kind([1.0, 2.0])

    def change(value):
        nonlocal w
        w = value

    f = tj.jit(lambda x: x * w)
    assert values(f(2.0)) == [2, 4]
    change(kind([10.0, 20.0]))
    assert values(f(2.0)) == [20, 40]


@pytest.mark.parametrize("kind", [tj.tensor, np.array])
def test_changing_in_place(kind):
    w = kind([1.0, 2.0])
    f = tj.jit(lambda x: x * w)
    assert values(f(2.0)) == [2, 4]
    w[0] = 5.0
    assert values(f(2.0)) == [10, 4]
    w += 1
    assert values(f(2.0)) == [12, 6]


def test_an_array_becomes_a_tensor_and_back():
    m = module(w=np.array([1.0, 2.0]))
    f = tj.jit(run(m, "def f(x): return x * w"))
    assert values(f(2.0)) == [2, 4]
    m.w = tj.tensor([3.0, 4.0])
    assert values(f(2.0)) == [6, 8]
    m.w = np.array([5.0, 6.0])
    assert values(f(2.0)) == [10, 12]


def test_a_change_of_type_compiles_again():
    m = module(w=tj.tensor([1.0, 2.0]))
    f = tj.jit(run(m, "def f(x): return x * w"))
    assert values(f(2.0)) == [2, 4]
    m.w = tj.tensor([1.0, 2.0, 3.0])
    assert values(f(2.0)) == [2, 4, 6]
    m.w = tj.tensor([7], dtype=tj.int32)
    assert f(2).dtype == np.int32
    assert values(f(2)) == [14]
    m.w = tj.tensor([1.0, 2.0], dtype=tj.float32)
    assert f(2.0).dtype == np.float32
    assert "w, which the function closes over, changed from f64[3] to f32[2]" in f.explain()


def test_deletion_is_a_clear_error_and_a_new_value_works():
    m = module(w=tj.tensor([1.0]))
    f = tj.jit(run(m, "def f(x): return x * w"))
    f(2.0)
    del m.w
    for _ in range(2):
        with pytest.raises(NameError, match="'w' is not defined"):
            f(2.0)
    assert STATE.tracer is None
    m.w = tj.tensor([4.0])
    assert values(f(2.0)) == [8]


def test_elements_of_a_dict():
    params = {"b": tj.tensor([1.0]), "c": tj.tensor([5.0])}
    f = tj.jit(lambda x: x * params["b"] - params["c"])
    assert values(f(2.0)) == [-3]
    params["b"] = tj.tensor([10.0])
    assert values(f(2.0)) == [15]
    params["a"] = tj.tensor([1000.0])  # before the others in order
    assert values(f(2.0)) == [15]
    del params["a"]
    params["c"] = tj.tensor([1.0])
    assert values(f(2.0)) == [19]
    del params["b"]
    with pytest.raises(KeyError, match="b"):
        f(2.0)


def test_elements_of_a_list():
    layers = [tj.tensor([1.0]), tj.tensor([2.0])]
    f = tj.jit(lambda x: x * layers[0] + layers[-1])
    assert values(f(2.0)) == [4]
    layers[0] = tj.tensor([10.0])
    assert values(f(2.0)) == [22]
    layers[1] = tj.tensor([3.0])
    assert values(f(2.0)) == [23]


def test_nested_containers():
    params = {"layers": [{"w": tj.tensor([1.0])}, {"w": tj.tensor([2.0])}]}
    f = tj.jit(lambda x: x * params["layers"][1]["w"])
    assert values(f(2.0)) == [4]
    params["layers"][1]["w"] = tj.tensor([5.0])
    assert values(f(2.0)) == [10]
    params["layers"][1] = {"w": tj.tensor([6.0])}
    assert values(f(2.0)) == [12]
    params["layers"].insert(0, {"w": tj.tensor([-1.0])})
    # what the function would read now: params["layers"][1] is the former first
    assert values(f(2.0)) == [2]


def test_two_names_for_one_tensor():
    m = module(a=tj.tensor([1.0, 2.0]))
    m.b = m.a
    f = tj.jit(run(m, "def f(x): return a * 10 + b * x"))
    assert values(f(1.0)) == [11, 22]
    m.b = tj.tensor([5.0, 5.0])
    assert values(f(1.0)) == [15, 25]
    m.a = tj.tensor([0.0, 0.0])
    assert values(f(1.0)) == [5, 5]


def test_a_tensor_that_is_also_an_argument():
    m = module(w=tj.tensor([1.0, 2.0]))
    f = tj.jit(run(m, "def f(x): return x * w"))
    assert values(f(m.w)) == [1, 4]
    assert values(f(tj.tensor([10.0, 10.0]))) == [10, 20]


def test_globals_of_a_function_that_is_called():
    m = module(w=tj.tensor([1.0]))
    f = tj.jit(run(m, "def helper(x): return x * w\ndef f(x): return helper(x)"))
    assert values(f(2.0)) == [2]
    m.w = tj.tensor([100.0])
    assert values(f(2.0)) == [200]
    m.w[0] = 3.0
    assert values(f(2.0)) == [6]


def test_attributes_of_a_captured_object():
    class Model:
        pass

    model = Model()
    model.w = tj.tensor([1.0])
    f = tj.jit(lambda x: x * model.w)
    assert values(f(2.0)) == [2]
    model.w[0] = 3.0
    assert values(f(2.0)) == [6]
    model.w = tj.tensor([100.0])
    assert values(f(2.0)) == [200]


def test_an_attribute_is_not_mistaken_for_a_global_of_its_name():
    m = module(model=types.SimpleNamespace(), w=tj.tensor([1.0]))
    m.model.w = m.w
    f = tj.jit(run(m, "def f(x): return x * model.w"))
    assert values(f(2.0)) == [2]
    m.w = tj.tensor([50.0])
    assert values(f(2.0)) == [2]


def test_names_in_inner_functions_and_comprehensions():
    m = module(w=tj.tensor([1.0]), ws=[tj.tensor([2.0]), tj.tensor([3.0])])
    f = tj.jit(run(m, "def f(x):\n    g = lambda y: y * w\n    return g(x) + sum([x * one for one in ws])"))
    assert values(f(2.0)) == [12]
    m.w = tj.tensor([10.0])
    assert values(f(2.0)) == [30]
    m.ws[1] = tj.tensor([4.0])
    assert values(f(2.0)) == [32]


def test_default_values_of_parameters():
    def f(x, w=tj.tensor([3.0])):  # noqa: B008
        return x * w

    g = tj.jit(f)
    assert values(g(2.0)) == [6]
    f.__defaults__[0][0] = 5.0
    assert values(g(2.0)) == [10]


def test_captures_of_a_decorated_and_of_a_differentiated_function():
    m = module(w=tj.tensor([1.0, 2.0]))
    f = tj.jit(tj.grad(run(m, "def f(x): return (x * x * w).sum()")))
    x = tj.tensor([3.0, 4.0])
    assert values(f(x)) == [6, 16]
    m.w = tj.tensor([10.0, 10.0])
    assert values(f(x)) == [60, 80]


def test_a_global_that_is_no_longer_an_array():
    m = module(w=tj.tensor([2.0]))
    f = tj.jit(run(m, "def f(x): return x * w"))
    assert values(f(3.0)) == [6]
    m.w = 5.0
    assert values(f(3.0)) == 15
    m.w = tj.tensor([2.0])
    assert values(f(3.0)) == [6]


def test_captured_tensors_take_gradients():
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    f = tj.jit(lambda x: x * w)
    x = tj.tensor([3.0, 4.0])
    for _ in range(2):
        f(x).sum().backward()
    assert values(w.grad) == [6, 8]
    with tj.no_grad():
        assert not f(x).requires_grad
        assert values(f(x)) == [3, 8]
    out = f(x)
    assert repr(out).endswith("grad_fn=<JitBackward>)")


def test_a_capture_that_begins_to_require_gradients_after_compiling():
    w = tj.tensor([1.0, 2.0])
    f = tj.jit(lambda x: x * w)
    x = tj.tensor([3.0, 4.0])
    assert not f(x).requires_grad
    assert not f(x).requires_grad
    w.requires_grad_()
    f(x).sum().backward()
    assert values(w.grad) == [3, 4]
    w.requires_grad_(False)
    assert not f(x).requires_grad


def test_a_capture_inside_a_graph():
    leaf = tj.tensor([1.0, 2.0], requires_grad=True)
    w = leaf * 3
    f = tj.jit(lambda x: x * w)
    f(tj.tensor([1.0, 10.0])).sum().backward()
    assert values(leaf.grad) == [3, 30]


def test_writing_to_a_capture_while_tracing_is_refused():
    w = tj.tensor([1.0, 2.0])

    @tj.jit
    def f(x):
        w[0] = x
        return w * 1

    for _ in range(2):
        with pytest.raises(tj.TraceError, match="outside the traced function is being written"):
            f(3.0)
    assert values(w) == [1, 2]
    assert values(w + 1) == [2, 3]


def test_layouts_of_captures():
    base = np.arange(12.0)
    m = module(w=base[::2])
    f = tj.jit(run(m, "def f(x): return x + w"))
    assert values(f(1.0)) == [1, 3, 5, 7, 9, 11]
    for w in (base[:6], base[5::-1], base.astype(">f8")[:6], np.broadcast_to(base[1:2], (6,))):
        m.w = w
        assert values(f(1.0)) == (np.asarray(w, float) + 1).tolist()
    raw = np.frombuffer(bytearray(49), np.uint8)[1:].view(np.float64)
    raw[:] = 4.0
    m.w = raw
    assert values(f(1.0)) == [5] * 6


def test_large_captures_are_read_afresh():
    m = module(w=tj.tensor(np.ones(100_000)))
    f = tj.jit(run(m, "def f(x): return (x * w).sum()"))
    assert values(f(2.0)) == 200_000
    m.w = tj.tensor(np.full(100_000, 2.0))
    assert values(f(2.0)) == 400_000


def _subprocess(text):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_captured_objects_that_die():
    text = """
import gc
import numpy as np
import tracejit as tj


def make(kind):
    w = kind([1.0, 2.0])
    def drop():
        nonlocal w
        del w
    return tj.jit(lambda x: x * w), drop

for kind in (tj.tensor, np.array):
    f, drop = make(kind)
    f(2.0), f(2.0)
    drop()
    gc.collect()
    junk = [np.zeros(2) for _ in range(1000)]
    for _ in range(3):
        try:
            f(2.0)
        except NameError:
            print("NameError")

w = tj.tensor([1.0, 2.0])
f = tj.jit(lambda x: x * w)
for i in range(300):
    w = tj.tensor([float(i), 0.0])
    assert f(2.0).numpy().tolist() == [2.0 * i, 0.0]
    if i % 50 == 0:
        gc.collect()

names = {"tj": tj}
exec("def f(x): return x * w\\nw = tj.ones(2)", names)
f = tj.jit(names["f"])
f(1.0), f(1.0)
names.clear()
gc.collect()
try:
    f(1.0)
except Exception as error:
    print(type(error).__name__)

class M: pass
m = M(); m.w = tj.ones(2)
f = tj.jit(lambda x: x * m.w)
f(1.0), f(1.0)
del m.w
gc.collect()
junk = [tj.zeros(2) for _ in range(1000)]
try:
    print(f(1.0))
except AttributeError:
    print("AttributeError")
for _ in range(50):
    g = tj.jit(lambda x, y=tj.ones(3): x * y + w[0])
    g(1.0); g(1.0)
    del g
gc.collect()
print("alive")
"""
    out = _subprocess(text).split()
    assert out[-1] == "alive"
    assert out.count("NameError") >= 6
    assert "AttributeError" in out
