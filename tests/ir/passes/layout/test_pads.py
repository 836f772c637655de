"""Pads in front of the arithmetic that is padded: the same values, fewer nests."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.layout.pads import MAX_LEAVES, move_pads
from tracejit.ir.verifier import verify

from ....support import interpret, mismatch, native

OPTIMIZE = tuple(pass_ for pass_ in PIPELINE if pass_.name not in ("move-pads", "fuse"))


def moved(f, *arrays):
    """The program before and after the pass; both are valid."""
    before = run_passes(tj.trace(f, *arrays), OPTIMIZE)
    after = move_pads(before)
    verify(after)
    return before, after


def names(function):
    return [instruction.op.name for instruction in function.body]


def kernels(f, *arrays):
    return [
        instruction
        for instruction in run_passes(tj.trace(f, *arrays)).body
        if instruction.op.name == "fusion"
    ]


def stencil(u):
    inside = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return tj.pad(inside + 0.2 * (around - 4.0 * inside), 1)


def test_a_stencil_with_its_border_is_one_nest():
    u = np.random.default_rng(0).normal(size=(19, 23))
    assert len(kernels(stencil, u)) == 1
    np.testing.assert_allclose(tj.jit(stencil)(u), stencil(tj.tensor(u)), rtol=1e-12, atol=1e-15)


def test_what_the_arithmetic_makes_of_the_outside_is_not_used():
    """1 / 0 and log 0 outside, and a border that is not zero."""
    x = np.arange(1.0, 6.0)

    def f(x):
        return tj.pad(1 / x + tj.log(x), (2, 3), constant_values=7.0)

    before, after = moved(f, x)
    assert names(after) != names(before)
    assert interpret(after, [x])[0].tolist() == interpret(before, [x])[0].tolist()
    assert tj.jit(f)(x).tolist()[:2] == [7, 7]
    with tj.debug.check_nans():
        tj.jit(f)(x)


def test_integers_and_truth():
    x = np.array([-4, -3, 2, 5, 7])
    for f in (lambda x: tj.pad(100 // x + x % 3, 2), lambda x: tj.pad(x > 1, 2, constant_values=True)):
        np.testing.assert_array_equal(tj.jit(f)(x), f(tj.tensor(x)))


def test_a_step_back_through_a_stencil_is_one_nest():
    u = np.random.default_rng(0).normal(size=(19, 23))

    def back(u, ct):
        return tj.vjp(stencil, u)[1](ct)

    function = tj.trace(back, u, u + 1)
    assert len(kernels(back, u, u + 1)) == 1
    np.testing.assert_allclose(
        native(function, [u, u + 1])[0], interpret(function, [u, u + 1])[0], rtol=1e-12
    )


@pytest.mark.parametrize("factor", [2.0, -2.0, 0.0, float("inf"), float("nan")])
def test_pads_of_one_product(factor):
    """The border is zero, and not minus zero or NaN."""
    x = np.arange(-2.0, 3.0)

    def f(x):
        y = x * (factor + 0.0)  # what Python computes is a constant of the trace, and no input
        return tj.pad(y, (1, 2)) + tj.pad(y, (2, 1)), tj.pad(y, (0, 3)), tj.pad(y, 1)

    before, after = moved(f, x)
    assert (after is not before) == (factor == 2)
    for got in (interpret(after, [x]), native(before, [x])):
        for actual, other in zip(got, interpret(before, [x]), strict=True):
            np.testing.assert_array_equal(actual, other)
            np.testing.assert_array_equal(np.signbit(actual), np.signbit(other))


def spread(x):
    out = tj.zeros(9)
    out[1::2] = x[:4] * 2
    return out


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (lambda y: (tj.pad(y, 1), y.sum()))(x * 2),  # read by somebody else
        lambda x: tj.pad(x, 1),  # no arithmetic
        lambda x: tj.pad(tj.cumsum(x), 1),  # a kernel of its own
        lambda x: tj.pad(tj.arange(5.0) * x, 1),  # a counter is no memory to read through a window
        lambda x: tj.pad(tj.gcd(x.astype("int64"), 6), 1),  # no machine code
        spread,  # with gaps
    ],
)
def test_other_pads_stay(f):
    x = np.arange(5.0)
    before, after = moved(f, x)
    assert after is before


def test_arithmetic_on_many_values_stays():
    arrays = [np.full(5, float(i)) for i in range(MAX_LEAVES + 1)]
    before, after = moved(lambda *xs: tj.pad(sum(xs[1:], xs[0]), 1), *arrays)
    assert after is before
    before, after = moved(lambda *xs: tj.pad(sum(xs[1:], xs[0]), 1), *arrays[1:])
    assert after is not before


@pytest.mark.parametrize("seed", range(25))
def test_random_arithmetic_with_borders(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(4, 40, int(rng.integers(1, 4))).tolist())
    dtype = rng.choice(["f4", "f8", "i4"])
    arrays = [rng.integers(-9, 9, shape).astype(dtype) for _ in range(2)]
    cut = [int(integer) for integer in rng.integers(0, 3, len(shape))]
    plan = rng.integers(0, 5, 6).tolist()
    border = [tuple(widths) for widths in rng.integers(0, 3, (len(shape), 2)).tolist()]
    value = rng.integers(-2, 3).astype(dtype).item()

    def f(x, y):
        parts = [x[tuple(slice(n, s - 2 + n) for n, s in zip(cut, shape, strict=True))]]
        parts.append(y[tuple(slice(1, s - 1) for s in shape)])
        parts.append(x[tuple(slice(2, s) for s in shape)])
        z = parts[0]
        for step, kind in enumerate(plan):
            other = parts[step % 3]
            z = (z + other, z * 2, tj.maximum(z, other), -z, tj.where(other > 0, z, other))[kind]
        return tj.pad(tj.pad(z + 1, border, constant_values=value) * 2, 1)

    function = tj.trace(f, *arrays)
    expected = interpret(function, arrays)[0]
    after = move_pads(run_passes(function, OPTIMIZE))
    verify(after)
    assert not mismatch(interpret(after, arrays)[0], expected)
    assert not mismatch(native(function, arrays)[0], expected, bound=2)


def rosenbrock(x):
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize(("size", "outputs"), [(20_001, 2), (101, 4)])
def test_large_arithmetic_that_others_read_is_computed_again_where_it_is_cheap(size, outputs):
    """Values that a sum and a gradient share are not written to memory: only the two results are."""
    x = np.random.default_rng(0).normal(size=size)
    f = tj.value_and_grad(rosenbrock)
    assert sum(len(kernel.results) for kernel in kernels(f, x)) == outputs
    (value, gradient), function = tj.jit(f)(x), tj.trace(f, x)
    np.testing.assert_allclose(value, interpret(function, [x])[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, interpret(function, [x])[1], rtol=1e-12, atol=1e-12)


def test_what_costs_much_or_follows_from_intermediate_values_is_not_computed_again():
    x = np.random.default_rng(0).normal(size=20_001)
    for f in (lambda x: tj.exp(x[1:]), lambda x: 2.0 * tj.cumsum(x)[1:]):
        _, after = moved(lambda x, f=f: (tj.pad(f(x), 1), f(x).sum()), x)
        assert names(after).count("exp") + names(after).count("cumsum") == 1
        assert names(after).count("where") == 0


def keeps_its_border(u):
    v = u + 0.0
    v[1:-1, 1:-1] = u[1:-1, 1:-1] * 0.5 + u[2:, 1:-1] * u[:-2, 1:-1]
    return v


def test_an_update_of_almost_everything_is_one_nest():
    u = np.random.default_rng(0).normal(size=(19, 23))
    assert len(kernels(keeps_its_border, u)) == 1
    np.testing.assert_array_equal(tj.jit(keeps_its_border)(u)[0], u[0])
    np.testing.assert_allclose(tj.jit(keeps_its_border)(u), keeps_its_border(tj.tensor(u)), rtol=1e-14)


def test_an_update_of_little_stays():
    def f(u):
        v = u + 0.0
        v[:, 2:5] = tj.exp(u[:, 1:4])
        return v

    before, after = moved(f, np.ones((10, 12)))
    assert after is before
