"""Products that loops add up are one product after the loop: the same sums, less work."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.loops.deferred_products import defer_products
from tracejit.ir.verifier import verify

from ....rotation import share_of
from ....support import interpret, native

BEFORE = PIPELINE[: [pass_.name for pass_ in PIPELINE].index("defer-products")]


def deferred(f, *arrays):
    """The program before and after the pass; both are valid."""
    before = run_passes(tj.trace(f, *arrays), BEFORE)
    after = defer_products(before)
    verify(after)
    return before, after


def carries(function):
    return [instruction.attrs["carries"] for instruction in function.body if instruction.op.name == "scan"]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape) / 3


def recurrent(w, u, xs):
    h, _ = tj.scan(lambda h, x: (tj.tanh(h @ w + x @ u), None), xs[0] * 0, xs)
    return (h * h).sum()


def vector(w, h):
    return (tj.scan(lambda h, _: (tj.tanh(w @ h), None), h, None, length=9)[0] ** 2).sum()


@pytest.mark.parametrize(
    ("f", "arrays", "loop"),
    [
        (tj.grad(recurrent, (0, 1)), [numbers(6, 6), numbers(6, 6), numbers(7, 3, 6)], 1),
        (tj.grad(vector, (0, 1)), [numbers(8, 8), numbers(8)], 1),
        # twice the same weights in a step
        (
            tj.grad(lambda w, h: vector(w @ w * 0.5, h) + vector(w, tj.cos(h))),
            [numbers(6, 6), numbers(6)],
            1,
        ),
        # a sum that starts with something, of products of slices alone
        (
            lambda s, xs, ys: tj.scan(lambda s, xy: (s + xy[0].T @ xy[1], None), s, (xs, ys))[0],
            [numbers(5, 6), numbers(4, 3, 5), numbers(4, 3, 6)],
            0,
        ),
    ],
)
def test_the_sum_is_no_carry(f, arrays, loop):
    before, after = deferred(f, *arrays)
    assert after is not before
    assert carries(after)[-1] == loop
    function = tj.trace(f, *arrays)
    expected = interpret(function, arrays)
    for got in (interpret(after, arrays), native(function, arrays)):
        for actual, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(actual, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        # read by the steps
        (
            lambda s, xs: tj.scan(lambda s, x: (s + x.T @ (x @ s), s.sum()), s, xs),
            [numbers(5, 5), numbers(4, 2, 5)],
        ),
        # not only products
        (
            lambda s, xs: tj.scan(lambda s, x: (s + x.T @ x + 1, None), s, xs)[0],
            [numbers(5, 5), numbers(4, 2, 5)],
        ),
        # not transposed: its rows do not stand below each other
        (lambda s, xs: tj.scan(lambda s, x: (s + x @ x, None), s, xs)[0], [numbers(5, 5), numbers(4, 5, 5)]),
        # many rows: much to stack for a small sum
        (
            lambda s, xs: tj.scan(lambda s, x: (s + tj.sin(x).T @ x, None), s, xs)[0],
            [numbers(5, 5), numbers(4, 40, 5)],
        ),
        # in registers
        (
            lambda s, xs: tj.scan(lambda s, x: (s + x.T @ x, None), s, xs)[0],
            [numbers(2, 2), numbers(4, 2, 2)],
        ),
        # more to stack than what is stacked
        (
            lambda s, h: tj.scan(
                lambda c, _: ((c[0] + c[1].T @ c[1], c[1] * 0.5), None), (s, h), None, length=5
            )[0],
            [numbers(5, 5), numbers(2, 5)],
        ),
    ],
)
def test_others_stay(f, arrays):
    before, after = deferred(f, *arrays)
    assert after is before


def test_no_steps():
    before, after = deferred(
        lambda s, xs: tj.scan(lambda s, x: (s + x.T @ x, None), s, xs)[0], numbers(5, 5), np.zeros((0, 2, 5))
    )
    for function in (before, after):
        np.testing.assert_array_equal(
            native(function, [numbers(5, 5), np.zeros((0, 2, 5))])[0], numbers(5, 5)
        )


@pytest.mark.parametrize("seed", share_of(range(30), 2))
def test_gradients_of_random_cells(seed):
    rng = np.random.default_rng(seed)
    steps, batch, n = (int(rng.integers(1, top)) for top in (6, 5, 8))
    plan = rng.integers(0, 6, 5).tolist()
    reverse = bool(rng.integers(2))

    def cell(h, x, w, v):
        results = [h, x]
        for kind in plan:
            a, b = results[-1], results[-2]
            match kind:
                case 0:
                    results.append(tj.tanh(a @ w))
                case 1:
                    results.append(tj.sin(b @ w + a @ v))
                case 2:
                    results.append(a * b)
                case 3:
                    results.append(tj.tanh(a @ v.T))
                case 4:
                    results.append(a + 0.5 * (b @ v))
                case 5:
                    results.append(a - b[:1] @ w)
        return tj.tanh(results[-1] + h)

    def loss(w, v, xs):
        h, ys = tj.scan(lambda h, x: (cell(h, x, w, v), h.sum()), xs[0] * 0, xs, reverse=reverse)
        return (h * h).sum() + ys.sum()

    arrays = [rng.normal(size=(n, n)) / 2, rng.normal(size=(n, n)) / 2, rng.normal(size=(steps, batch, n))]
    function = tj.trace(tj.value_and_grad(loss, (0, 1, 2)), *arrays)
    expected = interpret(function, arrays)
    after = defer_products(run_passes(function, BEFORE))
    verify(after)
    for got in (interpret(after, arrays), native(function, arrays)):
        for actual, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(actual, other, rtol=1e-8, atol=1e-11)
