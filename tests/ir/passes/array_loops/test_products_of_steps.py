"""Products of the steps of a loop with one matrix are one product before it: the same values, less work."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.array_loops.products_of_steps import multiply_before
from tracejit.ir.verifier import verify

from ....support import interpret, native

BEFORE = PIPELINE[: [pass_.name for pass_ in PIPELINE].index("multiply-before")]


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape) / 6


def recurrent(w, u, xs, reverse=False):
    return tj.scan(lambda h, x: (tj.tanh(h @ w + x @ u), None), xs[0, :32] * 0, xs, reverse=reverse)[0]


def below(data):
    result = tj.zeros((40, 40))
    for i in range(39):
        result[i + 1 :, i] = result[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return result


def distances(points, centres):
    best = tj.zeros(len(points))
    previous = tj.zeros(len(centres))
    for i in range(len(points)):
        previous = previous * 0.5 + centres @ points[i]
        best[i] = previous.max()
    return best


def columns(a, x):
    total = tj.zeros(32)
    for i in range(40, 0, -1):
        total = total * 0.5 + a @ tj.exp(x[:, i - 1])
    return total


@pytest.mark.parametrize(
    ("f", "arrays", "products"),
    [
        (recurrent, [numbers(32, 32), numbers(40, 32), numbers(9, 40)], 1),
        (lambda *a: recurrent(*a, reverse=True), [numbers(32, 32), numbers(40, 32), numbers(9, 40)], 1),
        (lambda *a: tj.grad(lambda *b: (recurrent(*b) ** 2).sum(), (0, 1, 2))(*a),
         [numbers(32, 32), numbers(40, 32), numbers(9, 40)], 1),
        (tj.jit(distances, loops="compiled"), [numbers(50, 32), numbers(40, 32)], 1),
        (tj.jit(columns, loops="compiled"), [numbers(32, 36), numbers(36, 40)], 1),
        (tj.jit(below, loops="compiled"), [numbers(60, 40)], 1),
        (lambda x: recurrent(x[:32, :32], x[:, 40:], x[:9, :40]), [numbers(40, 72)], 1),
    ],
)  # fmt: skip
def test_values_stay(f, arrays, products):
    before = run_passes(tj.trace(f, *arrays), BEFORE)
    after = multiply_before(before)
    verify(after)
    added = sum(op.op.name == "matmul" for op in after.body) - sum(
        op.op.name == "matmul" for op in before.body
    )
    assert added == products
    expected = interpret(before, arrays)
    for run in (interpret, native):
        for result, value in zip(run(after, arrays), expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-13)


def test_steps_that_are_left_out_do_not_multiply():
    """An index that is out of range in the last step stays an error of that step: what stands before is
    written."""

    def f(x, a, out):
        h = np.zeros(32)
        for i in range(len(x) + 1):
            out[i % 4] = h[0]
            h = h * 0.5 + x[i] @ a
        return h

    x, a = numbers(9, 40), numbers(40, 32)
    outcomes = []
    for run in (f, tj.jit(f, loops="compiled")):
        out = np.full(4, -1.0)
        with pytest.raises(IndexError):
            run(x, a, out)
        outcomes.append(out)
    np.testing.assert_allclose(outcomes[0], outcomes[1], rtol=1e-12)
