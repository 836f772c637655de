"""Values that go far are computed again where that costs less than memory."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import Machine, use_machine
from tracejit.ir.passes import run_passes
from tracejit.ir.passes.fusion.rematerialization_after import MAX_CYCLES, saved_cycles
from tracejit.runtime.executable import Executable

from ....support import interpret

#: Caches that hold less than the programs here need.
SMALL = Machine(l1_bytes=1 << 9, l2_bytes=1 << 14, l3_bytes=1 << 20)


def quotients(x, w):
    """Two quotients and a root, a product of another value, and what follows from all of them."""
    first = x / tj.sqrt(x)
    second = w / first
    product = (first + second) @ w
    return (product * first + x) * (product - second)


def powers(x, w):
    power = tj.pow(x, w)
    return (power + 1.0) @ w * power


def passed_on(program, *arguments):
    """Number of arrays that go from one fusion to another."""
    function = run_passes(tj.trace(program, *arguments))
    fused = [instruction for instruction in function.body if instruction.op.name == "fusion"]
    results = {result for instruction in fused for result in instruction.results}
    return len(results & {operand for instruction in fused for operand in instruction.operands}), function


def arguments():
    return [np.random.default_rng(seed).uniform(1.0, 2.0, (80, 80)) for seed in range(2)]


def test_what_leaves_the_second_cache_is_computed_again_to_the_same_bits():
    x, w = arguments()
    kept, near = passed_on(quotients, x, w)
    with use_machine(SMALL):
        computed_again, far = passed_on(quotients, x, w)
    assert (kept, computed_again) == (2, 0)
    (expected,), (actual,) = Executable(near)([x, w]), Executable(far)([x, w])
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_allclose(actual, *interpret(far, [x, w]), rtol=1e-14)


def test_what_costs_more_than_memory_is_read():
    with use_machine(SMALL):
        assert passed_on(powers, *arguments())[0] == 1


def test_the_forward_part_of_a_gradient_keeps_less_where_caches_are_small():
    def loss(x, w):
        power = x * x + w * w
        return ((x * w / (power + 0.01) @ w) ** 2).sum()

    gradient, arrays = tj.grad(loss, argnums=(0, 1)), arguments()
    kept, near = passed_on(gradient, *arrays)
    with use_machine(SMALL):
        computed_again, far = passed_on(gradient, *arrays)
    assert computed_again < kept
    for actual, expected in zip(Executable(far)(arrays), Executable(near)(arrays), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_memory_is_worth_more_than_caches(groups):
    with use_machine(Machine(l2_bytes=1000, l3_bytes=10_000, l3_bytes_per_cycle=8, bytes_per_cycle=1)):
        near, middle, far = (saved_cycles(distance, groups) for distance in (1000, 10_000, 10_001))
    assert near == MAX_CYCLES
    assert middle == 8 * (1 + 1 / groups)
    assert far == 64 * (1 + 1 / groups)


def test_never_less_than_near_values_are_worth():
    assert saved_cycles(1 << 40, 10**6) >= MAX_CYCLES
