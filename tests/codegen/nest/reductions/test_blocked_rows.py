"""Rows in blocks in the loop form: the bits of rows one by one, in both tiers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.loops.nodes import LANES, TASKS, For
from tracejit.codegen.loops.rewriting import statements_in
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.nest import row_blocks
from tracejit.codegen.nest.reductions.blocked_rows import ROW, blocked_kernel
from tracejit.codegen.nest.row_blocks import are_blocked_rows, blocked_tasks
from tracejit.codegen.tiers import BASELINE, OPTIMIZED

from .reduction_walk import results_of
from .test_rows import TARGETS, nests_of

Function = Callable[[Any], Any]


def logsumexp(x: Any) -> Any:
    m = x.max(-1, keepdims=True)
    return x - (tj.log(tj.exp(x - m).sum(-1, keepdims=True)) + m)


def scaled(x: Any) -> Any:
    norm = tj.sqrt((x * x).sum(-1)) + tj.exp(-tj.abs(x.mean(-1)))
    return norm, tj.log(norm + 1.0) * x[..., 0]


def two(x: Any) -> Any:
    return tj.tanh(x.sum((-1, -3))) + tj.log1p(tj.abs(x.max((-1, -3))))


CASES: list[tuple[Function, tuple[int, ...]]] = [
    (logsumexp, (100, 140)),
    (logsumexp, (3, 33, 90)),
    (logsumexp, (64, 200)),
    (scaled, (41, 100)),
    (scaled, (2, 2, 19, 130)),
    (two, (5, 37, 70)),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("f", "shape"), CASES)
def test_the_bits_of_rows_one_by_one(
    f: Function, shape: tuple[int, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    x = np.random.default_rng(7).standard_normal(shape).astype(dtype)
    bits = []
    for least_cycles in (row_blocks.MIN_CYCLES, math.inf):
        monkeypatch.setattr(row_blocks, "MIN_CYCLES", least_cycles)
        bits.append(results_of(f, [x]))
    assert bits[0] == bits[1]


@pytest.mark.parametrize("target", TARGETS)
def test_blocks_of_rows_with_a_lane_for_each(target: Any) -> None:
    blocked = 0
    for f, shape in CASES:
        for tier in (OPTIMIZED, BASELINE):
            for nest, sizes in nests_of(f, np.zeros(shape, np.float32), target=target, tier=tier):
                if not are_blocked_rows(nest):
                    continue
                blocked += 1
                kernel = blocked_kernel(nest, sizes, target)
                verify_kernel(kernel)
                loops = [node for node in statements_in(kernel.body) if isinstance(node, For)]
                assert loops[0].kind == TASKS
                assert loops[0].hi[0].number == blocked_tasks(nest)
                assert any(loop.index == ROW for loop in loops)
                alone = [loop for loop in loops if loop.kind == LANES and not loop.carried]
                assert any(loop.width == nest.lanes for loop in alone)
    assert blocked >= len(CASES)
