"""Control flow against JAX's results, written out; eagerly, jitted, and as the interpreter runs it.

The numbers are jax 0.10's in float64, from the same functions with ``jax.lax``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.verifier import verify

from ...support import check_round_trip

X, W = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.6, 0.7])


def by_interpreter(f: Callable[..., Any], *args: Any) -> list[Any]:
    """The results of the traced program, run op by op."""
    function = tj.trace(f, *args)
    verify(function)
    check_round_trip(function)
    return interpret(function, [np.asarray(argument) for argument in args])


def agree(f: Callable[..., Any], *args: Any) -> list[Any]:
    """The leaves of ``f(*args)``, the same (values and types) in every way to run it."""
    tensors = [tj.tensor(argument) for argument in args]
    eager, compiled = tj.tree_leaves(f(*tensors)), tj.tree_leaves(tj.jit(f)(*tensors))
    interpreted = by_interpreter(f, *tensors)
    assert len(eager) == len(compiled) == len(interpreted)
    for left, two, three in zip(eager, compiled, interpreted, strict=True):
        assert left.type == two.type
        assert (three.shape, three.dtype) == (left.shape, left.dtype)
        # sums of terms of size 1, in orders of their own
        np.testing.assert_allclose(left.numpy(), three, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(two.numpy(), three, rtol=1e-13, atol=1e-15)
    return [left.numpy() for left in eager]


def stepped(x: Any, w: Any, *, reverse: bool = False) -> Any:
    def body(carry: Any, t: Any) -> Any:
        n, v = carry
        v = tj.cond(v.sum() > 1.0, lambda: v * w, lambda: v + t)
        return (n + 1, v), {"s": v.sum(), "v": tj.sin(v)}

    return tj.scan(body, (0, x), tj.arange(4.0), reverse=reverse)


def loss(x: Any, w: Any, *, reverse: bool = False) -> Any:
    (_, v), ys = stepped(x, w, reverse=reverse)
    return (v * v).sum() + (ys["v"] * tj.arange(1.0, 5.0)[:, None]).sum()


def test_scan() -> None:
    n, v, s, y = agree(stepped, X, W)
    assert n == 4
    np.testing.assert_allclose(v, [0.275, 0.432, 0.637], rtol=1e-14)
    np.testing.assert_allclose(s, [0.6, 3.6, 2.18, 1.344], rtol=1e-14)
    np.testing.assert_allclose(y[2], [0.52268723, 0.65938467, 0.78950374], rtol=1e-7)
    n, v, s, y = agree(lambda x, w: stepped(x, w, reverse=True), X, W)
    np.testing.assert_allclose(v, [0.3875, 0.6912, 1.1319], rtol=1e-14)
    np.testing.assert_allclose(s, [2.2106, 3.544, 5.78, 9.6], rtol=1e-14)
    np.testing.assert_allclose(y[0], [0.37787496, 0.63746222, 0.90522121], rtol=1e-7)


EXPECTED = {
    False: (
        17.89046236,
        [4.28090839, 4.67677987, 4.97907234],
        [7.65300179, 9.18149052, 10.56456199],
        [-2.21715029, -2.73273076, -3.47424],
    ),
    True: (
        16.39127246,
        [-3.39553076, -3.85123006, -4.48771376],
        [8.577294, 7.27887944, 5.94668447],
        [-0.97827928, -0.95454968, -0.80624288],
    ),
}


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_scan(reverse: bool) -> None:
    def f(x: Any, w: Any) -> Any:
        return loss(x, w, reverse=reverse)

    value, by_x, by_w, diagonal = EXPECTED[reverse]
    both = tj.value_and_grad(f, argnums=(0, 1))
    results = agree(both, X, W)
    np.testing.assert_allclose(results[0], value, rtol=1e-8)
    np.testing.assert_allclose(results[1], by_x, rtol=1e-8)
    np.testing.assert_allclose(results[2], by_w, rtol=1e-8)
    second = agree(tj.grad(lambda x, w: tj.grad(f)(x, w).sum()), X, W)  # the Hessian is diagonal
    np.testing.assert_allclose(second[0], diagonal, rtol=1e-8)
    x, w = tj.tensor(X, requires_grad=True), tj.tensor(W, requires_grad=True)
    tj.jit(f)(x, w).backward()
    np.testing.assert_allclose(x.grad.numpy(), by_x, rtol=1e-8)  # type: ignore[union-attr]
    np.testing.assert_allclose(w.grad.numpy(), by_w, rtol=1e-8)  # type: ignore[union-attr]
    jitted = tj.jit(f)
    np.testing.assert_allclose(tj.grad(jitted)(tj.tensor(X), tj.tensor(W)).numpy(), by_x, rtol=1e-8)


def test_fori_loop() -> None:
    (v,) = agree(lambda v: tj.fori_loop(2, 7, lambda i, v: v * 1.1 + i, v), [1.0, 2.0])
    np.testing.assert_allclose(v, [24.87171, 26.48222], rtol=1e-13)

    def f(v: Any) -> Any:
        return tj.fori_loop(2, 7, lambda i, v: tj.sin(v) * i, v)

    np.testing.assert_allclose(agree(tj.grad(f), 0.4)[0], 25.537072205047224, rtol=1e-12)
    np.testing.assert_allclose(agree(tj.grad(tj.grad(f)), 0.4)[0], 8994.971259223967, rtol=1e-11)


def test_fori_loop_with_traced_bounds() -> None:
    def f(n: Any, v: Any) -> Any:
        return tj.fori_loop(n - 3, n, lambda i, v: v * i, v)

    assert agree(f, 7, 2.0)[0] == 2.0 * 4 * 5 * 6
    assert agree(lambda v: tj.fori_loop(5, 2, lambda i, v: v * 0, v), 2.0)[0] == 2.0


def test_switch() -> None:
    def f(i: Any, x: Any) -> Any:
        return tj.switch(i, [tj.sin, tj.cos, tj.exp], x)

    expected = {-3: 0.479425538604203, 0: 0.479425538604203, 1: 0.8775825618903728, 2: 1.6487212707001282}
    for i, value in {**expected, 9: 1.6487212707001282}.items():
        np.testing.assert_allclose(agree(f, i, 0.5)[0], value, rtol=1e-15)
    np.testing.assert_allclose(agree(tj.grad(f, argnums=1), 1, 0.5)[0], -0.479425538604203, rtol=1e-15)
    assert agree(lambda i, x: tj.switch(i, [tj.sin], x), 3, 0.5)[0] == np.sin(0.5)


def test_cond() -> None:
    def f(x: Any) -> Any:
        return tj.cond(
            x > 1.0, lambda x: {"a": x, "b": (x * 2, None)}, lambda x: {"a": -x, "b": (0.0, None)}, x
        )

    assert [float(slope) for slope in agree(f, 3.0)] == [3.0, 6.0]
    assert [float(slope) for slope in agree(f, 0.5)] == [-0.5, 0.0]
    assert tj.cond(True, lambda x: x, lambda x: -x, operand=2.0).item() == 2.0
    assert tj.cond(0, lambda: 1, lambda: 2).item() == 2


def test_only_the_chosen_branch_runs() -> None:
    """The other one would be an index out of range."""

    def f(i: Any, x: Any) -> Any:
        return tj.cond(i < 3, lambda: x[i], lambda: x[0] * 10)

    assert agree(f, 2, [1.0, 2.0, 3.0])[0] == 3.0
    assert agree(f, 100, [1.0, 2.0, 3.0])[0] == 10.0


def test_while_loop() -> None:
    def f(start: Any) -> Any:
        return tj.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 1.5), (0, start))

    n, v = agree(f, 2.0)
    assert n == 10
    np.testing.assert_allclose(v, 115.33007812, rtol=1e-10)


def test_map() -> None:
    s, d = agree(lambda x: tj.map(lambda r: (r.sum(), r * 2), x), [[1.0, 2.0], [3.0, 4.0]])
    assert s.tolist() == [3.0, 7.0]
    assert d.tolist() == [[2.0, 4.0], [6.0, 8.0]]


@pytest.mark.parametrize("size", [2, 40])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 5, 100, 1001])
def test_trip_counts(steps: int, size: int) -> None:
    """Carries end in the result whatever the parity; stacks have one entry per step. Two elements are held in
    registers, forty in memory."""

    def scanned(x: Any) -> Any:
        return tj.scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (x, x + 1), None, length=steps)

    def looped(n: Any, x: Any) -> Any:
        return tj.fori_loop(0, n, lambda i, c: (c[1], c[0] + c[1]), (x, x + 1))

    a = np.arange(size)
    b = a + 1
    stack = np.zeros((steps, size), np.int64)
    for step in range(steps):
        stack[step] = a
        a, b = b, a + b
    results, two, three = agree(scanned, np.arange(size))
    assert results.tolist() == a.tolist()
    assert two.tolist() == b.tolist()
    assert three.tolist() == stack.tolist()
    results, two = agree(looped, steps, np.arange(size))
    assert results.tolist() == a.tolist()
    assert two.tolist() == b.tolist()


def test_updates_in_place() -> None:
    """A carry that each step writes into, with and without a further use of what it was."""

    def sieve(x: Any) -> Any:
        def body(i: Any, v: Any) -> Any:
            v = v + 0
            v[i] = v[i - 1] + v[i]
            return v

        return tj.fori_loop(1, 6, body, x)

    assert agree(sieve, np.arange(6))[0].tolist() == [0, 1, 3, 6, 10, 15]
    wide = agree(sieve, np.arange(600))[0]
    assert wide[:7].tolist() == [0, 1, 3, 6, 10, 15, 6]
    assert wide[7:].tolist() == list(range(7, 600))

    def rows(x: Any) -> Any:
        def body(v: Any, row: Any) -> Any:
            new = tj.concatenate([v[1:], row[None]])
            return new, v[0]

        return tj.scan(body, tj.zeros((2, 3)), x)

    last, first = agree(rows, np.arange(12.0).reshape(4, 3))
    assert last.tolist() == [[6, 7, 8], [9, 10, 11]]
    assert first.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 2], [3, 4, 5]]


class State(NamedTuple):
    position: Any
    flags: dict[str, Any]


def test_scan_in_while_in_cond() -> None:
    """Nested, with a pytree of floats, integers and bools, and values from all surrounding functions."""

    def f(x: Any, w: Any) -> Any:
        zero = w[0].astype(np.int32)

        def outer(s: State) -> State:
            total, _ = tj.scan(lambda c, v: (c * 0.5 + v * w.sum(), None), s.position.sum(), s.position)
            position = s.position + total
            return State(position, {"n": s.flags["n"] + 1, "big": position.max() > 3.0})

        start = State(x, {"n": zero, "big": False})

        def run() -> Any:
            return tj.while_loop(lambda s: (s.flags["n"] < 9) & ~s.flags["big"], outer, start)

        return tj.cond(x[0] > 0, run, lambda: State(x * 2, {"n": zero + 7, "big": True}))

    position, big, n = agree(f, X, W)
    assert bool(big)
    assert n == 2
    current, count = X, 0
    while count < 9 and current.max() <= 3.0:
        total = current.sum()
        for value in current:
            total = total * 0.5 + value * W.sum()
        current, count = current + total, count + 1
    np.testing.assert_allclose(position, current, rtol=1e-13)
    position, big, n = agree(f, -X, W)
    assert position.tolist() == (-2 * X).tolist()
    assert bool(big)
    assert n == 7


def test_captures_are_read_at_each_call() -> None:
    weight = tj.tensor([2.0])

    @tj.jit
    def f(x: Any) -> Any:
        return tj.scan(lambda c, v: (c * weight + v, None), tj.zeros(1), x)[0]

    assert f(tj.tensor([1.0, 1.0])).tolist() == [3.0]
    weight[0] = 10.0
    assert f(tj.tensor([1.0, 1.0])).tolist() == [11.0]


def test_numbers_take_the_dtype_of_the_body() -> None:
    x = np.array([1, 2], np.float32)

    def f(x: Any) -> Any:
        return tj.scan(lambda c, v: (c + v, c), 0, x)

    last, stack = tj.jit(f)(tj.tensor(x))
    assert last.dtype == stack.dtype == np.float32
    assert f(tj.tensor(x))[0].dtype == np.float32
    assert agree(lambda x: tj.fori_loop(0, 3, lambda i, v: v * i, x), x)[0].dtype == np.float32
    assert agree(lambda x: tj.fori_loop(0, 3, lambda i, v: v * 0.5, 8) + x, 0.0)[0] == 1.0


def test_nothing_to_do() -> None:
    def f(x: Any) -> Any:
        return tj.scan(lambda c, v: (c + v, {"y": (v * 2).astype(np.float32)}), 1.5, x)

    last, ys = agree(f, np.zeros((0,)))
    assert last == 1.5
    assert ys.shape == (0,)
    assert ys.dtype == np.float32
    assert agree(lambda x: tj.while_loop(lambda v: v < 0, lambda v: v + 1, x), 3.0)[0] == 3.0


def dense(sizes: int) -> Any:
    """A recurrent step on `sizes` numbers, whose gradient goes through products, reductions and branches."""

    def f(h: Any, w: Any, xs: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            h = tj.tanh(h @ w + x)
            h = tj.cond(h.sum() > 0, lambda: h * 0.9, lambda: h - 0.1)
            h = tj.fori_loop(0, 2, lambda i, v: v + 0.1 * tj.sin(v) * i, h)
            return h, (h * h).mean()

        last, ys = tj.scan(body, h, xs, reverse=True)
        return last.sum() + (ys * tj.arange(1.0, ys.size + 1)).sum()

    return f


@pytest.mark.parametrize("size", [2, 5, 40])
def test_gradients_against_differences(size: int) -> None:
    """First and second order, in registers and over memory, through nested loops and branches."""
    rng = np.random.default_rng(size)
    f = dense(size)
    h, w, xs = rng.normal(size=size), rng.normal(size=(size, size)) / size, rng.normal(size=(4, size)) / 3
    args = [tj.tensor(array) for array in (h, w, xs)]
    first = tj.jit(tj.grad(f, argnums=(0, 1, 2)))
    results = agree(tj.grad(f, argnums=(0, 1, 2)), h, w, xs)
    directions = [rng.normal(size=array.shape) for array in (h, w, xs)]
    compiled = tj.jit(f)

    def along(step: float) -> list[Any]:
        return [tj.tensor(array + step * way) for array, way in zip((h, w, xs), directions, strict=True)]

    eps = 1e-6
    slope = (compiled(*along(eps)).item() - compiled(*along(-eps)).item()) / (2 * eps)
    mine = sum(float((g * way).sum()) for g, way in zip(results, directions, strict=True))
    np.testing.assert_allclose(mine, slope, rtol=1e-7)

    def slope_of(h: Any, w: Any, xs: Any) -> Any:
        gradients = tj.grad(f, argnums=(0, 1, 2))(h, w, xs)
        return sum((g * tj.tensor(way)).sum() for g, way in zip(gradients, directions, strict=True))

    second = [slope.numpy() for slope in tj.jit(tj.grad(slope_of, argnums=(0, 1, 2)))(*args)]
    eager = [slope.numpy() for slope in tj.grad(slope_of, argnums=(0, 1, 2))(*args)]
    ahead, behind = first(*along(eps)), first(*along(-eps))
    for pulled, two, plus, minus in zip(second, eager, ahead, behind, strict=True):
        np.testing.assert_allclose(pulled, two, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(pulled, (plus.numpy() - minus.numpy()) / (2 * eps), rtol=1e-5, atol=1e-7)
