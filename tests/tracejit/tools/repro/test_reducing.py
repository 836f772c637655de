"""Delta debugging of Functions, with predicates that need no other process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify
from tracejit.tools.repro import Case, reduce_case
from tracejit.tools.repro.edits import EDITS
from tracejit.tools.repro.resizing import resized

from ....fuzz.graphs import program


def case_of(f: Callable[..., Any], *arrays: Any) -> Case:
    return Case(tj.trace(f, *arrays), tuple(np.asarray(array) for array in arrays))


def has(op: str) -> Callable[[Case], bool]:
    def holds(case: Case) -> bool:
        return valid(case) and any(instruction.op.name == op for instruction in case.function.instructions())

    return holds


def valid(case: Case) -> bool:
    verify(case.function)
    try:
        results = interpret(case.function, case.inputs)
    except (tj.TracejitError, ValueError):
        return False
    assert [result.shape for result in results] == [result.shape for result in case.function.results]
    return True


def ops(case: Case) -> list[str]:
    return [instruction.op.name for instruction in case.function.instructions()]


def model(w: Any, x: Any) -> Any:
    hidden = tj.tanh(x @ w)
    return tj.nn.log_softmax(hidden, axis=-1).sum(), hidden.mean(axis=0), tj.cumsum(hidden, axis=0)


@pytest.mark.parametrize("op", ["tanh", "matmul", "max", "log", "cumsum", "mean"])
def test_one_op_is_left(op: str) -> None:
    rng = np.random.default_rng(0)
    reduced = reduce_case(case_of(model, rng.normal(size=(16, 8)), rng.normal(size=(32, 16))), has(op))
    assert ops(reduced) == [op]
    assert all(size == 1 for param in reduced.function.params for size in param.shape)
    assert len(reduced.function.results) == 1


def test_values_are_those_of_the_whole_program() -> None:
    """A predicate on numbers: only where the value of an intermediate result goes on as an input."""
    x = np.array([0.5, 2.0, -1.0])

    def large_sine(case: Case) -> bool:
        return has("sin")(case) and any(
            instruction.op.name == "sin" and case.inputs and np.abs(case.inputs[0]).max() > 50
            for instruction in case.function.body
        )

    reduced = reduce_case(case_of(lambda x: tj.sin(tj.exp(x * 2) * x), x), large_sine)
    assert ops(reduced) == ["sin"]
    assert reduced.inputs[0].tolist() == [np.exp(4.0) * 2.0]


@pytest.mark.parametrize(
    ("f", "op"),
    [
        (lambda x: tj.fori_loop(0, 10, lambda i, c: tj.tanh(tj.sin(c) @ x) * 1.5, x), "sin"),
        (lambda x: tj.while_loop(lambda c: c.sum() < 3, lambda c: tj.exp(c) + 1, x), "exp"),
        (lambda x: tj.cond(x.sum() > 0, lambda x: tj.cos(x) * 2, lambda x: x + 1, x), "cos"),
    ],
)
def test_loops_and_branches_are_opened(f: Any, op: str) -> None:
    reduced = reduce_case(case_of(f, np.full((4, 4), 0.1)), has(op))
    assert ops(reduced) == [op]
    assert reduced.function.params[0].shape == (1, 1)


def test_a_loop_that_must_stay_gets_short_and_small() -> None:
    def f(x: Any) -> Any:
        return tj.fori_loop(0, 10, lambda i, c: tj.tanh(tj.sin(c) @ x) * 1.5, x)

    reduced = reduce_case(case_of(f, np.full((6, 6), 0.1)), has("scan"))
    (loop,) = reduced.function.body
    assert loop.attrs["length"] == 1
    assert loop.regions[0].body == ()
    assert loop.operands[0].shape == (1, 1)


@pytest.mark.parametrize("seed", range(15))
def test_random_programs_stay_valid(seed: int) -> None:
    generated = next(
        generated for generated in map(program, range(seed, 1000, 12)) if len(generated.function.body) <= 60
    )
    names = [instruction.op.name for instruction in generated.function.body if not instruction.regions]
    expected = names[len(names) // 2]
    case = Case(generated.function, tuple(generated.arrays))
    small = reduce_case(case, has(expected), seconds=20)
    assert expected in ops(small)
    assert len(small.function.body) <= 3  # regions stay as they are
    assert parse_function(small.text()).name == generated.function.name


def test_text_and_files(tmp_path: Any) -> None:
    case = case_of(lambda x: tj.sin(x), np.arange(3.0))
    case.write(tmp_path / "a.tir", tmp_path / "a.npz", ["differs: a note"])
    text = (tmp_path / "a.tir").read_text()
    assert text.splitlines()[1] == "; differs: a note"
    assert str(parse_function(text)) == str(case.function)
    assert np.load(tmp_path / "a.npz")["arr_0"].tolist() == [0, 1, 2]


def test_sizes_go_through_shapes_slices_loops_and_constants() -> None:
    def f(x: Any) -> Any:
        y = x.reshape(12, 1) + tj.zeros((12, 3)) + tj.asarray([float(i) for i in range(12)]).reshape(12, 1)
        return tj.scan(lambda c, row: (c + row, c * row), y[0], y)[1][0:12]

    case = case_of(f, np.arange(12.0))
    first, last = resized(case, 12, 5)
    for changed, start in ((first, 0), (last, 7)):
        assert valid(changed)
        assert changed.function.results[0].shape == (5, 3)
        assert changed.inputs[0].tolist() == list(np.arange(12.0)[start : start + 5])


def test_limits_and_progress() -> None:
    case = case_of(model, np.ones((16, 8)), np.ones((32, 16)))
    assert reduce_case(case, has("tanh"), seconds=0) is not None
    seen: list[str] = []
    sizes = [case.size]

    def progress(edit: str, reduced: Case) -> None:
        seen.append(edit)
        assert reduced.size < sizes[-1]
        sizes.append(reduced.size)

    reduce_case(case, has("tanh"), progress=progress)
    assert set(seen) <= {edit.name for edit in EDITS}
    assert len(seen) > 2
    never = reduce_case(case, lambda case: False)
    assert ops(never) == ops(case)


def test_a_long_program_takes_few_trials() -> None:
    """One wrong op among 1,800: halves of the program are tried, not one op after the other."""
    trials = 0

    def f(x: Any) -> Any:
        for i in range(150):
            x = tj.sin(x * 1.1 + 0.01) + tj.cos(x) * 0.1
            x = x + tj.tanh(x) if i == 110 else x
        return x.sum(), x

    def holds(case: Case) -> bool:
        nonlocal trials
        trials += 1
        return any(instruction.op.name == "tanh" for instruction in case.function.body)

    x = np.full((4, 4), 0.3)
    reduced = reduce_case(Case(tj.jit(f, loops="unrolled").trace(x), (x,)), holds)
    assert ops(reduced) == ["tanh"]
    assert trials < 100
