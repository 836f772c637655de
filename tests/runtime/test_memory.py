"""Memory: compiled code and call results are given back."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.native.allocator import CACHE_LIMIT
from tracejit.runtime.executable import Executable
from tracejit.runtime.native.allocator import cached_bytes

from ..memory import is_given_back
from ..support import function_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")


@pytest.mark.parametrize("count", [120, pytest.param(800, marks=pytest.mark.slow)])
def test_compiled_code_is_given_back(count: int) -> None:
    """Functions compiled and dropped, after some to reach a steady state. An executable that stays holds
    100 kB and more."""

    def cycle(count: int) -> None:
        for i in range(count):
            x = np.ones(64)
            function = function_of("f", [x], lambda b, x, i=i: b.exp(b.mul(x, float(i))))
            Executable(function)([x])

    cycle(60)
    assert is_given_back(lambda: cycle(count), count * 20_000)


def test_jitted_functions_are_given_back() -> None:
    def cycle(count: int) -> None:
        for i in range(count):
            f = tj.jit(lambda x, i=i: x * i)
            f(np.ones(8))
            del f

    cycle(100)
    assert is_given_back(lambda: cycle(200), 200 * 60_000)


HELD = {"w": [tj.ones(8)]}


def _calls() -> dict[str, Any]:
    array, tensor = np.ones(8), tj.ones(8)
    return {
        "arrays": (lambda x: x * 2.0, (array,)),
        "tensors": (lambda x: x * 2.0, (tensor,)),
        "number": (lambda x, a: x * a, (array, 2.5)),
        "integer": (lambda x, a: x * a, (array, 10**6)),
        "tuple": (lambda x: (x, x + 1), (array,)),
        "dict": (lambda x: {"a": x, "b": x + 1}, (array,)),
        "nested": (
            lambda p, *, k: {"a": [p["w"] * k], "b": (p["v"][0], None)},
            ({"w": array, "v": (tensor, 2)},),
        ),
        "capture in a container": (lambda x: x * HELD["w"][0], (array,)),
        "donated": (lambda x: x * 1.0, (tj.ones(8),)),
        "strided (slow path)": (lambda x: x * 2.0, (np.ones(16)[::2],)),
    }


@pytest.mark.parametrize("kind", _calls())
def test_calls_do_not_leak(kind: str) -> None:
    """100,000 native calls: a leaked array would be 10 MB, a leaked reference to a shared object shows in its
    count."""
    fn, args = _calls()[kind]
    f = tj.jit(fn, donate_argnums=0 if kind == "donated" else ())
    named = {"k": 2.0} if kind == "nested" else {}
    shared = [*args, np.dtype(float), None, True, np.ndarray, tj.Tensor, fn]

    def cycle(count: int) -> None:
        for _ in range(count):
            f(*args, **named)

    cycle(2_000)
    count = 100_000 if "slow path" not in kind else 10_000
    assert is_given_back(lambda: cycle(count), 1_000_000, shared)


def test_failing_calls_do_not_leak() -> None:
    f = tj.jit(lambda x, i: x[i])
    x, bad = np.ones(1000), np.array([1000])
    f(x, np.array([0]))

    def cycle(count: int) -> None:
        for _ in range(count):
            with pytest.raises(IndexError):
                f(x, bad)

    cycle(200)
    assert is_given_back(lambda: cycle(2_000), 2_000_000, [x, bad, x.dtype])


def test_results_outlive_the_function() -> None:
    """Results own their memory: it is not the arena of a function that is gone."""
    x = np.arange(5000.0)
    f = tj.jit(lambda x: (tj.cumsum(x), x + 1, x))
    results = [np.asarray(result) for result in f(x)]
    del f
    gc.collect()
    for _ in range(3):
        tj.jit(lambda x: tj.cumsum(x) * 0.0)(x)
    assert np.array_equal(results[0], np.cumsum(x))
    assert np.array_equal(results[1], x + 1)
    assert np.array_equal(results[2], x)


def test_blocks_of_sizes_that_are_not_wanted_any_more_make_place() -> None:
    """A program that comes after other sizes have filled the cache of blocks has its results' memory
    again."""
    f = tj.jit(lambda x: x * 2.0)
    size = CACHE_LIMIT // 8 // 6
    held = [f(np.ones(size - 1000 * i)) for i in range(8)]
    del held
    assert CACHE_LIMIT - size * 8 < cached_bytes() <= CACHE_LIMIT

    later = f(np.ones(size + 1000))
    del later
    kept = cached_bytes()
    assert kept <= CACHE_LIMIT
    later = f(np.ones(size + 1000))
    assert cached_bytes() <= kept - later.nbytes, "its memory came from the cache"

    held = [f(np.ones(5000 + 600 * i)) for i in range(100)]  # more blocks than there are places
    del held
    assert cached_bytes() <= CACHE_LIMIT
    assert np.array_equal(f(np.full(5000, 3.0)), np.full(5000, 6.0))


_TOUCHED = """
import resource, time
import numpy as np, tracejit as tj
from tracejit.base.process.forking import FORKS
from tracejit.runtime import compilation
from tracejit.runtime.native import allocator

