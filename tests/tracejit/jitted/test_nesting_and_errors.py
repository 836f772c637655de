"""Jitted functions in jitted functions, exceptions, leaked symbols, threads, ``explain``."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

from .common import Counted, same


def test_nested_jit_and_jit_of_jit():
    inner = tj.jit(lambda x: x * 2)
    outer = tj.jit(lambda x: inner(x) + inner(x + 1))
    same(outer(tj.tensor([1.0])), [6])
    same(inner(tj.tensor([1.0])), [2])
    same(tj.jit(tj.jit(inner))(tj.tensor([1.0])), [2])


def test_recursion_over_a_static_argument():
    @tj.jit(static_argnums=1)
    def power(x, n):
        return x if n == 0 else power(x * 2, n - 1)

    same(power(tj.tensor([1.0]), 5), [32])


def test_endless_recursion_is_an_error_and_leaves_things_clean():
    @tj.jit
    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError):
        endless(tj.tensor([1.0]))
    assert STATE.tracer is None
    same(tj.jit(lambda x: x + 1)(1.0), 2.0)


def test_an_exception_in_the_function_leaves_things_clean():
    fail = True

    @tj.jit
    def f(x):
        y = x * 2
        if fail:
            raise KeyError("mine")
        return y

    other = tj.jit(lambda x: x + 1)
    same(other(1.0), 2.0)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f(tj.tensor([1.0]))
        assert STATE.tracer is None
        assert STATE.recording is True
        same(other(1.0), 2.0)
        same(tj.tensor([1.0]) + 1, [2])
    fail = False
    same(f(tj.tensor([1.0])), [2])


def _leak():
    leaked = []

    def store(x):
        leaked.append(x)
        return x * 1

    tj.jit(store)(tj.tensor([1.0]))
    return leaked[0]


LEAK_USES = {
    "add": lambda x: x + 1,
    "compare": lambda x: x > 0,
    "sum": lambda x: x.sum(),
    "reshape": lambda x: x.reshape(1, 1),
    "matmul": lambda x: x @ x,
    "index": lambda x: x[0],
    "slice": lambda x: x[0:1],
    "stack": lambda x: tj.stack([x, x]),
    "concatenate": lambda x: tj.concatenate([x, tj.ones(1)]),
    "where": lambda x: tj.where(tj.tensor([True]), x, 0.0),
    "exp": lambda x: tj.exp(x),
    "einsum": lambda x: tj.einsum("i,i", x, x),
    "cumsum": lambda x: tj.cumsum(x),
    "astype": lambda x: x.astype("float32"),
    "setitem": lambda x: x.__setitem__(0, 1.0),
    "value of setitem": lambda x: tj.ones(1).__setitem__(slice(None), x),
    "beside an array": lambda x: np.ones(1) + x,
    "in another trace": lambda x: tj.jit(lambda y: y + x)(tj.ones(1)),
    "argument": lambda x: tj.jit(lambda y: y)(x),
    "gradient": lambda x: tj.grad(lambda y: (y * x).sum())(tj.ones(1)),
}


@pytest.mark.parametrize("name", LEAK_USES)
def test_leaked_tracers_say_what_happened(name):
    leaked = _leak()
    with pytest.raises(tj.TraceError, match="outlived its trace"):
        LEAK_USES[name](leaked)
    assert STATE.tracer is None


def test_a_leaked_tracer_has_a_text():
    assert repr(_leak()) == "tensor(<traced f64[1]>)"


CONCRETE = {
    "if": lambda x: 1 if x else 2,
    "while": lambda x: [None for _ in iter(lambda: bool(x), False)],
    "range": lambda x: range(x),
    "numpy": lambda x: x.numpy(),
    "math.floor": lambda x: math.floor(x),
    "in": lambda x: 3 in x,
    "and": lambda x: x and 1,
    "max": lambda x: max(x, 1.0),
    "list index": lambda x: [1, 2][x],
    "format": lambda x: f"{x:.2f}",
    "zeros": lambda x: tj.zeros(x),
}


@pytest.mark.parametrize("name", CONCRETE)
def test_a_traced_value_asked_for_its_python_value_names_the_line(name):
    function = CONCRETE[name]
    line = function.__code__.co_firstlineno
    argument = 1 if name in ("range", "list index", "zeros") else 1.0
    with pytest.raises(
        tj.ConcretizationError, match=rf"traced tensor.*test_nesting_and_errors\.py:{line}\b.*Use "
    ) as caught:
        tj.jit(function, on_branch="error")(argument)
    assert isinstance(caught.value, TypeError)
    assert STATE.tracer is None


def test_threads_call_and_compile_at_once():
    counted = Counted(lambda x, s: (x * s).sum())
    f = tj.jit(counted)
    wrong: list[Any] = []
    barrier = threading.Barrier(4)

    def work(seed):
        barrier.wait()
        for i in range(200):
            n = 1 + (i + seed) % 3
            if f(np.full(n, 2.0), float(i)).item() != 2.0 * n * i:
                wrong.append((seed, i))
            if (tj.tensor([1.0]) + 1).item() != 2.0:
                wrong.append("eager")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert wrong == []
    assert counted.runs == 3


def test_disable_jit():
    counted = Counted(lambda x: x * 2)
    f = tj.jit(counted)
    f(1.0)
    f(1.0)
    with tj.disable_jit():
        with tj.disable_jit():
            same(f(tj.tensor(1.0)), 2.0)
        same(f(tj.tensor(1.0)), 2.0)
    assert counted.runs == 3
    f(1.0)
    assert counted.runs == 3
    with pytest.raises(ValueError, match="inside"), tj.disable_jit():
        raise ValueError("inside")
    f(1.0)
    assert counted.runs == 3


def test_python_side_effects_happen_only_while_tracing():
    seen = []
    f = tj.jit(lambda x: (seen.append("trace"), x + 1)[1])
    for _ in range(5):
        f(1.0)
    assert seen == ["trace"]


def test_explain_names_what_is_not_native():
    f = tj.jit(lambda x, y: tj.gcd(x, y) + 1)
    same(f(np.array([12, 18]), np.array([8, 27])), [5, 10], "int64")
    text = f.explain()
    assert "gcd" in text
    assert "not compiled" in text
    g = tj.jit(lambda x: x + 1)
    g(1.0)
    assert "everything is native code" in g.explain()
    assert "milliseconds: trace" in g.explain()


def test_explain_before_the_first_call_compiles_nothing():
    assert "0 signatures" in tj.jit(lambda x: x).explain()
