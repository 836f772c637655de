"""No growth: memory after many calls of every kind, and after many functions compiled and dropped."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.dispatch import native_ops

from ..memory import is_given_back

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")

Run = Callable[[int], None]


def _repeated(call: Callable[[], Any]) -> Run:
    def run(count: int) -> None:
        for _ in range(count):
            call()

    return run


def _parameters() -> Run:
    layers = {f"layer{i}": {"w": np.ones((4, 4)), "b": tj.ones(4)} for i in range(10)}
    f = tj.jit(lambda p: {name: layer["w"] @ layer["b"] for name, layer in p.items()})
    return _repeated(lambda: f(layers))


def _many_results() -> Run:
    f, x = tj.jit(lambda x: [x + i for i in range(20)]), tj.ones(4)
    return _repeated(lambda: f(x))


def _results_of_many_sizes() -> Run:
    """Some are kept for a while, so that blocks of the cache are in use, come back and are given up."""
    arrays = [np.ones(4096 + 1024 * i) for i in range(50)]
    f, kept = tj.jit(lambda x: x + 1), [None] * 7

    def run(count: int) -> None:
        for i in range(count):
            kept[i % len(kept)] = f(arrays[i * 31 % len(arrays)])

    return run


def _arena() -> Run:
    f, x = tj.jit(lambda x: tj.cumsum(tj.cumsum(x, 0), 1).sum()), np.ones((40, 40))
    return _repeated(lambda: f(x))


def _stack_that_grows() -> Run:
    def loss(x: Any, n: Any) -> Any:
        return tj.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, tj.sin(c[1])), (0, x))[1].sum()

    f, x = tj.jit(tj.grad(loss)), np.ones(40)
    steps = [tj.tensor(count) for count in (3, 100, 0, 17)]

    def run(count: int) -> None:
        for i in range(count // 10):
            f(x, steps[i % 4])

    return run


def _errors() -> Run:
    f, x, indices = tj.jit(lambda x, i: x[i]), np.ones(1000), [np.array([0]), np.array([1000])]

    def run(count: int) -> None:
        for i in range(count // 4):
            try:
                f(x, indices[i % 2])
            except IndexError:
                assert i % 2

    return run


def _host_calls() -> Run:
    result = tj.TensorType(tj.float64, (100,))
    f, x = tj.jit(lambda x: tj.pure_callback(np.sort, result, x) * 2), np.ones(100)

    def run(count: int) -> None:
        for _ in range(count // 4):
            f(x)

    return run


def _donated() -> Run:
    f, state = tj.jit(lambda w, g: w - 0.1 * g, donate_argnums=0), [tj.ones(5000)]
    step = tj.ones(5000)

    def call() -> None:
        state[0] = f(state[0], step)

    return _repeated(call)


def _threads() -> Run:
    """Calls that release the GIL and meet at the arena. Arenas are small beside the bound, for how many are
    out at once is chance."""
    f, x = tj.jit(lambda x: tj.exp(tj.cumsum(x, 0) * 1e-3).sum(0)), np.ones((100, 100))
    f(x)
    (signature,) = f._tree.leaves()
    assert signature.compiled.executable.slow_enough

    def run(count: int) -> None:
        workers = [threading.Thread(target=_repeated(lambda: f(x)), args=(count // 400,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for thread in workers:
            thread.join()

    return run


def _eager_gradients() -> Run:
    f, x = tj.jit(lambda x: (x * x).sum()), tj.ones(8).requires_grad_()

    def run(count: int) -> None:
        for _ in range(count // 40):
            x.grad = None
            f(x).backward()

    return run


CALLS: dict[str, Callable[[], Run]] = {
    "20 parameters in dicts": _parameters,
    "20 results": _many_results,
    "results of many sizes": _results_of_many_sizes,
    "an arena": _arena,
    "a stack that grows": _stack_that_grows,
    "errors": _errors,
    "host calls": _host_calls,
    "donation": _donated,
    "threads": _threads,
    "eager gradients through jit": _eager_gradients,
}


@pytest.mark.parametrize("count", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", CALLS)
def test_calls_do_not_grow(kind: str, count: int) -> None:
    """Calls in a steady state: a hundred thousand of them leave less than a page for ten, and 4,000 leave
    less than one array each would be."""
    run = CALLS[kind]()
    run(4_000)
    assert is_given_back(lambda: run(count), 2_000_000)


def _functions(i: float) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Programs of every kind of code, different for each `i`."""
    x, row = np.ones((60, 50)), np.ones(8)

    def step(c: Any, r: Any) -> Any:
        return c * i + r, c.sum()

    return [
        (lambda x: tj.exp(x * i), (row,)),
        (tj.value_and_grad(lambda x: (tj.cumsum(x * i, 0) ** 2).sum()), (x,)),
        (lambda x: (x @ x.T) * i, (x,)),
        (lambda x: tj.scan(step, x[0], x), (x,)),
        (lambda x: tj.pure_callback(np.sort, tj.TensorType(tj.float64, (8,)), x) * i, (row,)),
        (lambda x: {"a": x * i, "b": [x + i]}, (tj.ones(8),)),
    ]


@pytest.mark.parametrize("count", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_compiled_and_dropped(count: int) -> None:
    """One executable that stays, with its objects in Python, would be 100 kB and more: 40 MB in all. What is
    allowed is what LLVM and the allocator hold back once."""

    def cycle(first: int, count: int) -> None:
        for i in range(first, first + count):
            programs = _functions(1.0 + i)
            program, args = programs[i % len(programs)]
            f = tj.jit(program)
            f(*args)
            f(*args)
            del f
        gc.collect()

    assert native_ops.load() == ""  # else it comes once, in the middle
    warm = min(count, 120)
    cycle(0, warm)
    starts = itertools.count(warm, count)
    assert is_given_back(lambda: cycle(next(starts), count), 5_000_000)
