"""Folds along rows and columns in the loop form: the bits of both tiers, and what the interpreter says.
Kernels that are built at once are those that the passes make of the algorithm.

``TRACEJIT_ROWS=N`` takes N random programs (`reduction_walk`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.loops.nodes import STREAM, Accumulate, Alloc, For, Kernel, Prefetch, Store
from tracejit.codegen.loops.passes import scheduled
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.rewriting import statements_in
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.lowering.loop_nest import Nest
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest.fusions import Fusions
from tracejit.codegen.nest.maps import ScheduledLoops, is_map, known_ranges
from tracejit.codegen.nest.reductions import columns, rows
from tracejit.codegen.nest.reductions.columns import column_kernel
from tracejit.codegen.nest.reductions.rows import algorithm, row_kernel
from tracejit.codegen.nest.row_blocks import are_blocked_rows
from tracejit.codegen.tiers import BASELINE, OPTIMIZED, Tier

from ...narrow import narrower, run_narrow
from .reduction_walk import Walk, program, take

PROGRAMS = int(os.environ.get("TRACEJIT_ROWS", "20"))
#: Vectors of 128, 256 and 512 bits.
TARGETS = (
    Target("x86_64-unknown-linux-gnu", "", "", 128),
    Target("x86_64-unknown-linux-gnu", "", "+avx2,+fma", 256),
    Target("x86_64-unknown-linux-gnu", "cascadelake", "+avx512f,+avx512bw,+avx512vl,+prfchw", 512),
)
ZEN = Target("x86_64-unknown-linux-gnu", "znver4", "+avx512f,+avx512bw,+avx512vl", 512)

NARROW = """
import os
os.environ["TRACEJIT_TIERS"], os.environ["TRACEJIT_CACHE"] = "always", "0"
from tests.codegen.nest.reductions.reduction_walk import Walk, take
walk = Walk(11)
for number in range(8):
    take(walk, number)
