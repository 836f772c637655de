"""Flops and bytes of instructions, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

import tracejit as tj
from tracejit.codegen.module.costs import Cost, cost_of, cost_of_function
from tracejit.ir.registry import Kind


def cost(f: Any, *args: Any) -> Cost:
    return cost_of_function(tj.jit(f).lower(*args).fused)


N = 1000
X = tj.ones(N)
M = tj.ones((20, 30))


@pytest.mark.parametrize(
    ("f", "args", "expected"),
    [
        (lambda x, y: x * y + x, (X, X), Cost(2 * N, 0, 16 * N, 8 * N)),
        (lambda x: tj.exp(x), (X,), Cost(N, N, 8 * N, 8 * N)),
        (lambda x: x > 0, (X,), Cost(0, 0, 8 * N, N)),
        (lambda x: x.sum(), (X,), Cost(N, 0, 8 * N, 8)),
        (lambda x: x[:10] * 2, (X,), Cost(10, 0, 80, 80)),
        (lambda x: x[:10] + x[20:30], (X,), Cost(10, 0, 160, 80)),
        (lambda x: x.reshape(1, N) + tj.zeros((3, 1)), (X,), Cost(3 * N, 0, 8 * N, 24 * N)),
        (lambda x, y: x @ y, (M, M.T.copy()), Cost(2 * 20 * 30 * 20, 0, 2 * 600 * 8, 400 * 8)),
        (lambda x: x @ x.T, (M,), Cost(2 * 20 * 30 * 20, 0, 2 * 600 * 8, 400 * 8)),
        (lambda x, i: x[i], (X, tj.asarray([1, 2, 3])), Cost(0, 0, 24 + 24, 24)),
        (lambda x: tj.cumsum(x), (X,), Cost(N, 0, 8 * N, 8 * N)),
        (lambda x: x.T.reshape(600), (M,), Cost(0, 0, 4800, 4800)),
    ],
    ids=range(12),
)
def test_by_hand(f: Any, args: tuple[Any, ...], expected: Cost) -> None:
    assert cost(f, *args) == expected


def test_fusion_keeps_what_members_share() -> None:
    """Softmax reads its input once and writes its result once, whatever lies between."""
    total = cost(lambda x: tj.nn.softmax(x, axis=-1), M)
    assert (total.read, total.written, total.transcendentals) == (4800, 4800, 600)
    assert total.flops >= 4 * 600, "maximum, difference, exponential, sum, quotient"


def test_loops_count_their_steps_and_branches_the_dearest() -> None:
    once = cost(lambda c: tj.tanh(c @ c), tj.ones((40, 40)))
    looped = cost(lambda c: tj.fori_loop(0, 7, lambda i, c: tj.tanh(c @ c), c), tj.ones((40, 40)))
    assert looped.flops == 7 * once.flops
    assert looped.exact
    unknown = cost(
        lambda c: tj.while_loop(lambda c: c.sum() < 1e9, lambda c: tj.tanh(c @ c), c), tj.ones((40, 40))
    )
    assert not unknown.exact
    chosen = cost(
        lambda c: tj.cond(c.sum() > 0, lambda c: tj.tanh(c @ c), lambda c: c * 2, c), tj.ones((40, 40))
    )
    assert chosen.flops == pytest.approx(once.flops, rel=0.05)


def test_every_instruction_of_a_model_has_a_cost() -> None:
    def loss(w: Any, x: Any) -> Any:
        return tj.nn.softmax(tj.tanh(x @ w), axis=-1).sum()

    fused = tj.jit(tj.grad(loss)).lower(tj.ones((30, 5)), M).fused
    for instruction in fused.body:
        if instruction.op.kind not in (Kind.VIEW, Kind.CREATION):
            assert cost_of(instruction).bytes > 0
