"""Loops whose steps work element by element run in registers; those that do not stay over memory. Either way
the values are those of NumPy's loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ....forked import forked
from ...narrow import narrower, run_narrow

SIZES = [17, 31, 32, 33, 63, 64, 65, 129, 257, 1000]


def compare(step: Callable[[Any, Any], Any], start: Any, *others: Any, steps: int = 7, kind: str) -> None:
    """A jitted loop of `step(state, *others)` beside NumPy's, and of which kind it is."""

    @tj.jit
    def looped(state: Any, *rest: Any) -> Any:
        return tj.fori_loop(0, steps, lambda _, s: step(tj, s, *rest), state)

    expected = start
    for _ in range(steps):
        expected = step(np, expected, *others)
    results = looped(start, *others)
    for mine, theirs in zip(results, expected, strict=True):
        assert mine.dtype == theirs.dtype
        rtol = 1e-5 if theirs.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol)
    text = looped.lower(start, *others).as_text("loops")
    assert (f"{steps} steps of each element in registers" in text) == (kind == "registers"), text


def values(*shape: int, dtype: str = "f8", seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).uniform(-1, 1, shape).astype(dtype)


def logistic(xp: Any, state: Any, rate: Any) -> Any:
    x, count = state
    inside = x * x < 0.9
    return xp.where(inside, rate * x * (1 - x), x), count + xp.where(inside, 1.0, 0.0).astype(count.dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_tail(dtype: str) -> None:
    for size in SIZES:
        x, zero = values(size, dtype=dtype), np.zeros(size, dtype)
        compare(logistic, (x, zero), np.full(size, 1.5, dtype), kind="registers")


def test_what_is_read_beside_the_carries_may_lie_anyhow() -> None:
    """Broadcast, transposed and reversed operands that the loop does not change."""

    def step(xp: Any, state: Any, row: Any, transposed: Any, number: Any) -> Any:
        (x,) = state
        return (x * 0.5 + row * transposed.T - transposed[::-1, 3:4].T[:, ::-1] * number,)

    compare(step, (values(20, 33),), values(33), values(33, 20), np.array(0.25), kind="registers")


def test_carries_that_change_places() -> None:
    compare(
        lambda xp, s: (s[1], s[0] + s[1], s[2]), tuple(values(40, seed=i) for i in range(3)), kind="registers"
    )


def test_carries_of_several_dtypes() -> None:
    def step(xp: Any, state: Any) -> Any:
        x, n, flag = state
        return x * 0.5, n + xp.where(flag, 1, 2), xp.logical_not(flag)

    compare(step, (values(70), np.arange(70), values(70) > 0), kind="registers")


def test_constants_and_carries_that_stay() -> None:
    """Results of a step that it does not compute."""

    def step(xp: Any, state: Any, other: Any) -> Any:
        return state[0], state[1] + state[0], xp.zeros_like(state[2]), other

    arguments = tuple(values(40, seed=i) for i in range(4))
    compare(step, arguments, values(40, seed=9), kind="registers")


def test_steps_that_read_other_elements_stay_over_memory() -> None:
    compare(lambda xp, s: (s[0].T * 0.5,), (values(20, 20),), kind="memory")
    compare(lambda xp, s: (s[0][::-1] * 0.5 + s[1], s[1]), (values(40), values(40, seed=1)), kind="memory")
    compare(lambda xp, s: (s[0] - s[0].mean(),), (values(40),), kind="memory")
    compare(lambda xp, s: ((s[0] + 1).T * 0.5,), (values(20, 20),), kind="memory")
    compare(lambda xp, s: (s[1][::-1], s[0]), (values(40), values(40, seed=1)), kind="memory")
    compare(lambda xp, s: (s[0] * s[1][0], s[1] * 0.5), (values(40), values(40, seed=1)), kind="memory")


def test_a_carry_that_no_step_changes_is_none() -> None:
    compare(lambda xp, s: (s[0] * s[1][0], s[1]), (values(40), values(40, seed=1)), kind="registers")


def test_carries_of_several_shapes_stay_over_memory() -> None:
    compare(lambda xp, s: (s[0] * 0.5, s[1] * 2.0), (values(40), values(50)), kind="memory")


def test_gradients_and_nesting() -> None:
    """The loop inside another one's step, and under a gradient."""

    def inner(x: Any) -> Any:
        return tj.fori_loop(0, 3, lambda _, y: tj.sin(y) + 0.1 * x, x)

    def outer(x: Any) -> Any:
        return tj.fori_loop(0, 2, lambda _, y: inner(y) * 0.5, x).sum()

    x = values(50)
    _, gradient = tj.jit(tj.value_and_grad(outer))(x)
    step = 1e-6
    for place in (0, 17, 49):
        moved = np.zeros(50)
        moved[place] = step
        expected = (float(outer(tj.tensor(x + moved))) - float(outer(tj.tensor(x - moved)))) / (2 * step)
        assert abs(float(gradient[place]) - expected) < 1e-7


THREADS = """
import numpy as np, tracejit as tj
x = np.random.default_rng(0).standard_normal((301, 307))
f = tj.jit(lambda x: tj.fori_loop(0, 40, lambda _, y: tj.sin(y) * 0.9 + x, x))
found = []
for threads in (1, 2, 3):
    tj.set_num_threads(threads)
    found.append(np.asarray(f(x)))
y = x
for _ in range(40):
    y = np.sin(y) * 0.9 + x
assert np.allclose(found[0], y, rtol=1e-12)
assert all((found[0] == other).all() for other in found[1:])
print('fine')
"""


def test_the_same_bits_for_every_number_of_threads() -> None:
    assert forked(THREADS).strip() == "fine"


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.scan.test_element_loop import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for dtype in ('f4', 'f8'):
    test_every_tail(dtype)
test_carries_that_change_places()
test_carries_of_several_dtypes()
test_what_is_read_beside_the_carries_may_lie_anyhow()
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