assert walk.kernels["rfactor"]
print("fine")
"""


def nests_of(f: Callable[..., Any], *arrays: Any, target: Target, tier: Tier) -> list[tuple[Nest, list[int]]]:
    """The nests of a function, and the sizes of their buffers."""
    nests = Fusions(target, tier.parameters)
    found: list[tuple[Nest, list[int]]] = []
    for fusion in tj.jit(f).lower(*arrays).fused.body:
        if fusion.op.name == "fusion":
            nest, (region,) = nests.nest(fusion), fusion.regions
            nest.limit_copies(tier.parameters.copies)
            found.append((nest, [value.type.size for value in (*region.params, *region.results)]))
    return found


def kernel_of(f: Callable[..., Any], *arrays: Any, target: Target, tier: Tier = OPTIMIZED) -> Kernel:
    """The only kernel in the loop form of a function, a valid one."""
    module = generate(tj.jit(f).lower(*arrays).fused, target, parameters=tier.parameters)
    (kernel,) = [k.described.loops for k in module.kernels if isinstance(k.described, ScheduledLoops)]
    verify_kernel(kernel)
    return kernel


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_the_bits_of_both_tiers(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    take(Walk(3), number)


@narrower
def test_the_bits_of_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW, features, bits)


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_kernels_at_once_are_those_of_the_passes(number: int) -> None:
    f, arrays = program(np.random.default_rng([5, number]))
    for target in (*TARGETS, ZEN, host()):
        for tier in (OPTIMIZED, BASELINE):
            for nest, sizes in nests_of(f, *arrays, target=target, tier=tier):
                if nest.split or nest.across or is_map(nest) or are_blocked_rows(nest):
                    continue
                if nest.row_lanes:
                    kernel, schedule = row_kernel(nest, sizes, target), rows.schedule_of(nest)
                elif not (known_ranges(nest) or nest.transposed):
                    kernel, schedule = column_kernel(nest, sizes, target), columns.schedule_of(nest)
                else:
                    continue
                verify_kernel(kernel)
                by_passes = scheduled(algorithm(nest, sizes, target), schedule)
                assert print_kernel(kernel) == print_kernel(by_passes)


def test_what_rows_are_scheduled_as() -> None:
    x = np.zeros((64, 1000), np.float32)
    kernel = kernel_of(softmax, x, target=TARGETS[2])
    assert kernel.schedule == ("parallelize(i, 1)", "rfactor(j, 16, 2, 4, 16)")
    assert kernel_of(softmax, x, target=TARGETS[1]).schedule[-1] == "rfactor(j, 8, 2, 4, 16)"
    assert kernel_of(softmax, x, target=TARGETS[2], tier=BASELINE).schedule[-1] == "rfactor(j, 16, 2, 1, 16)"
    large = np.zeros((2, 1, 1_000_000)), np.zeros((2, 40, 1_000_000))
    deep = kernel_of(lambda x, y: (x + y).max(-1), *large, target=TARGETS[2])
    assert "poll(j)" in deep.schedule


def test_what_columns_are_scheduled_as() -> None:
    x = np.zeros((100, 64))
    kernel = kernel_of(lambda x: x.sum(0), x, target=TARGETS[2])
    steps = ("parallelize(i, 32)", "vectorize(i, 8)", "peel(i, 8)", "peel(i#0, 32)", "interleave(i#0, 4)")
    assert kernel.schedule == (*steps, "normalize()")
    loops = [node for node in statements_in(kernel.body) if isinstance(node, For)]
    assert [loop.kind for loop in loops] == ["tasks", "serial", "interleaved", "lanes", "serial"]
    inside = kernel_of(lambda x: x.sum(1), np.zeros((3, 100, 64)), target=TARGETS[2])
    assert inside.schedule[0] == "parallelize(i, 1)"
    assert "vectorize(j, 8)" in inside.schedule


def test_long_sums_are_added_up_in_blocks() -> None:
    long, extrema, two = (
        kernel_of(f, np.zeros(shape), target=TARGETS[2])
        for f, shape in (
            (lambda x: x.sum(0), (300, 64)),
            (lambda x: x.max(0), (300, 64)),
            (lambda x: x.sum((0, 2)), (40, 30, 90)),
        )
    )
    assert "block(j, 16)" in long.schedule
    assert not any(step.startswith("block") for step in extrema.schedule)
    assert two.schedule[-1] == "rfactor(j, 8, 4, 4, 16)"
    for kernel, blocks in ((long, 1), (extrema, 0), (two, 1)):
        assert sum(isinstance(node, Accumulate) for node in statements_in(kernel.body)) == blocks


def test_the_next_row_is_asked_for() -> None:
    x = np.zeros((4096, 1024), np.float32)
    ahead = [
        n for n in statements_in(kernel_of(softmax, x, target=TARGETS[2]).body) if isinstance(n, Prefetch)
    ]
    assert {(node.buffer, node.near) for node in ahead} == {("b0", True)}
    assert not any(
        isinstance(node, Prefetch)
        for node in statements_in(kernel_of(softmax, x[:8], target=TARGETS[2]).body)
    )


def test_large_results_go_past_the_cache() -> None:
    x = np.zeros((4096, 16384), np.float32)
    kernel = kernel_of(lambda x: x / x.sum(-1, keepdims=True), x, target=ZEN)
    assert kernel.schedule[-1] == "stream(b1)"
    hints = [node.hint for node in statements_in(kernel.body) if isinstance(node, Store)]
    assert STREAM in hints
    assert "" in hints


def test_baseline_code_has_one_body_where_bodies_are_long() -> None:
    x = np.zeros((64, 1024))
    kernels = [
        kernel_of(lambda x: np.exp(x).sum(-1), x, target=TARGETS[2], tier=tier)
        for tier in (OPTIMIZED, BASELINE)
    ]
    copies = [
        [node for node in statements_in(kernel.body) if isinstance(node, For) and node.kind == "interleaved"]
        for kernel in kernels
    ]
    assert len(copies[0]) == 1
    assert copies[1] == []
    assert any(isinstance(node, Alloc) for node in kernels[1].body)


def test_lanes_behind_the_end_of_own_memory_are_stored_too() -> None:
    x = np.zeros((3, 19), np.float32)
    module = generate(tj.jit(softmax).lower(x).fused, TARGETS[2])
    assert "alloc s1: f32[19]" in print_kernel(kernel_of(softmax, x, target=TARGETS[2]))
    slots = [line for line in module.text.splitlines() if "alloca" in line and "float" in line]
    assert any("[35 x float]" in line for line in slots), slots
    # the row is loaded twice and stored once with lanes left out, its exponentials are in whole vectors
    assert module.text.count("call void @llvm.masked.store") == 1
    assert module.text.count("call <16 x float> @llvm.masked.load") == 2
