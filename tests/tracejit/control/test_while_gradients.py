"""Derivatives of loops whose number of steps is not known: eagerly they are the tape's, under a trace a
``rewind`` or a loop that carries tangents."""

from __future__ import annotations

import concurrent.futures
import ctypes
import gc
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.verifier import verify

from ...support import check_round_trip

#: Sizes in registers, and over memory.
SIZES = (3, 40)


def basic(x: Any, w: Any) -> Any:
    return tj.while_loop(lambda v: v.mean() < 2, lambda v: v * w + tj.sin(v), x).sum()


def no_step(x: Any, w: Any) -> Any:
    return (tj.while_loop(lambda v: v.mean() < -1, lambda v: v * w, x) * x).sum()


def counted(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        i, v, total = carry
        return i + 1, tj.sin(v * w) + 0.1, total + v.sum()

    return tj.while_loop(lambda carry: carry[0] < 5, body, (0, x, 0.0))[2]


def dynamic_fori(x: Any, w: Any) -> Any:
    steps = (x.mean() * 20).astype("int64")
    return tj.fori_loop(0, steps, lambda i, v: tj.sin(v) * w + i * 0.1, x).sum()


def while_in_scan(x: Any, w: Any) -> Any:
    def body(carry: Any, t: Any) -> Any:
        carry = tj.while_loop(lambda v: v.mean() < t, lambda v: v * 1.3 + w * 0.1, carry * 0.3)
        return carry, carry.sum()

    last, ys = tj.scan(body, x, tj.arange(1.0, 5.0))
    return last.sum() + (ys * ys).sum()


def scan_in_while(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        last, ys = tj.scan(lambda v, t: (v * w + 0.1 * t, v), carry, tj.arange(3.0))
        return last + ys[0] * 0.1

    return (tj.while_loop(lambda v: v.mean() < 2, body, x) ** 2).sum()


def while_in_while(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        limit = carry.sum() * 1.5
        return tj.while_loop(lambda v: v.sum() < limit, lambda v: v * 1.1 + w * 0.05, carry)

    return (tj.while_loop(lambda v: v.mean() < 2, body, x) ** 2).sum()


def cond_in_while(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        return tj.cond(carry.mean() < 1, lambda: carry * w * 1.5, lambda: carry + tj.exp(-carry) * w)

    return (tj.while_loop(lambda v: v.mean() < 2, body, x) ** 2).sum()


def while_in_cond(x: Any, w: Any) -> Any:
    def loop() -> Any:
        return tj.while_loop(lambda v: v.mean() < 2, lambda v: v * w * 1.5, x).sum()

    return tj.cond(x.mean() < 1, loop, lambda: x.sum())


def gathered(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        i, v = carry
        return i + 1, v * w[i % len(w)] * 1.3 + 0.01 * w

    return (tj.while_loop(lambda carry: carry[1].mean() < 2, body, (0, x))[1] ** 2).sum()


def written(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        i, v, out = carry
        out[i] = v.sum() * w[i]
        return i + 1, v * 1.01, out

    out = tj.while_loop(lambda carry: carry[0] < len(x), body, (0, x, tj.zeros(len(x))))[2]
    return (out * out * w).mean()


def checkpointed(x: Any, w: Any) -> Any:
    def body(carry: Any) -> Any:
        return tj.checkpoint(lambda v: tj.sin(v) * w + v, carry)

    return (tj.while_loop(lambda v: v.mean() < 2, body, x) ** 2).sum()


PROGRAMS = [
    basic, no_step, counted, dynamic_fori, while_in_scan, scan_in_while, while_in_while, cond_in_while,
    while_in_cond, gathered, written, checkpointed,
]  # fmt: skip


def inputs(size: int) -> list[Any]:
    rng = np.random.default_rng(size)
    return [tj.tensor(rng.uniform(0.1, 0.3, size)), tj.tensor(rng.uniform(0.9, 1.1, size))]


def directions(size: int) -> list[Any]:
    rng = np.random.default_rng(size + 1)
    return [tj.tensor(rng.normal(size=size)) for _ in range(2)]


def every_way(f: Callable[..., Any], args: list[Any]) -> list[np.ndarray[Any, Any]]:
    """The leaves of ``f(*args)``: the same eagerly, jitted, and as the interpreter runs the trace."""
    eager = tj.tree_leaves(f(*args))
    compiled = tj.tree_leaves(tj.jit(f)(*args))
    function = tj.trace(f, *args)
    verify(function)
    check_round_trip(function)
    interpreted = interpret(function, [argument.numpy() for argument in args])
    for left, two, three in zip(eager, compiled, interpreted, strict=True):
        scale = np.abs(left.numpy()).max(initial=1.0)
        np.testing.assert_allclose(three, left.numpy(), rtol=1e-11, atol=1e-11 * scale)
        np.testing.assert_allclose(two.numpy(), left.numpy(), rtol=1e-11, atol=1e-11 * scale)
    return [left.numpy() for left in eager]


def slope(f: Callable[..., Any], args: list[Any], along: list[Any]) -> float:
    """The derivative of `f` along a direction, by differences."""
    step = 1e-6
    plus = f(*[x + step * d for x, d in zip(args, along, strict=True)])
    minus = f(*[x - step * d for x, d in zip(args, along, strict=True)])
    return (plus - minus).item() / (2 * step)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients_and_tangents(f: Callable[..., Any], size: int) -> None:
    args, along = inputs(size), directions(size)
    results = every_way(tj.grad(f, argnums=(0, 1)), args)
    direct = sum(float((g * d.numpy()).sum()) for g, d in zip(results, along, strict=True))
    assert slope(f, args, along) == pytest.approx(direct, rel=1e-6, abs=1e-8)
    (pushed,) = every_way(lambda x, w, *t: tj.jvp(f, (x, w), t)[1], args + along)
    assert pushed == pytest.approx(direct, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_second_order(f: Callable[..., Any], size: int) -> None:
    args, along = inputs(size), directions(size)

    def once(x: Any, w: Any, dx: Any, dw: Any) -> Any:
        by_x, by_w = tj.grad(f, argnums=(0, 1))(x, w)
        return (tj.tanh(by_x) * dx).sum() + (tj.tanh(by_w) * dw).sum()

    results = every_way(tj.grad(once, argnums=(0, 1)), args + along)
    direct = sum(float((g * d.numpy()).sum()) for g, d in zip(results, along, strict=True))
    assert slope(lambda x, w: once(x, w, *along), args, along) == pytest.approx(direct, rel=1e-4, abs=1e-6)


def test_third_order() -> None:
    def f(x: Any) -> Any:
        return tj.while_loop(lambda v: v < 3, lambda v: v * v * 0.4 + tj.sin(v) + 0.5, x)

    third = tj.grad(tj.grad(tj.grad(f)))
    np.testing.assert_allclose(tj.jit(third)(0.3).numpy(), third(0.3).numpy(), rtol=1e-12)
    mixed = tj.jacfwd(tj.grad(tj.grad(f)))
    np.testing.assert_allclose(tj.jit(mixed)(0.3).numpy(), third(0.3).numpy(), rtol=1e-12)


def steps(n: Any) -> Callable[..., Any]:
    """A loop of n steps, as a while."""

    def f(x: Any, w: Any) -> Any:
        def body(carry: Any) -> Any:
            i, v, total = carry
            v = tj.sin(v * w) + 0.5
            return i + 1, v, total + (v * v).mean()

        return tj.while_loop(lambda carry: carry[0] < n, body, (0, x, 0.0))[2]

    return f


def as_scan(n: int) -> Callable[..., Any]:
    """The loop as a scan."""

    def f(x: Any, w: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            v, total = carry
            v = tj.sin(v * w) + 0.5
            return (v, total + (v * v).mean()), None

        return tj.scan(body, (x, 0.0), None, length=n)[0][1]

    return f


@pytest.mark.parametrize("size", [1, *SIZES, 3000])
def test_against_a_scan_of_the_same_steps(size: int) -> None:
    x, w = inputs(size)
    both = tj.jit(lambda x, w, n: tj.value_and_grad(steps(n), argnums=(0, 1))(x, w))
    for n in (0, 1, 2, 3, 1000):
        value, results = both(x, w, n)
        expected, gradients = tj.jit(tj.value_and_grad(as_scan(n), argnums=(0, 1)))(x, w)
        np.testing.assert_allclose(value.numpy(), expected.numpy(), rtol=1e-12)
        for actual, other in zip(results, gradients, strict=True):
            np.testing.assert_allclose(actual.numpy(), other.numpy(), rtol=1e-11, atol=1e-13)


def test_a_million_steps() -> None:
    x, w = tj.tensor(0.3), tj.tensor(0.9)
    results = tj.jit(lambda x, w, n: tj.grad(steps(n), argnums=(0, 1))(x, w))(x, w, 1_000_000)
    expected = tj.jit(tj.grad(as_scan(1_000_000), argnums=(0, 1)))(x, w)
    np.testing.assert_allclose(results[1].numpy(), expected[1].numpy(), rtol=1e-10)
    np.testing.assert_allclose(results[0].numpy(), expected[0].numpy(), rtol=1e-10)


def until_large(x: Any, w: Any) -> Any:
    return tj.while_loop(lambda v: (v < 5).all(), lambda v: v * (1 + w) + 0.1 * v[::-1], x)


@pytest.mark.parametrize("size", SIZES)
def test_jacobians(size: int) -> None:
    x, w = inputs(size)
    expected = tj.jacrev(until_large)(x, w).numpy()
    for jacobian in (tj.jacfwd(until_large), tj.jit(tj.jacfwd(until_large)), tj.jit(tj.jacrev(until_large))):
        np.testing.assert_allclose(jacobian(x, w).numpy(), expected, rtol=1e-11, atol=1e-9)
    # no stack in forward mode
    program = tj.trace(lambda x, w: tj.jvp(until_large, (x, w), (x, w)), x, w)
    text = tj.jit(lambda x, w: tj.jvp(until_large, (x, w), (x, w))).lower(x, w).as_text("optimized")
    assert "while_vjp" in str(program)  # which only the detour by the transpose needs
    assert "rewind" not in text
    assert text.count("while(") == 1  # the loop with tangents is the loop, too


def test_hessian() -> None:
    def f(x: Any, w: Any) -> Any:
        return (until_large(x, w) ** 2).sum()

    x, w = inputs(3)
    expected = tj.jacfwd(tj.grad(f))(x, w).numpy()
    for hessian in (tj.jit(tj.hessian(f)), tj.jit(tj.jacrev(tj.grad(f)))):
        np.testing.assert_allclose(hessian(x, w).numpy(), expected, rtol=1e-11, atol=1e-9)
    along = directions(3)[0]
    product = tj.jit(lambda x, w: tj.hvp(lambda x: f(x, w), (x,), (along,)))(x, w)
    np.testing.assert_allclose(product.numpy(), expected @ along.numpy(), rtol=1e-11)


@pytest.mark.parametrize("size", SIZES)
def test_many_examples_with_their_own_number_of_steps(size: int) -> None:
    """``vmap`` of a gradient, and the gradient of a ``vmap``."""

    def f(x: Any, w: Any, n: Any) -> Any:
        return tj.fori_loop(0, n, lambda i, v: tj.sin(v * w) + v[i % size] * 0.1, x).sum()

    w = inputs(size)[1]
    xs = tj.tensor(np.random.default_rng(2).uniform(0.1, 0.9, (6, size)))
    ns = tj.tensor([0, 1, 7, 2, 20, 5])
    by_x = [tj.grad(f)(xs[i], w, int(ns[i])).numpy() for i in range(6)]
    by_w = [tj.grad(f, argnums=1)(xs[i], w, int(ns[i])).numpy() for i in range(6)]
    many = tj.vmap(tj.grad(f, argnums=(0, 1)), in_axes=(0, None, 0))
    total = tj.grad(lambda x, w: tj.vmap(f, in_axes=(0, None, 0))(x, w, ns).sum(), argnums=(0, 1))
    for run in (many, tj.jit(many)):
        results = run(xs, w, ns)
        np.testing.assert_allclose(results[0].numpy(), by_x, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(results[1].numpy(), by_w, rtol=1e-11, atol=1e-13)
    for run in (total, tj.jit(total)):
        results = run(xs, w)
        np.testing.assert_allclose(results[0].numpy(), by_x, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(results[1].numpy(), np.sum(by_w, axis=0), rtol=1e-11, atol=1e-13)


def test_examples_that_are_done_do_not_spoil_gradients() -> None:
    """The body's derivative is infinite where an example ends at 1, and times 0 would be NaN."""

    def f(x: Any) -> Any:
        return tj.while_loop(lambda v: v > 1, lambda v: tj.sqrt(v - 1), x)

    xs = tj.tensor([2.0, 5.0, 26.0, 0.25])
    for run in (tj.vmap(tj.grad(f)), tj.jit(tj.vmap(tj.grad(f)))):
        np.testing.assert_allclose(run(xs).numpy(), [1 / 2, 1 / 8, 1 / 80, 1])


def test_what_a_closure_holds_and_weak_numbers() -> None:
    scale = tj.tensor(1.5)

    def f(x: Any) -> Any:
        return tj.while_loop(lambda c: c[1] < 20, lambda c: (c[0] + 1, c[1] * scale + c[0]), (0, x))[1]

    assert tj.jit(tj.grad(f))(1.0).item() == pytest.approx(tj.grad(f)(1.0).item(), rel=1e-14)
    scale = tj.tensor(3.0)
    assert tj.jit(tj.grad(f))(1.0).item() == pytest.approx(tj.grad(f)(1.0).item(), rel=1e-14)


def test_dtypes_and_leaves_that_are_not_floating() -> None:
    def f(x: Any) -> Any:
        start = {"n": tj.tensor(0, dtype="int32"), "on": tj.tensor(True), "v": x, "w": x.astype("float64")}

        def body(c: Any) -> Any:
            return {"n": c["n"] + 1, "on": c["n"] < 3, "v": c["v"] * c["v"], "w": c["w"] + c["v"].sum()}

        last = tj.while_loop(lambda c: c["on"], body, start)
        return last["w"].sum()

    x = tj.tensor([0.9, 1.1], dtype="float32")
    eager, compiled = tj.grad(f)(x), tj.jit(tj.grad(f))(x)
    assert compiled.dtype == np.float32
    np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-6)


def test_a_jitted_loop_takes_part_in_eager_autograd() -> None:
    x, w = inputs(3)
    jitted = tj.jit(basic)
    for array in (x, w):
        array.requires_grad_()
    jitted(x, w).backward()
    expected = tj.grad(basic, argnums=(0, 1))(x.detach(), w.detach())
    np.testing.assert_allclose(x.grad.numpy(), expected[0].numpy(), rtol=1e-12)  # type: ignore[union-attr]
    np.testing.assert_allclose(w.grad.numpy(), expected[1].numpy(), rtol=1e-12)  # type: ignore[union-attr]


def test_steps_print_once() -> None:
    """The steps that backward repeats have no effects."""
    seen: list[int] = []

    def f(x: Any) -> Any:
        def body(v: Any) -> Any:
            tj.debug.callback(lambda value: seen.append(1), v)
            return v * 2

        return tj.while_loop(lambda v: v < 10, body, x)

    assert tj.jit(tj.grad(f))(1.0).item() == 16.0
    assert len(seen) == 4


# -- memory and errors ----------------------------------------------------------------------------


class _Info(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks",
            "keepcost",
        )
    ]  # fmt: skip


def allocated() -> int:
    """Bytes that the C allocator has given out."""
    try:
        info = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        pytest.skip("the C library does not count its memory")
    info.restype = _Info
    now = info()
    return int(now.uordblks + now.hblkhd)


@pytest.mark.parametrize("size", SIZES)
def test_the_stack_is_given_back(size: int) -> None:
    """One block is kept for the next call, and freed with the function."""
    count = 2_000_000 // size
    records = count * size * 8  # 16 MB: more than what compiling leaves
    x, w = inputs(size)
    before = allocated()
    run = tj.jit(lambda x, w, n: tj.grad(steps(n))(x, w))
    run(x, w, count)
    kept = allocated()
    assert kept - before > records
    for n in (count, 5, 0, count - 10, count):
        run(x, w, n)
    assert allocated() - kept < records
    del run
    gc.collect()
    assert allocated() - before < records


@pytest.mark.parametrize("size", SIZES)
def test_a_kept_stack_serves_longer_and_shorter_runs(size: int) -> None:
    run = tj.jit(lambda x, w, n: tj.grad(steps(n), argnums=(0, 1))(x, w))
    x, w = inputs(size)
    for n in (3, 2000, 7, 9000, 9000, 1, 0, 100):
        expected = tj.jit(tj.grad(as_scan(n), argnums=(0, 1)))(x, w)
        for actual, other in zip(run(x, w, n), expected, strict=True):
            np.testing.assert_allclose(actual.numpy(), other.numpy(), rtol=1e-11, atol=1e-13)


def test_calls_at_once_have_stacks_of_their_own() -> None:
    run = tj.jit(lambda x, w, n: tj.grad(steps(n))(x, w))
    x, w = inputs(40)
    counts = [3000 + 100 * i for i in range(12)]
    expected = [run(x, w, n).numpy() for n in counts]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: run(x, w, n).numpy(), counts * 3))
    for actual, other in zip(results, expected * 3, strict=True):
        np.testing.assert_array_equal(actual, other)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("backwards", [False, True])
def test_an_error_in_a_step_gives_the_stack_back(size: int, backwards: bool) -> None:
    """The error is in the forward loop, or in a gather that only the gradient has."""

    def f(x: Any, limit: Any) -> Any:
        def body(carry: Any) -> Any:
            i, v = carry
            at = tj.where(i < 5_000, 0, limit)
            return i + 1, (v * tj.sin(v)[at] if not backwards else looked_up(v, at))

        return tj.while_loop(lambda carry: carry[0] < 10_000, body, (0, x))[1].sum()

    @tj.custom_vjp
    def looked_up(v: Any, at: Any) -> Any:
        return v * 0.5

    looked_up.defvjp(lambda v, at: (v * 0.5, (v, at)), lambda kept, ct: (ct * kept[0][kept[1]], None))
    run = tj.jit(tj.grad(f))
    x = inputs(size)[0]
    run(x, 0)
    before = allocated()
    for _ in range(5):
        with pytest.raises(IndexError, match="out of bounds"):
            run(x, size)
    assert allocated() - before < 5_000 * size * 8
    assert np.isfinite(run(x, 0).numpy()).all()


def test_without_memory_it_says_so() -> None:
    """A process of its own, whose address space is limited, gets a MemoryError, after which all goes on."""
    program = """
        import resource
        import numpy as np
        import tracejit as tj

        def f(x, n):
            return tj.fori_loop(0, n, lambda i, v: tj.sin(v), x).sum()

        run = tj.jit(tj.grad(f))
        for size in (3, 100_000):
            x = tj.tensor(np.full(size, 0.5))
            run(x, 2)
            used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, -1))
            for _ in range(3):
                try:
                    run(x, 1_000_000_000)
                except MemoryError as error:
                    print(error)
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            print(run(x, 2).numpy()[0])
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=600
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 8, done.stderr
    expected = np.cos(np.sin(0.5)) * np.cos(0.5)
    for start, nbytes in ((0, 24), (4, 800_000)):
        for line in lines[start : start + 3]:
            assert f"the gradient of while_loop keeps {nbytes} bytes for each step" in line
        assert float(lines[start + 3]) == pytest.approx(expected)
