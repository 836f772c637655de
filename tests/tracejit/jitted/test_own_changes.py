"""Functions that change what they read outside their arguments are traced at each call, and told of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([3.0, 1.0, 2.0])
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def counts_in_a_dict(wrap: Wrap) -> Iterator[Any]:
    counts = {"calls": 0}

    def f(x: Any) -> Any:
        counts["calls"] += 1
        return x * counts["calls"]

    g = wrap(f)
    yield from (g(X) for _ in range(4))
    counts["calls"] = 0
    yield from (g(X) for _ in range(2))


def counts_in_a_closure(wrap: Wrap) -> Iterator[Any]:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count

    g = wrap(f)
    return (g(X) for _ in range(4))


def toggles(wrap: Wrap) -> Iterator[Any]:
    on = False

    def f(x: Any) -> Any:
        nonlocal on
        on = not on
        return 2 * x if on else x

    g = wrap(f)
    return (g(X) for _ in range(6))


def has_a_mutable_default(wrap: Wrap) -> Iterator[Any]:
    def f(x: Any, seen: Any = []) -> Any:  # noqa: B006 - that is what is tested
        seen.append(1)
        return x * len(seen)

    g = wrap(f)
    return (g(X) for _ in range(3))


def counts_in_an_attribute_of_itself(wrap: Wrap) -> Iterator[Any]:
    def f(x: Any) -> Any:
        f.calls = getattr(f, "calls", 0) + 1  # type: ignore[attr-defined]
        return x * f.calls  # type: ignore[attr-defined]

    g = wrap(f)
    return (g(X) for _ in range(3))


def has_a_schedule(wrap: Wrap) -> Iterator[Any]:
    class Schedule:
        def __init__(self) -> None:
            self.step = 0

        def __call__(self) -> float:
            self.step += 1
            return 1.0 / self.step

    schedule = Schedule()
    g = wrap(lambda x: x * schedule())
    return (g(X) for _ in range(4))


CHANGING = [
    counts_in_a_dict, counts_in_a_closure, toggles, has_a_mutable_default, counts_in_an_attribute_of_itself,
    has_a_schedule,
]  # fmt: skip


@pytest.mark.parametrize("program", CHANGING)
def test_what_a_function_changes_is_as_without_jit(program: Callable[[Wrap], Iterator[Any]]) -> None:
    expected = [np.asarray(value) for value in program(lambda f: f)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = [np.asarray(value) for value in program(tj.jit)]
    assert np.array_equal(values, expected)
    assert "traced and compiled at each call" in str(caught[0].message)
    assert {warning.category for warning in caught} == {tj.FrozenResultWarning}


def test_what_is_filled_once_is_watched_from_then_on() -> None:
    class Lazy:
        def __init__(self) -> None:
            self.table: Any = None
            self.made = 0

        def weights(self) -> Any:
            if self.table is None:
                self.made += 1
                self.table = np.arange(3.0)
            return self.table

    lazy = Lazy()
    f = tj.jit(lambda x: x * lazy.weights())
    for _ in range(4):
        assert np.array_equal(f(X), X * np.arange(3.0))
    assert lazy.made == 1
    assert len(f._tree.signatures) == 1
    lazy.table = np.ones(3)
    assert np.array_equal(f(X), X)


def test_functions_that_branch_on_values_warn_that_their_changes_are_not_repeated() -> None:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * count if x.sum() > 0 else x

    with pytest.warns(tj.FrozenResultWarning, match="itself changes it"):
        tj.jit(f)(X)


def test_iterators_are_warned_of() -> None:
    numbers = iter([1.0, 2.0])
    with pytest.warns(tj.FrozenResultWarning, match="next"):
        tj.jit(lambda x: x * next(numbers))(X)


total = 0


class Counters:
    """Several ways to count calls."""

    def __init__(self) -> None:
        self.calls, self.counts = 0, {"f": 0}

    def attribute(self) -> None:
        self.calls += 1

    def sum(self) -> None:
        self.calls = self.calls + 1

    def item(self) -> None:
        self.counts["f"] += 1

    def variable(self) -> None:
        global total
        total += 1
        self.calls = -1


@pytest.mark.parametrize("way", ["attribute", "sum", "item", "variable"])
def test_what_only_counts_is_compiled_once(way: str) -> None:
    """Programs count how often they are traced."""
    counters = Counters()

    def f(x: Any) -> Any:
        getattr(counters, way)()
        return 2 * x

    before, g = total, tj.jit(f)
    for _ in range(3):
        assert np.array_equal(g(X), 2 * X)
    assert (counters.calls, counters.counts["f"], total - before) in {(1, 0, 0), (0, 1, 0), (-1, 0, 1)}


def test_a_counter_that_is_read_as_well_counts() -> None:
    class Model:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, x: Any) -> Any:
            self.calls += 1
            return x / self.calls

    model = Model()
    g = tj.jit(lambda x: model(x))
    with pytest.warns(tj.FrozenResultWarning, match=r"calls"):
        assert [float(g(1.0)) for _ in range(3)] == [1.0, 0.5, 1.0 / 3.0]
