"""Draws in compiled functions: they give NumPy's numbers and leave its states, whatever becomes of a call."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .programs import Holder, program, state_of


def run(seed: int, path: Path, wrapped: Any) -> list[Any]:
    """The results of calls of a program, each with the states after it; an error by its class."""
    text, generators = program(seed)
    path.write_text(text)
    made = generators.make(seed)
    names: dict[str, Any] = {"np": np}
    for i, generator in enumerate(made):
        names |= {f"g{i}": generator, f"holder{i}": Holder(generator)}
    exec(compile(text, str(path), "exec"), names)
    function, outcome = wrapped(names["f"]), list[Any]()
    arguments = [made[i] for i, place in enumerate(generators.places) if place == "argument"]
    for n in (6, 0, 11):
        try:
            results = [float(value) for value in function(n, *arguments)]
        except ValueError as error:
            results = [str(isinstance(error, ValueError))]  # type: ignore[list-item]
        outcome.append((results, [state_of(generator) for generator in made]))
    return outcome


@pytest.mark.parametrize("number", range(16))
def test_programs_draw_numpys_numbers(number: int, tmp_path: Path) -> None:
    seed = SEED * 1000 + number
    print(f"program({seed})")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = run(seed, tmp_path / "program.py", lambda function: tj.jit(function, loops="compiled"))
    theirs = run(seed, tmp_path / "program.py", lambda function: function)
    for (results, states), (expected, ends) in zip(ours, theirs, strict=True):
        assert states == ends
        for result, value in zip(results, expected, strict=True):  # sums are joined with products
            assert result == value or math.isclose(result, value, rel_tol=1e-12) or math.isnan(value)


def walk(mean: Any, deviation: Any, n: int, rng: Any) -> Any:
    """A sum whose derivative by the deviation is made of the numbers that are drawn."""
    s = mean * 0.0
    for _ in range(n):
        s = 0.5 * s + rng.normal(mean, deviation)
    return s


def generator() -> np.random.Generator:
    return np.random.default_rng(SEED)


def drawn_numbers(n: int) -> tuple[float, str]:
    """The derivative of `walk` by the deviation, and the state behind."""
    rng, s = generator(), 0.0
    for _ in range(n):
        s = 0.5 * s + rng.normal()
    return s, state_of(rng)


def test_gradients_see_the_numbers_of_the_forward_run() -> None:
    expected, state = drawn_numbers(9)
    compiled = tj.jit(tj.grad(walk, argnums=1))
    for _ in range(2):
        rng = generator()
        np.testing.assert_allclose(compiled(1.5, 2.0, 9, rng), expected, rtol=1e-12)
        assert state_of(rng) == state


def test_gradients_on_the_tape_do_not_draw_again() -> None:
    expected, state = drawn_numbers(9)
    rng, deviation = generator(), tj.tensor(2.0, requires_grad=True)
    result = tj.jit(walk)(1.5, deviation, 9, rng)
    rng.random()
    after = state_of(rng)
    result.backward()
    assert deviation.grad is not None
    np.testing.assert_allclose(deviation.grad, expected, rtol=1e-12)
    assert state_of(rng) == after
    other, same = generator(), tj.tensor(2.0)
    tj.jit(walk)(1.5, same, 9, other)
    assert state_of(other) == state


def failing(n: int, rng: Any) -> float:
    """Draws until a parameter is negative."""
    s = 0.0
    for i in range(n):
        s += rng.normal(0.0, 3.0 - i)
    return s


def test_a_call_that_fails_leaves_pythons_state() -> None:
    states = []
    for function in (failing, tj.jit(failing)):
        rng = generator()
        with pytest.raises(ValueError, match="scale < 0"):
            function(6, rng)
        states.append(state_of(rng))
    assert states[0] == states[1] != state_of(generator())


RAISING = np.random.default_rng(5)


def raising_where_large(n: int) -> float:
    x = RAISING.random()
    if x > 0.5:
        raise ValueError("large")
    return x


def raising_after_a_draw(n: int) -> float:
    RAISING.random()
    if n > 1:
        raise ValueError("large")
    return 0.0


def raising_with_the_global_state(n: int) -> float:
    x = np.random.random()
    if x > 0.5:
        raise ValueError("large")
    return x


@pytest.mark.parametrize(
    "function", [raising_where_large, raising_after_a_draw, raising_with_the_global_state]
)
def test_errors_while_a_call_is_traced_leave_pythons_states(function: Any) -> None:
    outcomes = []
    for called in (function, tj.jit(function)):
        RAISING.bit_generator.state = np.random.PCG64(1).state
        np.random.seed(1)
        for _ in range(6):
            try:
                result = float(called(2))
            except ValueError:
                result = -1.0
            outcomes.append((result, state_of(RAISING), str(np.random.get_state())))
    assert outcomes[:6] == outcomes[6:]


PAIR = Holder(np.random.RandomState(4)), Holder(None)


def of_a_pair(n: int) -> Any:
    return PAIR[0].rng.normal(), PAIR[1].rng.normal(), PAIR[0].rng.normal()


def test_states_of_which_a_part_is_shared_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PAIR[1], "rng", np.random.RandomState(PAIR[0].rng._bit_generator))
    with pytest.raises(tj.TraceError, match="draws random numbers while the function is traced"):
        tj.jit(of_a_pair)(1)


HELD = Holder(np.random.default_rng(5))


def copying_deeply(n: int) -> Any:
    return HELD.rng.random(), copy.deepcopy(HELD.rng).random()


def copying(n: int) -> Any:
    return HELD.rng.random(), copy.copy(HELD.rng).normal()


def copying_an_owner(n: int) -> Any:
    return HELD.rng.random(), copy.deepcopy([HELD])[0].rng.random()


def pickling(n: int) -> Any:
    return HELD.rng.random(), pickle.loads(pickle.dumps(HELD.rng)).random()


def reading_the_state(n: int) -> Any:
    return HELD.rng.random(), float(HELD.rng.bit_generator.state["state"]["state"] % 1000)


def jumping(n: int) -> Any:
    return np.random.Generator(HELD.rng.bit_generator.jumped()).random(), HELD.rng.random()


@pytest.mark.parametrize(
    "function", [copying_deeply, copying, copying_an_owner, pickling, reading_the_state, jumping]
)
def test_states_that_are_read_beside_draws_are_refused(function: Any) -> None:
    start = state_of(HELD.rng)
    with pytest.raises(tj.TraceError, match="draws random numbers while the function is traced"):
        tj.jit(function)(1)
    assert state_of(HELD.rng) == start


def reading_the_global_state(n: int) -> Any:
    x = np.random.rand()
    return x, float(np.random.get_state()[1][0]), np.random.rand()  # type: ignore[index]


def test_reading_the_global_state_runs_as_python() -> None:
    outcomes = []
    for function in (reading_the_global_state, tj.jit(reading_the_global_state)):
        np.random.seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UncompiledCallWarning)
            outcomes.append([list(map(float, function(1))) for _ in range(3)])
    assert outcomes[0] == outcomes[1]


def difference(n: int, a: Any, b: Any) -> float:
    s = 0.0
    for _ in range(n):
        s += a.random() - b.random()
    return s


def test_one_generator_by_two_names_runs_as_python() -> None:
    ours, theirs = generator(), generator()
    compiled = tj.jit(difference)
    with pytest.warns(tj.UncompiledCallWarning, match="one generator of NumPy's by two names"):
        result = compiled(9, ours, ours)
    assert float(result) == difference(9, theirs, theirs)
    assert state_of(ours) == state_of(theirs)
    shared = np.random.PCG64(3)
    first, second = np.random.Generator(shared), np.random.Generator(shared)
    assert float(compiled(9, first, second)) == difference(9, *[np.random.Generator(np.random.PCG64(3))] * 2)


def of_betas(n: int, rng: Any) -> float:
    s = 0.0
    for _ in range(n):
        s += rng.beta(2.0, 1.0)
    return s


def of_single_precision(n: int, rng: Any) -> float:
    s = 0.0
    for _ in range(n):
        s += rng.random(size=2, dtype=np.float32).sum()
    return s


@pytest.mark.parametrize("function", [of_betas, of_single_precision])
def test_draws_of_an_argument_that_are_not_compiled_run_as_python(function: Any) -> None:
    ours, theirs = generator(), generator()
    with pytest.warns(tj.UncompiledCallWarning, match="is not compiled"):
        result = tj.jit(function)(9, ours)
    assert float(result) == function(9, theirs)
    assert state_of(ours) == state_of(theirs)


def count(n: int, rng: Any) -> int:
    c = 0
    for _ in range(n):
        c += rng.integers(0, 10)
    return c


def test_calls_in_threads_draw_one_after_the_other() -> None:
    compiled, ours, theirs = tj.jit(count), generator(), generator()
    compiled(3, generator())
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.extend(int(compiled(500, ours)) for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(int(count(500, theirs)) for _ in range(40))
    assert state_of(ours) == state_of(theirs)


RNG = generator()


def of_global(n: int) -> float:
    s = 0.0
    for _ in range(n):
        s += RNG.random()
    return s


def test_a_name_that_gets_another_generator_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tj.jit(of_global)
    for make in (np.random.PCG64, np.random.PCG64, np.random.Philox):
        outcomes = []
        for function in (of_global, compiled):
            monkeypatch.setitem(of_global.__globals__, "RNG", np.random.Generator(make(5)))
            outcomes.append((float(function(7)), state_of(RNG)))
        assert outcomes[0] == outcomes[1]


def deciding(x: float) -> float:
    if RNG.random() < 0.5:
        return x + 1.0
    return x - RNG.random()


def test_paths_that_draws_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = []
    for function in (deciding, tj.jit(deciding)):
        monkeypatch.setitem(of_global.__globals__, "RNG", generator())
        outcomes.append(([float(function(1.0)) for _ in range(30)], state_of(RNG)))
    assert outcomes[0] == outcomes[1]


def test_a_mapped_function_does_not_draw() -> None:
    with pytest.raises(tj.TraceError, match="draws random numbers while the function is traced"):
        tj.jit(tj.vmap(lambda x: x + RNG.random()))(np.zeros(3))
    with pytest.raises(tj.TraceError, match="from outside a loop body, a branch or a mapped function"):
        tj.jit(lambda x, rng: tj.vmap(lambda y: y + rng.random())(x))(np.zeros(3), generator())


def test_the_words_of_a_state_are_no_generator() -> None:
    compiled = tj.jit(lambda x, rng: x * 2)
    assert float(compiled(2.0, generator())) == 4.0
    assert float(compiled(2.0, np.zeros(6, np.uint64))) == 4.0
    text = str(compiled.explain())
    assert "Generator(PCG64)" in text
    assert "u64[6]" in text


def test_loops_are_compiled() -> None:
    compiled = tj.jit(count)
    compiled(3, generator())
    text = str(compiled.explain())
    assert "compiled: a number of steps that depends on values" in text
    assert "everything is native code" in text


def with_own(n: int) -> float:
    rng, s = np.random.default_rng(3), 0.0
    for _ in range(n):
        s = 0.5 * s + rng.normal()
    return s


def with_own_sequence(n: int) -> float:
    rng, s = np.random.default_rng(np.random.SeedSequence(3)), 0.0
    for _ in range(n):
        s = 0.5 * s + rng.random()
    return s + rng.random()


def with_own_state(n: int) -> float:
    rng = np.random.RandomState(3)
    s = rng.rand()
    for i in range(n):
        if i == 2:
            rng.seed(7)
        s = 0.5 * s + rng.normal()
    return s


def seeded(n: int) -> float:
    np.random.seed(4)
    s = 0.0
    for _ in range(n):
        s = 0.5 * s + np.random.randn()
    return s


def seed_zero() -> None:
    np.random.seed(0)


def seeded_elsewhere(n: int) -> float:
    seed_zero()
    return n * np.random.rand()


def seeded_in_steps(n: int) -> float:
    s = 0.0
    for i in range(n):
        if i % 3 == 1:
            np.random.seed(5)
        s = 0.5 * s + np.random.randn()
    return s


@pytest.mark.parametrize("start", [0, 4, 9])
@pytest.mark.parametrize(
    "function", [with_own, with_own_sequence, with_own_state, seeded, seeded_elsewhere, seeded_in_steps]
)
def test_generators_with_seeds(function: Any, start: int) -> None:
    outcomes = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in (function, tj.jit(function)):
            np.random.seed(start)
            results = [float(run(n)) for n in (7, 12, 7)]
            outcomes.append((results, state_of(np.random.mtrand._rand)))  # type: ignore[attr-defined]
    np.testing.assert_allclose(outcomes[0][0], outcomes[1][0], rtol=1e-13)
    assert outcomes[0][1] == outcomes[1][1]


def mixed_later(n: int) -> float:
    rng, s = np.random.default_rng(3), 0.0
    for _ in range(n):
        s = 0.5 * s + rng.normal()
    return s + rng.permuted(np.arange(5))[0]


def put_back(n: int) -> float:
    state: Any = np.random.get_state()
    s = n * np.random.rand()
    np.random.set_state(state)
    return s


@pytest.mark.parametrize("function", [mixed_later, put_back])
def test_states_that_are_not_followed_run_as_python(function: Any) -> None:
    compiled = tj.jit(function)
    np.random.seed(3)
    with pytest.warns(tj.UncompiledCallWarning, match="not compiled"):
        result = compiled(12)
    state = state_of(np.random.mtrand._rand)  # type: ignore[attr-defined]
    np.random.seed(3)
    assert float(result) == function(12)
    assert state == state_of(np.random.mtrand._rand)  # type: ignore[attr-defined]


START: Any = np.random.PCG64(SEED).state


def with_a_state(n: int) -> float:
    RNG.bit_generator.state = START
    s = 0.0
    for _ in range(n):
        s += RNG.random()
    return s


def test_a_function_that_sets_a_state_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(of_global.__globals__, "RNG", generator())
    RNG.bit_generator.state = START
    with pytest.raises(tj.TraceError, match="draws random numbers while the function is traced"):
        tj.jit(with_a_state)(9)


@tj.jit
def inner(n: int, rng: Any) -> float:
    s = 0.0
    for _ in range(n):
        s += rng.random()
    return s


def outer(n: int, rng: Any) -> float:
    s = 0.0
    for i in range(n):
        s += inner(i, rng)
    return s


def of_a_dict(n: int, options: Any) -> float:
    s = 0.0
    for _ in range(n):
        s = 0.5 * s + options["rng"].normal()
    return s


@pytest.mark.parametrize(
    ("function", "options", "arguments"),
    [
        (outer, {}, lambda rng: (9, rng)),
        (of_a_dict, {}, lambda rng: (9, {"rng": rng})),
        (walk, {"donate_argnums": (3,)}, lambda rng: (0.5, 2.0, 9, rng)),
        (walk, {"static_argnums": (3,)}, lambda rng: (0.5, 2.0, 9, rng)),
    ],
    ids=["jitted in jitted", "dict", "donated", "static"],
)
def test_ways_to_pass_a_generator(function: Any, options: Any, arguments: Any) -> None:
    ours, theirs = generator(), generator()
    for _ in range(2):
        result = tj.jit(function, **options)(*arguments(ours))
        np.testing.assert_allclose(float(result), function(*arguments(theirs)), rtol=1e-13)
        assert state_of(ours) == state_of(theirs)