def faults():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt

asked = []
compilation.touch_ahead = asked.extend
allocator.available_cores = lambda: 2
size = 3 << 20
x = np.ones(size // 8)
tj.jit(lambda x: (x + 1.0, x.sum()))(x)
assert asked == [size, 8], asked
assert allocator.cached_bytes() == size  # the result's own block, which is back
held = allocator.empty((size,), np.dtype(np.uint8))
for sizes in ([size - 1, 1 << 19, 8], [1 << 24, size]):
    allocator.touch_ahead(sizes)
    FORKS.threads.wait()
    assert allocator.cached_bytes() == size, (sizes, allocator.cached_bytes())
before = faults()
allocator.empty((size - 1,), np.dtype(np.uint8)).fill(1)
# hundreds, if they were not there; Python's own memory may grow meanwhile
assert faults() - before <= 8, faults() - before
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts a thread's page faults")
def test_pages_of_large_results_are_there_when_a_function_is_compiled() -> None:
    """Blocks of moderate size are touched by another thread, once; small and huge ones are not."""
    done = subprocess.run([sys.executable, "-c", _TOUCHED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_results_do_not_share_memory_with_arguments() -> None:
    """A result that is a parameter is a copy: writing one must not change the other."""
    x = np.arange(4.0)
    first, two = (np.asarray(y) for y in tj.jit(lambda x: (x, x))(x))
    assert not np.shares_memory(first, x)
    assert not np.shares_memory(first, two)


def test_the_arena_of_code_in_a_cycle_is_given_back() -> None:
    """The collector finalises a cycle's objects in any order: the code must not be unmapped before it has
    given its arena back. In a process of its own, which would die of it."""
    program = """
import gc, sys, numpy as np
from tracejit.ir.text.parser import parse_function as parse
from tracejit.runtime.executable import Executable
text = '''func @f(%x: f64[40000,2]) -> f64[2,40000] {
  %0: f64[40000,2] = cumsum(%x) {axis=0, reverse=false}
  %1: f64[40000,2] = cumsum(%0) {axis=0, reverse=false}
  %2: f64[2,40000] = transpose(%1) {perm=[1, 0]}
  return %2
}'''
for _ in range(5):
    executable = Executable(parse(text))
    assert 'release' in executable.library.addresses, 'the test needs an arena on the heap'
    executable([np.ones((40000, 2))])
    executable.library.milliseconds["itself"] = executable
    # leave the executable behind its library in the collector's list: reachable from a younger object alone
    library, holder = executable.library, [executable]
    del executable
    gc.collect()
    del library, holder
    gc.collect()
print('alive')
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "alive\n", done.stderr
