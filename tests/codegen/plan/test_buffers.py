"""Placement of values: arenas without overlaps; memory handed on to results, to loops, and lent by
results."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.llvm.target import host
from tracejit.codegen.nest.fusions import Fusions
from tracejit.codegen.plan.arena import ArenaBlock, _most_at_once, pack
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from ...rotation import share_of
from ...support import Array, interpret
from ..module.test_donation import _program, check

#: 40,000 bytes of f64: more than what is worth a place in a result's array.
LARGE = (50, 100)


def executable(fn: Callable[..., Any], arrays: list[Array], donated: tuple[int, ...] = ()) -> Executable:
    """Compiled, and found to compute what the interpreter does."""
    function = tj.trace(fn, *arrays)
    code = Executable(function, donated=donated)
    for _ in range(2):  # the second call finds an arena that was used
        for got, want in zip(code(arrays), interpret(function, arrays), strict=True):
            # programs add and multiply a handful of numbers of about 1, up to 5,000 of them in a sum
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=str(function))
    return code


def _array(seed: int = 0, shape: tuple[int, ...] = LARGE) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("seed", range(30))
def test_blocks_do_not_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, 20, rng.integers(1, 60)))
    blocks = [
        ArenaBlock(int(start), int(start + rng.integers(0, 8)), int(64 * rng.integers(1, 1000)))
        for start in starts
    ]
    offsets, total = pack(blocks)
    assert _most_at_once(blocks) <= total
    for i, (block, begin) in enumerate(zip(blocks, offsets, strict=True)):
        assert 0 <= begin <= begin + block.nbytes <= total
        for other, start in zip(blocks[:i], offsets[:i], strict=True):
            apart = block.end < other.start or other.end < block.start
            assert apart or begin + block.nbytes <= start or start + other.nbytes <= begin


def test_no_order_of_definition_wastes_much() -> None:
    """Small blocks that live on between large ones: first fit leaves gaps, the largest first do not."""
    sizes = [(0, 2, 1), (1, 3, 2), (3, 5, 3), (5, 6, 4)]
    blocks = [ArenaBlock(start, end, size << 20) for start, end, size in sizes]
    assert pack(blocks)[1] == _most_at_once(blocks) == 7 << 20


def test_what_reaches_highest_chooses_again() -> None:
    """Workspaces, activations and masks of a step of training: the largest first leave a gap, too."""
    kilobytes = [
        (0, 0, 796), (1, 16, 128), (1, 16, 128), (2, 2, 522), (3, 11, 64), (3, 11, 64), (8, 11, 256),
        (11, 15, 256), (13, 16, 512), (13, 13, 778), (15, 15, 774), (16, 18, 512), (18, 18, 1296),
    ]  # fmt: skip
    blocks = [ArenaBlock(start, end, size << 10) for start, end, size in kilobytes]
    offsets, total = pack(blocks)
    assert total == _most_at_once(blocks) == (512 + 1296) << 10
    assert len(offsets) == len(blocks)


PROGRAMS: dict[str, tuple[Callable[..., Any], float]] = {
    # arrays of LARGE in the arena
    "over what dies": (lambda x: tj.cumsum(tj.cumsum(x, 0) * 2, 1).sum(), 2),
    "rows over what dies": (lambda x: tj.cumsum(tj.nn.softmax(tj.cumsum(x, 0), 1), 1).sum(), 2),
    "read elsewhere too": (lambda x: (lambda y: tj.cumsum(y + tj.flip(y, 0), 1).sum())(tj.cumsum(x, 0)), 2),
    "read later too": (lambda x: (lambda y: (tj.cumsum(y * 2, 1) + y).sum())(tj.cumsum(x, 0)), 3),
    "in the result's array": (lambda x: tj.cumsum(tj.cumsum(tj.cumsum(x, 0), 1), 0), 1),
    "a part over the whole": (lambda x: tj.cumsum(tj.pad(tj.cumsum(x[:-1], 0), ((0, 1), (0, 0))) + x, 1), 1),
    "a part elsewhere": (lambda x: tj.cumsum(tj.pad(tj.cumsum(x[:-1], 0), ((1, 0), (0, 0))) + x, 1), 2),
    "a result that is written early": (lambda x: (lambda y: (y, tj.cumsum(y, 1).sum()))(tj.cumsum(x, 0)), 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_handed_on(name: str) -> None:
    program, arrays = PROGRAMS[name]
    code = executable(program, [_array()])
    assert code.arena_bytes <= arrays * 40_000 + 2_000  # and small things


A, ROWS = "f64[4,6]", "f64[4]"
#: Bodies of fusions of %x and %y, both f64[4,6]; their results, and what may be written over what.
FUSIONS: dict[str, tuple[str, dict[str, str], set[tuple[int, int]]]] = {
    "a map": (f"%0: {A} = mul(%x, %y)", {"%0": A}, {(0, 0), (0, 1)}),
    "folded after the store": (
        f"%0: {A} = exp(%x)\n%1: {ROWS} = sum(%y) {{axes=[1]}}",
        {"%0": A, "%1": ROWS},
        {(0, 0)},
    ),
    "read in a later pass": (
        f"%0: {A} = exp(%x)\n%1: {ROWS} = sum(%0) {{axes=[1]}}\n%2: f64[4,1] = reshape(%1) {{shape=[4, 1]}}\n"
        f"%3: {A} = broadcast(%2) {{shape=[4, 6]}}\n%4: {A} = mul(%x, %3)\n%5: {A} = mul(%4, %y)",
        {"%0": A, "%5": A},
        {(1, 0), (1, 1)},
    ),
    "stored as it is": (f"%0: {A} = mul(%x, %y)", {"%0": A, "%y": A}, {(0, 0), (1, 0)}),
    "another place": (
        f"%0: {A} = slice(%y) {{start=[3, 0], size=[4, 6], step=[-1, 1]}}\n%1: {A} = mul(%x, %0)",
        {"%1": A},
        {(0, 0)},
    ),
    "another size": (
        f"%0: {A} = mul(%x, %y)\n%1: f32[4,6] = cast(%0) {{dtype=f32}}",
        {"%1": "f32[4,6]"},
        set(),
    ),
}


@pytest.mark.parametrize("name", FUSIONS)
def test_what_may_be_written_over_what(name: str) -> None:
    body, results, pairs = FUSIONS[name]
    types, params = ", ".join(results.values()), f"(%x: {A}, %y: {A})"
    names = [f"%r{i}" for i in range(len(results))]
    head = ", ".join(f"{name}: {kind}" for name, kind in zip(names, results.values(), strict=True))
    levels = {"sum": "fold"} | dict.fromkeys(("reshape", "broadcast", "slice"), "read")
    ops = re.findall(r"= (\w+)\(", body)
    attrs = "domain=[4, 6], axes=[{}], levels=[{}]".format(
        1 if "sum" in ops else "", ", ".join(f'"{levels.get(op, "each")}"' for op in ops)
    )
    text = (
        f"func @f{params} -> ({types}) {{\n"
        f"{head} = fusion(%x, %y) {{{attrs}}} @body{params} -> ({types}) {{\n"
        f"{body}\nreturn {', '.join(results)}\n}}\nreturn {', '.join(names)}\n}}"
    )
    function = parse_function(text)
    verify(function)
    (fusion,) = function.body
    assert Fusions(host()).overwrites(fusion) == pairs


@pytest.mark.parametrize("shape", [(600_000,), (600, 1000), (60_000, 10)])
@pytest.mark.parametrize("axis", [None, 0])
def test_reductions_that_are_shared_among_tasks(shape: tuple[int, ...], axis: int | None) -> None:
    def fn(x: Any) -> Any:
        y = tj.cumsum(x, 0) * 1e-3
        return y / (tj.cumsum(y, 0).sum(axis, keepdims=True) + 1e6)

    def grows(x: Any) -> Any:
        y = tj.flip(tj.cumsum(x, 0), 0)
        return tj.exp(y * 1e-3 - tj.max(y * 1e-3, axis, keepdims=True))

    for program in (fn, grows):
        executable(program, [_array(shape=shape)])


@pytest.mark.parametrize("length", range(5))
@pytest.mark.parametrize("times", [1, 2])
def test_first_values_of_carries(length: int, times: int) -> None:
    """A computed first value is the second buffer of its carry, or lies in the result; not where something
    else reads it."""

    def once(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            return tj.flip(c, 0) * 0.5 + c, c[0]

        return tj.scan(step, tj.cumsum(x, 0), length=length)

    def twice(x: Any) -> Any:
        y = tj.cumsum(x, 0)

        def step(c: Any, _: Any) -> Any:
            left, two = c
            return (two + tj.flip(left, 0) * 0.5, left + y[0]), None

        return tj.scan(step, (y, y), length=length)[0]

    code = executable(once if times == 1 else twice, [_array()])
    if times == 1:
        assert code.arena_bytes < 50_000


@pytest.mark.parametrize("steps", range(5))
def test_first_values_of_loops_of_unknown_length(steps: int) -> None:
    def fn(x: Any, n: Any) -> Any:
        start = tj.cumsum(x, 0)

        def body(c: Any) -> Any:
            return c[0] + 1, tj.flip(c[1], 0) * 0.5 + c[1]

        return tj.while_loop(lambda c: c[0] < n, body, (0, start))[1]

    code = executable(fn, [_array(), np.array(steps)])
    assert code.arena_bytes < 50_000


@pytest.mark.parametrize("length", [1, 2, 7])
def test_steps_that_write_over_their_carry(length: int) -> None:
    """A step that reads its carry at its own element, and what it computed from it before elsewhere, needs no
    second buffer: room for what it computed alone."""

    def fn(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            inside = tj.cumsum(c, 0)
            return c + 0.1 * tj.flip(inside, 0), None

        return tj.scan(step, x, length=length)[0]

    assert executable(fn, [_array()]).arena_bytes < 50_000


def test_donated_parameters_come_first() -> None:
    """Results that may be written over donated parameters do not lend their arrays: an update stays one."""

    def update(w: Any, x: Any) -> Any:
        return w - 0.1 * tj.cumsum(tj.cumsum(x, 0) * 2, 1)

    arrays = [_array(0), _array(1)]
    assert executable(update, arrays).arena_bytes < 50_000
    assert executable(update, arrays, (0,)).reuses == {0: 0}


def test_loops_go_on_in_donated_parameters() -> None:
    """A loop that goes on from an update of a donated parameter writes the parameter's memory, and so does
    one that begins behind its last reader."""

    def steps(c: Any) -> Any:
        def step(k: Any, c: Any) -> Any:
            c = tj.asarray(c)
            c[k + 1] = c[k] * 0.5 + 1
            return c

        return tj.fori_loop(0, 9, step, c)

    def from_update(y: Any, x: Any) -> Any:
        y = tj.asarray(y)
        y[0] = x[0]
        return steps(y)

    def from_another(y: Any, x: Any) -> Any:
        return steps(tj.cumsum(y + x, 0) * 2)

    def read_again(y: Any, x: Any) -> Any:
        return steps(tj.cumsum(x, 0) * 2) + y[::-1]

    arrays = [_array(0), _array(1)]
    for function in (from_update, from_another):
        code = executable(function, arrays, (0,))
        assert code.reuses == {0: 0}
        assert code.arena_bytes < 50_000
    for function in (from_update, from_another, read_again):
        check(function, arrays)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs(first: int) -> None:
    """Values of one shape, large enough to lie in results' arrays."""
    for seed in range(first, first + 10):
        rng = np.random.default_rng(5000 + seed)
        shape = LARGE if seed % 3 else (70, 70)
        executable(_program(rng), [_array(i, shape) for i in range(rng.integers(1, 4))])


@pytest.mark.slow
@pytest.mark.parametrize("start", share_of(range(1000, 3000, 100), 5))
def test_more_random_programs(start: int) -> None:
    for first in range(start, start + 100, 10):
        test_random_programs(first)
