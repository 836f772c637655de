"""Rolls and their like are read where they lie: the same values, one nest for each step of a stencil."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.layout.joins import MIN_COLUMNS, read_joins
from tracejit.ir.verifier import verify

from ....support import interpret, native

OPTIMIZE = tuple(pass_ for pass_ in PIPELINE if pass_.name not in ("read-joins", "fuse"))


def ring(u):
    around = tj.roll(u, 1, 0) + tj.roll(u, -1, 0) + tj.roll(u, 1, 1) + tj.roll(u, -1, 1)
    return u + 0.2 * (around - 4.0 * u)


def read(f, *arrays):
    """The pass's result for a program, checked against the interpreter of the original."""
    before = run_passes(tj.trace(f, *arrays), OPTIMIZE)
    after = read_joins(before)
    verify(after)
    expected = interpret(before, list(arrays))
    for results in (interpret(after, list(arrays)), native(tj.trace(f, *arrays), list(arrays))):
        for actual, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(actual, other, rtol=1e-13, atol=1e-13)
    return after


def concats(function):
    return sum(instruction.op.name == "concat" for instruction in function.body)


def array(*shape, dtype="f8"):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("shape", [(32, 32), (33, 47), (2, 600), (40, MIN_COLUMNS), (1, 1100)])
def test_a_stencil_on_a_ring_is_one_nest(shape):
    u = array(*shape)
    assert concats(read(ring, u)) == 0
    joined = [
        instruction for instruction in run_passes(tj.trace(ring, u)).body if instruction.op.name == "fusion"
    ]
    assert len(joined) == 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i1", "?"])
@pytest.mark.parametrize("shift", [1, -1, 7, 16, 700, 1099])
def test_every_shift(shift, dtype):
    """The seam at either end and in the middle; bools among them."""
    x = (array(1100) * 9).astype(dtype)

    def f(x):
        return tj.where(tj.roll(x, shift) > x, tj.roll(x, shift), x)

    assert concats(read(f, x)) == 0


def test_rows_and_reductions():
    x = array(60, 70)
    assert concats(read(lambda x: (tj.roll(x, 3, 1) * x).sum(1), x)) == 0
    assert concats(read(lambda x: (tj.roll(x, 3, 0) * x).sum(0), x)) == 0
    assert concats(read(lambda x: tj.roll(tj.roll(x.T, 2, 0), 5, 1) * 2, x)) == 1  # the inner one is cut


def test_three_parts():
    x = array(50, 60)

    def f(x):
        wide = tj.pad(x, ((0, 0), (1, 1)), mode="wrap")
        return wide * 2.0, tj.concatenate([x[:, 5:], x, x[:, :9]], 1) + 1.0

    assert concats(read(f, x)) == 0


def test_gradients_and_loops():
    u = array(40, 50)

    def energy(u):
        return (tj.fori_loop(0, 5, lambda _, u: ring(u), u) ** 2).sum()

    v = np.asarray(tj.jit(tj.grad(energy))(u))
    w = tj.tensor(u).requires_grad_()
    energy(w).backward()
    np.testing.assert_allclose(v, np.asarray(w.grad), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tj.roll(x, 1, 0),  # a result
        lambda x: tj.roll(x, 1, 0) @ x,  # read by a product
        lambda x: tj.concatenate([x, x], 0) + 1.0,  # no slices
        lambda x: tj.roll(x[:4], 1, 0) + 1.0,  # small
        lambda x: tj.roll(x[:, :8], 1, 0).T[:, ::2] + 1.0,  # through views
    ],
)
def test_others_stay(f):
    assert concats(read(f, array(36, 36))) == 1


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_arithmetic_on_joined_parts_is_done_on_the_parts(axis, dtype):
    x = (array(40, 50) * 9).astype(dtype)

    def joined(x):
        return tj.abs(tj.concatenate([x * x, x - 1, x], axis) * 2) + 3

    def stacked(x):
        return tj.stack([x + 1, x * 2]).reshape(80, 50) * 3

    def rows_that_do_not_fit(x):
        return tj.stack([x[:39] + 1, x[:39] * 2]).reshape(50, 78) * 3

    for program in (joined, stacked, rows_that_do_not_fit):
        whole = (120, 50) if program is joined and axis == 0 else (40, 150) if program is joined else (80, 50)
        after = read(program, x)
        arithmetic = [each for each in after.body if each.op.name in ("mul", "add", "abs")]
        apart = all(each.result.shape != whole for each in arithmetic)
        assert apart is (program is not rows_that_do_not_fit or whole == (80, 50))
        assert concats(after) == 1
