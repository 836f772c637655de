"""``vmap`` through control flow, against a loop; eagerly and compiled, with gradients inside and outside."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import FLOAT64, INT64
from tracejit.ir.interpreter import interpret
from tracejit.ir.registry import OPS
from tracejit.ir.transforms.batching import batch
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify

X = np.array([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5], [-2.0, -0.125, 0.75], [0.1, 0.2, 0.3], [3.0, -4.0, -1.0]])
W = tj.asarray(np.linspace(-1, 1, 12).reshape(4, 3))
FLAG = tj.asarray(True)
TABLE = tj.asarray(np.arange(6.0))


def check(function, *arguments):
    rows = [tj.tree_leaves(function(*[tj.asarray(argument[i]) for argument in arguments])) for i in range(5)]
    for run in (tj.vmap(function), tj.jit(tj.vmap(function)), tj.vmap(tj.jit(function))):
        for position, got in enumerate(tj.tree_leaves(run(*arguments))):
            want = np.stack([np.asarray(row[position]) for row in rows])
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-14)


def doubled(x):
    return tj.while_loop(lambda v: v[0].sum() < 50, lambda v: (v[0] * 2, v[1] + 1), (abs(x) + 0.1, 0))


def recurrence(x):
    return tj.scan(lambda c, w: (tj.tanh(c + w * x), c.sum()), x, W)


CASES = {
    "cond": lambda x: tj.cond(x.sum() > 0, tj.sin, lambda x: x * 2, x),
    "cond_shared": lambda x: tj.cond(FLAG, tj.sin, lambda x: x * 2, x),
    "cond_of_results_not_mapped": lambda x: tj.cond(x.sum() > 0, lambda: (1.0, x), lambda: (2.0, -x)),
    "while": doubled,
    "while_of_fixed_length": lambda x: tj.while_loop(
        lambda v: v[1] < 4, lambda v: (v[0] * 2, v[1] + 1), (x, 0)
    ),
    "fori": lambda x: tj.fori_loop(0, 5, lambda i, v: tj.sin(v) + i * x, tj.zeros(3)),
    "scan": lambda x: tj.scan(lambda c, y: (c * 0.5 + y, c * y), tj.tensor(1.0), x),
    "scan_reversed": lambda x: tj.scan(lambda c, y: (c + 1, c * y), 0.0, x, reverse=True),
    "scan_of_shared_slices": recurrence,
    "scan_whose_carry_is_shared": lambda x: tj.scan(lambda c, w: (c + w, c.sum() * x), tj.zeros(3), W),
    "map": lambda x: tj.map(lambda w: w * x, W),
    "nested": lambda x: tj.scan(lambda c, y: (c + tj.cond(y > 0, tj.sin, tj.cos, y), y), 0.0, x),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    check(CASES[name], X)


def test_an_index_for_each_example():
    branches = [tj.sin, tj.cos, lambda x: x * x]
    check(lambda i, x: tj.switch(i, branches, x), np.array([0, 1, 2, 7, -3]), X)


def test_one_branch():
    """An index beyond the one branch that there is chooses it, whether it can fail or not."""
    for build in (lambda b, i, x: b.gather(x, i), lambda b, i, x: b.mul(x, 2.0)):
        inner = Builder()
        index, x = inner.parameter(TensorType(INT64, ())), inner.parameter(TensorType(FLOAT64, (3,)))
        region = inner.finish("only", [build(inner, index, x)])
        b = Builder()
        params = [b.parameter(value.type) for value in (index, index, x)]
        function = b.finish("f", b.append(OPS["switch"], tuple(params), {}, regions=(region,)))
        batched, _ = batch(function, (True, False, True), 2)
        verify(batched)
        arrays = [np.array([9, -9]), np.array(1), X[:2]]
        want = X[:2, 1] if region.results[0].shape == () else X[:2] * 2
        assert np.array_equal(interpret(batched, arrays)[0], want)


def test_what_can_fail_runs_only_where_it_is_wanted():
    """A gather out of range is an error: of examples that take the other branch, or are done, it is none."""
    index = np.array([0, 5, 6, 100, -1])
    check(lambda i: tj.cond(i < 6, lambda: TABLE[i], lambda: tj.tensor(-1.0)), index)
    check(lambda i: tj.cond(i < 6, lambda: TABLE[i], lambda: tj.tensor(-1.0)), np.full(5, 9))

    def total(start):
        return tj.while_loop(lambda v: v[0] < 6, lambda v: (v[0] + 1, v[1] + TABLE[v[0]]), (start, 0.0))

    check(total, np.array([0, 3, 6, 5, 100]))
    check(
        lambda i, table: tj.cond(i < 3, lambda: table[i], lambda: table[0] * 0), np.array([0, 2, 3, 4, 9]), X
    )
    check(lambda n, x: tj.cond(n > 0, lambda: x**n, lambda: -x), np.arange(-2, 3), np.arange(5))
    with pytest.raises(IndexError):
        tj.vmap(lambda i: tj.cond(i < 7, lambda: TABLE[i], lambda: tj.tensor(-1.0)))(index)


def last(x):
    return recurrence(x)[0].sum()


@pytest.mark.parametrize(
    "function",
    [last, lambda x: CASES["cond"](x).sum(), lambda x: CASES["nested"](x)[0]],
    ids=["scan", "cond", "nested"],
)
def test_gradients(function):
    want = np.stack([tj.grad(function)(tj.asarray(x)).numpy() for x in X])
    inside, outside = tj.vmap(tj.grad(function)), tj.grad(lambda x: tj.vmap(function)(x).sum())
    for run in (inside, tj.jit(inside), outside, tj.jit(outside), tj.vmap(tj.jacfwd(function))):
        np.testing.assert_allclose(run(tj.asarray(X)).numpy(), want, rtol=1e-12, atol=1e-14)


def test_second_derivatives():
    want = np.stack([tj.hessian(last)(tj.asarray(x)).numpy() for x in X])
    for run in (tj.vmap(tj.hessian(last)), tj.jit(tj.vmap(tj.hessian(last)))):
        np.testing.assert_allclose(run(X).numpy(), want, rtol=1e-11, atol=1e-13)


def test_a_loop_over_steps_stays_one_loop():
    body = tj.trace(tj.vmap(recurrence), X).body
    (scan,) = [instruction for instruction in body if instruction.op.name == "scan"]
    assert scan.attrs["length"] == 4
    assert [str(result.type) for result in scan.results] == ["f64[5,3]", "f64[4,5]"]
    assert "f64[4,3]" in [str(operand.type) for operand in scan.operands]  # what is shared is not copied
