"""Paths that share one native function: the same results as apart, from the ninth call on."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj
from tracejit.jitted.guard_tree.paths import SETTLED

SHARED = "share one native function"


def settle(jitted, calls):
    """Make so many calls that nothing new comes."""
    for _ in range(SETTLED):
        for call in calls:
            jitted(*call)


def agree(function, jitted, calls):
    for call in calls:
        expected, got = tj.tree_leaves(function(*call)), tj.tree_leaves(jitted(*call))
        assert len(expected) == len(got)
        for actual, other in zip(expected, got, strict=True):
            np.testing.assert_array_equal(np.asarray(other), np.asarray(actual))
            assert np.asarray(other).dtype == np.asarray(actual).dtype


def clipped(x):
    y = x * 2
    if y.sum() > 10:
        return y - 10, {"high": y}
    if y.sum() < -10:
        return y + 10, {"low": y}
    return y, {"high": x}


def doubled(x):
    y = x * 2
    while y.sum() < 1000:
        y = y * 2
    return y


def bucket(x):
    number = int(x.sum())
    assert (x == x).all()
    return [x, x + 1, x * 5][number % 3]


def signs(x):
    zero = float(x[0])
    return x + (1 if str(zero) == "-0.0" else 2 if zero == 0 else 3)


ROWS = [np.array([number, 1.0]) for number in (0.5, 7.0, -9.0, 1.0, -2.0)]
CALLS = {
    "clipped": (clipped, [(row,) for row in ROWS]),
    "doubled": (doubled, [(np.abs(row) + 0.1,) for row in ROWS]),
    "bucket": (bucket, [(np.array([number, 0.0]),) for number in (0.0, 1.0, 2.0, 4.0)]),
    "signs": (signs, [(np.array([number, 1.0]),) for number in (0.0, -0.0, 1.5, np.nan)]),
    "integers": (lambda n: n + 1 if n > 2**40 else n, [(2**41,), (3,)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_eager_code(name):
    function, calls = CALLS[name]
    jitted = tj.jit(function, loops="unrolled")  # else `doubled` has one path
    agree(function, jitted, calls)
    settle(jitted, calls)
    assert SHARED in jitted.explain()
    agree(function, jitted, calls)


def test_paths_that_share_are_not_run_one_by_one():
    f = tj.jit(lambda x: x * 2 if x.sum() > 0 else x - 1)
    up, down = np.ones(2), -np.ones(2)
    settle(f, [(up,), (down,)])
    (signature,) = f._tree.signatures
    shared = signature.shared
    assert [instruction.op.name for instruction in shared.function.body].count("switch") == 1
    hits = sum(function.hits for function in signature.leaves)
    for function in (up, down, up):
        f(function)
    assert sum(function.hits for function in signature.leaves) == hits + 3
    assert shared.run_together([up]).tolist() == [2, 2]


def test_what_is_in_common_is_there_once():
    def f(x):
        y = tj.exp(x)
        return y + 1 if y.sum() > 3 else y * 2

    jitted = tj.jit(f)
    settle(jitted, [(np.ones(2),), (-np.ones(2),)])
    (signature,) = jitted._tree.signatures
    assert str(signature.shared.function).count("exp(") == 1


def test_a_new_path_is_still_found():
    jitted = tj.jit(clipped)
    settle(jitted, [(ROWS[0],), (ROWS[1],)])
    assert f"2 of these paths {SHARED}" in jitted.explain()
    agree(clipped, jitted, [(ROWS[2],)])
    assert SHARED not in jitted.explain()
    settle(jitted, [(row,) for row in ROWS])
    assert f"3 of these paths {SHARED}" in jitted.explain()
    agree(clipped, jitted, [(row,) for row in ROWS])


def test_one_path_alone():
    @tj.jit
    def f(x):
        assert x.sum() > 0
        return x * 2

    settle(f, [(np.ones(2),)])
    assert f"1 of these paths {SHARED}" in f.explain()
    with pytest.raises(AssertionError):
        f(-np.ones(2))
    assert f(np.ones(2)).tolist() == [2, 2]


def test_results_of_other_types_stay_apart():
    f = tj.jit(lambda x: x if x.sum() > 0 else x.sum())
    calls = [(np.ones(2),), (-np.ones(2),)]
    settle(f, calls)
    assert f"1 of these paths {SHARED}" in f.explain()
    assert [f(*call).tolist() for call in calls] == [[1, 1], -2]


def test_what_is_closed_over_is_read_afresh():
    scale, table = tj.tensor(2.0), {"shift": tj.tensor(5.0)}

    def f(x):
        return x * scale if x > 0 else x + table["shift"]

    jitted = tj.jit(f)
    settle(jitted, [(1.0,), (-1.0,)])
    assert SHARED in jitted.explain()
    scale, table["shift"] = tj.tensor(3.0), tj.tensor(7.0)
    assert (jitted(1.0).item(), jitted(-1.0).item()) == (3, 6)
    scale = tj.tensor([1.0, 2.0])
    assert jitted(1.0).tolist() == [1, 2]
    assert jitted(-1.0).item() == 6


def test_gradients_follow_the_path():
    jitted = tj.jit(lambda x: (x * x if x.sum() > 0 else -3 * x).sum())
    settle(jitted, [(np.array([2.0]),), (np.array([-2.0]),)])
    for value, slope in ((2.0, 4.0), (-2.0, -3.0)):
        x = tj.tensor([value], requires_grad=True)
        y = jitted(x)
        assert y.requires_grad
        y.backward()
        assert x.grad.tolist() == [slope]


def test_errors_are_those_of_the_path():
    table = np.arange(4.0)
    f = tj.jit(lambda x, i: x[i] if i < 4 else x[0] * 100)
    settle(f, [(table, 1), (table, 9)])
    assert SHARED in f.explain()
    assert (f(table, 3).item(), f(table, 77).item()) == (3, 0)
    with pytest.raises(IndexError):
        f(table, -5)


def test_effects_and_draws_stay_apart(capsys):
    @tj.jit
    def shown(x):
        tj.debug.print("{}", x)
        return x if x > 0 else -x

    settle(shown, [(1.0,)])
    assert SHARED not in shown.explain()
    assert len(capsys.readouterr().out.splitlines()) == SETTLED

    drawn = tj.jit(lambda x: tj.random.rand() + (x if x > 0 else -x))
    tj.random.seed(3)
    expected = [drawn(1.0).item() for _ in range(2 * SETTLED)]
    tj.random.seed(3)
    assert [drawn(1.0).item() for _ in range(2 * SETTLED)] == expected
    assert SHARED not in drawn.explain()


def test_long_programs_stay_apart():
    def f(x):
        for _ in range(5000):
            x = x + 1
        return x if x.sum() > 0 else -x

    jitted = tj.jit(f, loops="unrolled")
    settle(jitted, [(np.ones(1),)])
    assert SHARED not in jitted.explain()


@pytest.mark.filterwarnings("ignore:.*next:tracejit.FrozenResultWarning")
def test_code_that_is_not_the_same_each_time_stays_apart():
    turn = iter(range(100))
    f = tj.jit(lambda x: x * (2.0 + next(turn)) if (x * (1.0 + next(turn))).sum() > 0 else x)
    settle(f, [(np.ones(2),), (-np.ones(2),)])
    assert SHARED not in f.explain()
    assert f(-np.ones(2)).tolist() == [-1, -1]


@pytest.mark.parametrize("seed", range(12))
def test_random_branches(seed):
    """Functions with branches and loops on values, in random places."""
    chance = random.Random(seed)
    plan = [(chance.choice(["branch", "loop", "number", "sum"]), chance.uniform(-2, 2)) for _ in range(5)]

    def f(x):
        y = x
        for kind, amount in plan:
            if kind == "branch":
                y = y + amount if y.sum() > amount else y * amount
            elif kind == "loop":
                for _ in range(3):
                    if not y.max() < amount:
                        break
                    y = y + 0.5
            elif kind == "number":
                y = y + int(tj.clip(y.min(), -1, 1))
            else:
                y = y - y.sum() * amount
        return y

    numbers = np.random.default_rng(seed)
    calls = [(numbers.normal(size=3),) for _ in range(6)]
    jitted = tj.jit(f)
    agree_closely(f, jitted, calls)
    settle(jitted, calls)
    agree_closely(f, jitted, [*calls, *[(numbers.normal(size=3),) for _ in range(6)]])


def agree_closely(function, jitted, calls):
    """A decision may round otherwise eagerly: results are near each other all the same."""
    for call in calls:
        np.testing.assert_allclose(jitted(*call).numpy(), np.asarray(function(*call)), rtol=1e-12, atol=1e-12)
