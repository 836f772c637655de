"""Writes to few elements work in place: the same values, nothing as large as the array in a step."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.layout.updates import place_updates
from tracejit.ir.verifier import verify

from ....rotation import share_of
from ....support import interpret, native

BEFORE = PIPELINE[: [pass_.name for pass_ in PIPELINE].index("place-updates")]


def sweep(x):
    def body(i, x):
        x[i] = x[i - 1] * 0.5 + tj.sin(x[i])
        return x

    return tj.fori_loop(1, x.shape[0], body, x * 1.0)


@pytest.mark.parametrize("shape", [(50, 30), (400,), (1, 30), (2, 3, 4)])
def test_a_step_back_through_a_write_touches_what_was_written(shape):
    x = np.random.default_rng(0).normal(size=shape)
    f = tj.grad(lambda x: (sweep(x) ** 2).sum())
    (gradient,) = native(tj.trace(f, x), [x])
    np.testing.assert_allclose(gradient, interpret(tj.trace(f, x), [x])[0], rtol=1e-12)


def test_nothing_as_large_as_the_array_is_made_in_a_step():
    x = np.ones((50, 30))
    program = run_passes(tj.trace(tj.grad(lambda x: (sweep(x) ** 2).sum()), x))
    (back,) = [
        instruction.regions[0]
        for instruction in program.body
        if instruction.op.name == "scan" and instruction.attrs["reverse"]
    ]
    large = [
        instruction.op.name
        for instruction in back.body
        for result in instruction.results
        if result.type.size >= x.size
    ]
    assert set(large) == {"scatter"}


def test_writes_stand_behind_readers():
    x = np.arange(6.0)

    def f(x, i):
        z = x * 1
        z[i] = 0.0
        total = tj.sin(x).sum()
        return z * 2, total

    before = run_passes(tj.trace(f, x, np.int64(2)), BEFORE)
    after = place_updates(before)
    verify(after)
    names = [instruction.op.name for instruction in after.body]
    assert names.index("sin") < names.index("scatter")
    for actual, other in zip(
        interpret(after, [x, np.int64(2)]), interpret(before, [x, np.int64(2)]), strict=True
    ):
        np.testing.assert_array_equal(actual, other)


@pytest.mark.parametrize("seed", share_of(range(40), 2))
def test_random_gradients_of_reads_and_writes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    plan = [(int(rng.integers(0, 6)), int(rng.integers(0, n)), int(rng.integers(0, n))) for _ in range(5)]
    many = rng.integers(0, n, 3)

    def step(i, x, many):
        for kind, at, to in plan:
            j = (i + at) % n
            match kind:
                case 0:
                    x[j] = x[to] * 0.5
                case 1:
                    x[j] += tj.sin(x[(i + to) % n])
                case 2:
                    x = x * 0.9 + x[j]
                case 3:
                    x[many] = x[many] * 0.3 + x[j]
                case 4:
                    x = x + x[many].sum() * 0.1
                case 5:
                    x[to:] = x[to:] - 0.1 * x[j]
        return x

    def loss(x, many):
        return (tj.fori_loop(0, 4, lambda i, x: step(i, x, many), x * 1.0) ** 2).sum()

    x = rng.normal(size=n)
    function = tj.trace(tj.value_and_grad(loss), x, many)
    expected = interpret(function, [x, many])
    for got in (interpret(run_passes(function), [x, many]), native(function, [x, many])):
        for actual, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(actual, other, rtol=1e-9, atol=1e-12)
