"""Loops that trade memory for time: ``checkpoint_every``, ``checkpoint`` in bodies, ``map`` in batches.

What they keep is read off the arena of the native function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

#: Sizes in registers, and over memory.
SIZES = (3, 40)


def arena(f: Callable[..., Any], *args: Any) -> int:
    """Bytes for intermediate values of the compiled function."""
    return int(tj.jit(f).lower(*args).module.arena_bytes)


def model(length: int, every: int | None, *, reverse: bool = False) -> Callable[..., Any]:
    """A loop with a pytree as carry, a Python number in it, slices, and stacked results."""

    def f(x: Any, w: Any, xs: Any) -> Any:
        def step(carry: Any, t: Any) -> Any:
            total = carry["total"] + (carry["v"] * t).sum()
            v = tj.sin(carry["v"] * w) + t
            return {"v": v, "total": total}, (v.sum(), None)

        last, (ys, _) = tj.scan(step, {"v": x, "total": 0.0}, xs, length, reverse, checkpoint_every=every)
        return last["total"] + (last["v"] ** 2).sum() + (ys * tj.arange(float(length))).sum()

    return f


def arguments(size: int, length: int) -> list[Any]:
    rng = np.random.default_rng(size)
    return [
        tj.tensor(array) for array in (rng.normal(size=size), rng.normal(size=size), rng.normal(size=length))
    ]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("length", "every"), [(0, 3), (1, 1), (2, 5), (6, 3), (7, 3), (11, 4), (5, 1), (5, 5)]
)
def test_is_the_plain_scan(length: int, every: int, reverse: bool, size: int) -> None:
    args = arguments(size, length)
    plain, chunked = model(length, None, reverse=reverse), model(length, every, reverse=reverse)
    expected = tj.value_and_grad(plain, argnums=(0, 1, 2))(*args)
    run = tj.value_and_grad(chunked, argnums=(0, 1, 2))
    for results in (run(*args), tj.jit(run)(*args)):
        np.testing.assert_allclose(results[0].numpy(), expected[0].numpy(), rtol=1e-12)
        for actual, other in zip(results[1], expected[1], strict=True):
            np.testing.assert_allclose(actual.numpy(), other.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_second_order_forward_and_mapped(size: int) -> None:
    args = arguments(size, 7)

    def norm(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *a: sum((slope**2).sum() for slope in tj.grad(f, argnums=(0, 1))(*a))

    plain, chunked = model(7, None), model(7, 3)
    expected = tj.grad(norm(plain), argnums=(0, 1))(*args)[0].numpy()
    np.testing.assert_allclose(tj.jit(tj.grad(norm(chunked)))(*args).numpy(), expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        tj.grad(norm(chunked), argnums=(0, 1))(*args)[0].numpy(), expected, rtol=1e-9, atol=1e-10
    )
    tangent = tj.jvp(plain, args, args)[1].numpy()
    np.testing.assert_allclose(
        tj.jit(lambda *a: tj.jvp(chunked, a, a)[1])(*args).numpy(), tangent, rtol=1e-11
    )
    xs = tj.stack([args[0], args[1]])
    many = tj.jit(tj.vmap(tj.grad(chunked), in_axes=(0, None, None)))(xs, *args[1:])
    np.testing.assert_allclose(many[1].numpy(), tj.grad(plain)(xs[1], *args[1:]).numpy(), rtol=1e-10)


@pytest.mark.parametrize("size", SIZES)
def test_fori_loop(size: int) -> None:
    x = arguments(size, 1)[0]

    def f(every: int | None) -> Callable[..., Any]:
        return lambda x: tj.fori_loop(
            2, 25, lambda i, v: tj.sin(v) * 0.9 + i, x, checkpoint_every=every
        ).sum()

    expected = tj.grad(f(None))(x).numpy()
    for every in (1, 4, 23, 100):
        np.testing.assert_allclose(tj.grad(f(every))(x).numpy(), expected, rtol=1e-11)
        np.testing.assert_allclose(tj.jit(tj.grad(f(every)))(x).numpy(), expected, rtol=1e-11)
    empty = tj.jit(lambda x: tj.fori_loop(3, 1, lambda i, v: v + i, x, checkpoint_every=2))
    np.testing.assert_array_equal(empty(x).numpy(), x.numpy())


@pytest.mark.parametrize("size", [3, 64])
def test_memory_is_chunks_and_a_chunk(size: int) -> None:
    """``T / k + k`` steps in place of T."""
    length, state = 2500, size * 8

    def f(every: int | None) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            step: Any = lambda v, _: (tj.sin(v) + v * 0.5, None)  # noqa: E731
            return tj.scan(step, x, length=length, checkpoint_every=every)[0].sum()

        return run

    x = tj.ones(size)
    plain = arena(tj.grad(f(None)), x)
    assert plain > length * state
    for every in (10, 50, 250):
        steps = length / every + every
        bytes_used = arena(tj.grad(f(every)), x)
        assert bytes_used < 3 * steps * state + 4096, every
        assert bytes_used < plain / 4
    assert arena(tj.grad(f(50)), x) < plain / 15


@pytest.mark.parametrize("size", [3, 64])
def test_checkpoint_in_a_body_keeps_carries_alone(size: int) -> None:
    length = 500

    def deep(v: Any) -> Any:
        for _ in range(8):
            v = tj.sin(v) * v
        return v

    def f(step: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda x: tj.scan(lambda v, _: (step(v), None), x, length=length)[0].sum()

    plain, kept = f(deep), f(lambda v: tj.checkpoint(deep, v))
    x = tj.full(size, 0.7)
    np.testing.assert_allclose(
        tj.jit(tj.grad(kept))(x).numpy(), tj.grad(plain)(x).numpy(), rtol=1e-12, atol=1e-300
    )
    before, after = arena(tj.grad(plain), x), arena(tj.grad(kept), x)
    assert before > 8 * length * size * 8
    assert after < 2 * length * size * 8 + 8192


def test_memory_of_loops_in_loops() -> None:
    """The inner loop's steps are kept for one outer step only, where that is checkpointed."""

    def f(every: int | None) -> Callable[..., Any]:
        def outer(v: Any, _: Any) -> Any:
            return tj.fori_loop(0, 50, lambda i, v: tj.sin(v) + v * 0.5, v), None

        return lambda x: tj.scan(outer, x, length=50, checkpoint_every=every)[0].sum()

    x = tj.ones(40)
    np.testing.assert_allclose(
        tj.jit(tj.grad(f(1)))(x).numpy(), tj.jit(tj.grad(f(None)))(x).numpy(), rtol=1e-11
    )
    assert arena(tj.grad(f(None)), x) > 2500 * 320
    assert arena(tj.grad(f(1)), x) < 4 * 100 * 320


