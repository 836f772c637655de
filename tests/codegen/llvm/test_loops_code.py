"""Code size of loops: independent of the number of steps, and linear in the operations of a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.lowering.packing import GROUP_ELEMENTS, in_groups
from tracejit.ir.graph import Function

#: Sizes in registers, and over memory.
SIZES = (1, 40)


def chain(ops: int, length: int) -> Callable[..., Any]:
    """A scan of a body with so many operations, every second one expensive."""

    def body(v: Any, _: Any) -> Any:
        for i in range(ops):
            v = tj.sin(v) if i % 2 else v * 0.9
        return v, None

    return lambda x: tj.scan(body, x, length=length)[0].sum()


def looping(ops: int, length: int) -> Callable[..., Any]:
    """A while loop of the body that `chain` has."""

    def body(carry: Any) -> Any:
        i, v = carry
        for k in range(ops):
            v = tj.sin(v) if k % 2 else v * 0.9
        return i + 1, v

    return lambda x: tj.while_loop(lambda carry: carry[0] < length, body, (0, x))[1].sum()


def lines(f: Callable[..., Any], *args: Any) -> int:
    return int(tj.jit(f).lower(*args).module.text.count("\n"))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loop", [chain, looping])
def test_code_does_not_grow_with_steps(loop: Any, size: int) -> None:
    x = tj.full(size, 0.5)
    for change in (lambda f: f, tj.grad, lambda f: lambda x: tj.jvp(f, (x,), (x,))):
        short, long = [lines(change(loop(10, length)), x) for length in (500_000, 50_000_000)]
        assert short == long


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loop", [chain, looping])
def test_code_grows_linearly_with_the_body(loop: Any, size: int) -> None:
    """A tenfold body has at most tenfold code, in a gradient too."""
    x = tj.full(size, 0.5)
    for change in (lambda f: f, tj.grad):
        small, large = [lines(change(loop(ops, 20)), x) for ops in (40, 400)]
        assert large < 10 * small


def test_many_sines_are_calls() -> None:
    """A chain of 400 scalars' sines is not 400 copies of the code of a sine."""

    def body(v: Any, _: Any) -> Any:
        for _ in range(400):
            v = tj.sin(v)
        return v, None

    def f(x: Any) -> Any:
        return tj.scan(body, x, length=3)[0]

    assert lines(f, 0.5) < 2500
    assert lines(tj.grad(f), 0.5) < 8000
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.5).numpy(), tj.grad(f)(0.5).numpy(), rtol=1e-11)


def body_of(f: Callable[..., Any], *args: Any) -> Function:
    (loop,) = [instruction for instruction in tj.trace(f, *args).body if instruction.regions]
    region: Function = loop.regions[0]
    return region


def test_groups_are_an_order_of_the_instructions() -> None:
    """Groups hold instructions that are alike and independent, as many as fit vectors, each after what it
    needs."""

    def step(carry: Any, _: Any) -> Any:
        waves = [tj.sin(carried) for carried in carry]
        waves = [tj.exp(wave * 0.1) + other for wave, other in zip(waves, reversed(waves), strict=True)]
        return tuple(tj.cos(tj.sin(wave)) for wave in waves), None

    def f(x: Any) -> Any:
        return tj.scan(step, tuple(x[i] for i in range(40)), None, length=2)[0][0]

    region = body_of(f, tj.arange(40.0))
    groups = in_groups(region)
    assert sorted(id(instruction) for group in groups for instruction in group) == sorted(
        map(id, region.body)
    )
    computed = set(region.params)
    for group in groups:
        assert all(operand in computed for instruction in group for operand in instruction.operands)
        assert len({instruction.op for instruction in group}) == 1
        assert len(group) <= GROUP_ELEMENTS
        computed.update(result for instruction in group for result in instruction.results)
    sizes = [len(group) for group in groups if group[0].op.name == "sin"]
    assert sorted(sizes) == [8, 8, 16, 16, 16, 16]


def test_slices_read_late_and_stacks_written_early() -> None:
    """Parameters that are results, results twice, and slices that are read at some indices."""

    def f(x: Any, xs: Any) -> Any:
        def body(v: Any, t: Any) -> Any:
            at = (v[0] > 1).astype("int64")
            w = v * t[at] + t[:2]
            return w, (t, w, w, v, {"t": t[1]})

        return tj.scan(body, x, xs)

    x, xs = tj.tensor([0.5, 1.5]), tj.tensor(np.random.default_rng(0).normal(size=(9, 3)))
    assert "registers" in tj.jit(f).lower(x, xs).as_text("loops")
    for leaf, other in zip(tj.tree_leaves(tj.jit(f)(x, xs)), tj.tree_leaves(f(x, xs)), strict=True):
        np.testing.assert_allclose(leaf.numpy(), other.numpy(), rtol=1e-14)


@pytest.mark.parametrize(("branches", "loops"), [(1, 2), (2, 2), (3, 4)])
def test_names_of_registers_and_of_blocks_differ(branches: int, loops: int) -> None:
    """Registers and blocks share one name space in LLVM: branches and loops over memory had a `chosen16`
    each."""

    def several(x: Any) -> Any:
        for _ in range(loops):
            x = tj.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, tj.sin(s[1]), s[1]), (0, x, x))[1]
            for _ in range(branches):
                x = tj.cond(x[0] > 0, tj.sin, tj.cos, x)
        return x

    x = np.ones(40)
    np.testing.assert_allclose(tj.jit(several)(x), several(x), rtol=1e-14)
