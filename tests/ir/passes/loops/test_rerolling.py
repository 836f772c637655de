"""Straight-line repetitions as loops: the same bits, as few instructions as there should be, and when not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from benchmarks.compiling import hidden_markov
from tests.rotation import share_of
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes.loops import rerolling
from tracejit.ir.passes.loops.repeated_steps import BasicBlock, steps_of
from tracejit.ir.passes.loops.repetitions import Repetition, repetitions
from tracejit.ir.passes.loops.rerolling import reroll_loops, rerolled_loops
from tracejit.ir.verifier import verify
from tracejit.jitted.jit import jit
from tracejit.runtime.executable import Executable

N = 14
RNG = np.random.default_rng(7)
VECTOR, MATRIX = RNG.standard_normal(2 * N + 4), RNG.standard_normal((N + 3, N + 2))


def traced(fn: Callable[..., Any], *args: Any) -> Function:
    """`fn` with each of its loops unrolled."""
    return jit(fn, loops="unrolled")._trace(args, {}).function


def same_bits(function: Function, rerolled: Function, inputs: list[Any]) -> None:
    verify(rerolled)
    arrays = [np.asarray(array) for array in inputs]
    for expected, result in zip(interpret(function, arrays), interpret(rerolled, arrays), strict=True):
        assert expected.dtype == result.dtype
        assert expected.tobytes() == result.tobytes()


def test_a_sum_is_one_loop() -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(100):
            s += x[i] * x[i]
        return s

    x = RNG.standard_normal(100)
    function = traced(total, x)
    rerolled = reroll_loops(function)
    assert len(rerolled.body) < 20 < 600 < len(function.body)
    same_bits(function, rerolled, [x])
    (loop,) = rerolled_loops(function)
    assert (loop.steps, loop.ops) == (99, 6)
    assert "test_rerolling.py" in str(loop)


def test_a_gradient_is_loops_there_and_back() -> None:
    def loss(w: Any, xs: Any) -> Any:
        h = tj.zeros(3)
        for i in range(80):
            h = tj.sqrt(tj.abs(xs[i] @ w) + h)  # whose gradient reads the carry
        return h.sum()

    w, xs = RNG.standard_normal((3, 3)), RNG.standard_normal((80, 3))
    function = traced(tj.value_and_grad(loss), w, xs)
    rerolled = reroll_loops(function)
    loops = rerolled_loops(function)
    assert [loop.steps for loop in loops] == [80, 80, 79]  # forwards, backwards, and the sum of products
    assert [loop.location is not None and loop.location.gradient for loop in loops] == [False, True, True]
    assert len(rerolled.body) < 60 < 800 < len(function.body)
    same_bits(function, rerolled, [w, xs])


def test_short_repetitions_stay() -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(20):
            s += x[i] * x[i]
        return s

    function = traced(total, np.ones(20))
    assert reroll_loops(function) is function
    assert rerolled_loops(function) == ()


def test_large_arrays_are_not_put_together() -> None:
    def chain(x: Any, weights: list[Any]) -> Any:
        for weight in weights:
            for _ in range(5):
                x = tj.tanh(x @ weight)
        return x

    weights = [np.ones((20, 20)) for _ in range(30)]
    function = traced(chain, np.ones(20), weights)
    assert len(function.body) >= 256
    assert reroll_loops(function) is function


def test_loops_before_a_costly_one_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fn, arguments = hidden_markov(tj, 60)
    function = traced(fn, *arguments)
    looked_at: list[Repetition] = []

    def noted(block: Any, repetition: Repetition, fits: Any) -> Any:
        looked_at.append(repetition)
        return steps_of(block, repetition, fits)

    monkeypatch.setattr(rerolling, "steps_of", noted)
    rerolled = reroll_loops(function)
    assert len(rerolled.body) < 1400 < 6000 < len(function.body)
    scans = sum(instruction.op.name == "scan" for instruction in rerolled.body)
    assert len(looked_at) > scans  # the last one does not pay
    assert len(set(looked_at)) == len(looked_at)
    same_bits(function, rerolled, list(arguments))


def test_random_numbers_without_structure_cost_little() -> None:
    def irregular(x: Any) -> Any:
        dice = random.Random(0)
        for _ in range(300):
            x = dice.choice([tj.sin, tj.cos, tj.exp, tj.tanh])(x) + dice.random()
        return x

    function = traced(irregular, np.ones(3))
    assert reroll_loops(function) is function


def test_constants_keep_the_sign_of_zero() -> None:
    def fn(x: Any) -> Any:
        total = tj.zeros(2)
        for i in range(12):
            total = tj.copysign(total + x, -0.0 if i % 2 else 0.0)
        return total

    function = traced(fn, np.ones(2))
    rerolled = reroll_loops(function, 3, 6)
    assert rerolled is not function
    same_bits(function, rerolled, [np.ones(2)])


def test_what_parameters_have_no_part_in_stays() -> None:
    """A run without parameters is folded, step by step; where a parameter enters, however late, it is a
    loop."""

    def power(base: Any, x: Any) -> Any:
        for _ in range(200):
            base = base * 1.01 + 0.5
        return base * x

    x = np.ones(())
    alone = traced(lambda x: power(tj.full((), 3.0), x), x)
    assert len(alone.body) > 400
    assert rerolled_loops(alone) == ()
    assert len(rerolled_loops(traced(lambda x: power(x, x), x))) == 1


def test_effects_stay_one_by_one() -> None:
    def fn(x: Any) -> Any:
        for _ in range(100):
            x = x * 1.5 + 1.0
            tj.debug.print("{}", x)
        return x

    function = traced(fn, np.ones(2))
    assert reroll_loops(function, 3, 6) is function


# -- what a window longer than the period tells ----------------------------------------------------------


def test_periods_of_nested_loops() -> None:
    def nested(x: Any) -> Any:
        for _ in range(10):
            x = x * 2.0
            for _ in range(20):
                x = tj.sin(x) + 1.0
        return x

    body = traced(nested, np.ones(2)).body
    outer = repetitions(body, 8, 100)[0]
    assert outer.steps == 10
    assert outer.period == len(body) // 10
    inner = [each for each in repetitions(body, 8, 20) if each.period < 10]
    assert len(inner) == 10


def test_no_repetition_in_little_code() -> None:
    assert repetitions(traced(lambda x: x + 1.0, np.ones(2)).body, 1, 100) == []
    assert Repetition(3, 23, 5).steps == 4


def test_what_hashes_take_for_a_repetition_is_looked_at() -> None:
    def fn(x: Any) -> Any:
        for number in range(40):
            x = tj.cos(x) if number == 25 else tj.sin(x)
        return x

    body = traced(fn, np.ones(2)).body
    places = {result: i for i, instruction in enumerate(body) for result in instruction.results}
    block = BasicBlock(body, places)
    assert steps_of(block, Repetition(0, 40, 1), lambda steps, period: True) is None
    steps = steps_of(block, Repetition(0, 25, 1), lambda steps, period: True)
    assert steps is not None
    assert steps.count == 25


# -- random programs ---------------------------------------------------------------------------------------

#: Statements of a loop's body on the variables `v`, in step `i`, with what was appended so far.
STATEMENTS: list[Callable[[dict[str, Any], int, dict[str, Any]], None]] = [
    lambda v, i, a: v.update(s=v["s"] + a["x"][i] * 0.5),
    lambda v, i, a: v.update(s=v["s"] * a["x"][2 * i + 1]),
    lambda v, i, a: v.update(s=a["x"][N - i] - v["s"]),
    lambda v, i, a: v.update(s=v["s"] + 0.25 * i),
    lambda v, i, a: v.update(s=v["s"] + (0.5, -0.0, 3.0)[i % 3]),
    lambda v, i, a: v.update(s=v["t"] + v["s"], t=v["s"]),
    lambda v, i, a: v.update(r=v["r"] * 0.5 + a["m"][i, :4]),
    lambda v, i, a: v.update(r=v["r"] + a["m"][1:5, i]),
    lambda v, i, a: v.update(r=v["r"] - a["x"][i : i + 4]),
    lambda v, i, a: v.update(r=v["r"] - a["x"][i + 8 : i : -2]),
    lambda v, i, a: v.update(r=tj.maximum(v["r"], a["m"][i : i + 2, i : i + 2].reshape(4))),
    lambda v, i, a: v.update(y=tj.index_update(v["y"], i, v["s"])),
    lambda v, i, a: v.update(y=tj.index_update(v["y"], slice(i, i + 4), v["r"])),
    lambda v, i, a: v.update(w=tj.index_update(v["w"], (i, slice(1, 5)), v["r"])),
    lambda v, i, a: v.update(w=tj.index_update(v["w"], (slice(2, 6), i), v["r"] * 2.0)),
    lambda v, i, a: v.update(w=tj.index_update(v["w"], (i, 3), v["s"])),
    lambda v, i, a: v.update(s=v["s"] + v["w"][i, i]),
    lambda v, i, a: v.update(s=v["s"] + v["y"][max(i - 1, 0)]),
    lambda v, i, a: v["scalars"].append(v["s"]),
    lambda v, i, a: v["rows"].append(v["r"] * 1.5),
    lambda v, i, a: v.update(s=sum((a["x"][i + k] for k in range(3)), v["s"])),
    lambda v, i, a: v.update(s=-v["s"]) if i % 2 else v.update(s=v["s"] + 1.0),
    lambda v, i, a: v.update(s=v["s"] + (v["scalars"][-3] if len(v["scalars"]) > 2 else 1.0)),
    lambda v, i, a: v.update(s=v["s"] + a["k"][i]),
]  # fmt: skip


def random_program(seed: int) -> Callable[..., Any]:
    """Two loops of random statements, the second of which reads what the first appended."""
    dice = random.Random(seed)
    loops = [dice.choices(STATEMENTS, k=dice.randint(1, 5)) for _ in range(2)]
    backwards = dice.random() < 0.5

    def program(x: Any, m: Any, k: Any) -> Any:
        arrays = {"x": x, "m": m, "k": k}
        v: dict[str, Any] = {"s": 0.0, "t": 1.0, "r": tj.zeros(4), "y": x * 2.0, "w": m + 1.0}
        v.update(scalars=[], rows=[])
        for i in range(N):
            for statement in loops[0]:
                statement(v, i, arrays)
        rows, scalars = list(v["rows"]), list(v["scalars"])
        for i in range(N):
            place = N - 1 - i if backwards else i
            if len(rows) >= N:
                v["r"] = v["r"] + rows[place]
            if len(scalars) >= N:
                v["s"] = v["s"] + scalars[place] * 3.0
            for statement in loops[1]:
                statement(v, i, arrays)
        stacks = [tj.stack(values) for values in (rows, v["scalars"]) if values]
        return v["s"], v["t"], v["r"], v["y"], v["w"], *stacks

    return program


INPUTS = [VECTOR, MATRIX, np.arange(N + 2) % 5]


def rerolled_program(seed: int) -> tuple[Function, Function]:
    function = traced(random_program(seed), *INPUTS)
    return function, reroll_loops(function, 3, 6)


@pytest.mark.parametrize("seed", share_of(range(300), 10))
def test_random_programs_keep_their_bits(seed: int) -> None:
    same_bits(*rerolled_program(seed), INPUTS)


def test_most_random_programs_have_loops() -> None:
    changed = [after is not before for before, after in map(rerolled_program, range(20))]
    assert sum(changed) >= 15


@pytest.mark.parametrize("seed", share_of(range(30), 10))
def test_native_code_of_random_programs(seed: int) -> None:
    function, rerolled = rerolled_program(seed)
    expected = interpret(function, INPUTS)
    for result, reference in zip(Executable(rerolled)(INPUTS), expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", share_of(range(40), 10))
def test_gradients_of_random_programs(seed: int) -> None:
    program = random_program(seed)

    def loss(x: Any, m: Any, k: Any) -> Any:
        return sum((tj.sum(tj.tanh(result)) for result in program(x, m, k)), 0.0)

    function = traced(tj.grad(loss, argnums=(0, 1)), *INPUTS)
    same_bits(function, reroll_loops(function, 3, 6), INPUTS)


def test_slices_of_arrays_of_another_rank_are_misfits() -> None:
    """Some steps read an element of a matrix where the others read one of a line."""

    def step(t: Any, v: Any) -> Any:
        if v > 0:
            t[1] -= v
            return t
        return t * 0.5

    def f(x: Any, a: Any) -> Any:
        n = len(x)
        t = np.flip(np.arange(4.0))
        for k in range(n - 1, -1, -1):
            t = step(t, 0.5 * (a[k % len(a), 1] if x[k - 1] > 0 else x[k - 1]))
            t[:2] = t[-2:] * 0.5
        return t

    jitted = tj.jit(f)
    for round_ in range(2):
        rng = np.random.default_rng(100 * round_ + 40)
        x, a = rng.normal(size=40), rng.normal(size=(40, 40))
        np.testing.assert_allclose(np.asarray(jitted(x, a)), f(x, a), rtol=1e-12)