@pytest.mark.parametrize("length", [0, 1, 5, 6, 7])
@pytest.mark.parametrize("size", [1, 3, 20])
def test_map_in_batches(length: int, size: int) -> None:
    xs = {"a": tj.arange(length * 2.0).reshape(length, 2), "b": tj.arange(length)}

    def f(x: Any) -> Any:
        return {"s": tj.sin(x["a"]).sum(), "t": (x["b"] * 2, x["a"])}

    expected = tj.tree_leaves(tj.map(f, xs))
    run = lambda xs: tj.map(f, xs, batch_size=size)  # noqa: E731
    for results in (tj.tree_leaves(run(xs)), tj.tree_leaves(tj.jit(run)(xs))):
        for actual, other in zip(results, expected, strict=True):
            assert actual.type == other.type
            np.testing.assert_allclose(actual.numpy(), other.numpy(), rtol=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tj.scan(lambda c, x: (c, x), 0.0, tj.ones(3), checkpoint_every=0),
            "scan: checkpoint_every must be a positive integer or None, got 0",
        ),
        (
            lambda: tj.fori_loop(0, 3, lambda i, v: v, 0.0, checkpoint_every=2.5),
            "fori_loop: checkpoint_every must be a positive integer or None, got 2.5",
        ),
        (
            lambda: tj.while_loop(lambda v: v < 3, lambda v: v + 1, 0.0, checkpoint_every=True),
            "while_loop: checkpoint_every must be a positive integer or None, got True",
        ),
        (
            lambda: tj.map(lambda x: x, tj.ones(3), batch_size=-1),
            "map: batch_size must be a positive integer or None, got -1",
        ),
        (lambda: tj.map(lambda x: x, (tj.ones(3), tj.ones(2))), r"map: leading sizes must agree: xs\[0\]"),
    ],
)
def test_messages(call: Any, message: str) -> None:
    with pytest.raises(tj.TracejitError, match=message):
        call()


@pytest.mark.parametrize("every", [1, 3, 50])
def test_loops_of_unknown_length(every: int) -> None:
    def counted(x: Any, n: Any, every: int | None) -> Any:
        return tj.fori_loop(0, n, lambda i, v: tj.sin(v) * 1.1 + i * 0.01, x, checkpoint_every=every).sum()

    def grown(x: Any, n: Any, every: int | None) -> Any:
        carry = tj.while_loop(
            lambda v: v[1] < n, lambda v: (v[0] * 1.1 + x, v[1] + 1), (x, 0), checkpoint_every=every
        )
        return (carry[0] * carry[0]).sum()

    x = np.linspace(0.1, 1.0, 5)
    for loop in (counted, grown):
        for n in (0, 10):
            expected = tj.jit(tj.value_and_grad(loop), static_argnums=2)(x, n, None)
            results = tj.jit(tj.value_and_grad(loop), static_argnums=2)(x, n, every)
            for result, value in zip(results, expected, strict=True):
                np.testing.assert_allclose(result.numpy(), value.numpy(), rtol=1e-12)
            assert float(loop(tj.tensor(x), n, every)) == pytest.approx(float(results[0]))
