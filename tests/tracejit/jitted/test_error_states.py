"""NumPy's error state set to raise or to call: such calls run as Python, so that NumPy does what it says."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy import errstate as state_of_errors

import tracejit as tj


def inverse_sum(x: Any) -> Any:
    return (1.0 / x).sum()


def by_elements(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total += np.log(x[i])
    return total


def overflows(x: Any) -> Any:
    return np.exp(1000.0 * (1.0 - x))


def invalid(x: Any) -> Any:
    return np.sqrt(x - 0.5).sum()


FUNCTIONS = (inverse_sum, by_elements, overflows, invalid)
SETTINGS: tuple[dict[str, Any], ...] = (
    {"all": "ignore"}, {"all": "raise"}, {"divide": "raise"}, {"over": "raise", "divide": "ignore"},
    {"invalid": "call", "divide": "call"},
)  # fmt: skip
X = np.array([0.0, 1.0, 2.0])
UNCOMPILED = pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning", "ignore::RuntimeWarning")


def outcome(function: Callable[..., Any], settings: dict[str, Any], x: Any) -> tuple[Any, list[str]]:
    """The result of a call, or its error, and the calls that NumPy made."""
    calls: list[str] = []
    with np.errstate(**settings, call=lambda kind, flag: calls.append(kind)):
        try:
            return np.asarray(function(x)).tolist(), calls
        except FloatingPointError as error:
            return str(error), calls


@UNCOMPILED
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_calls_follow_the_state_from_the_first_that_has_one(function: Callable[..., Any]) -> None:
    for first, second in itertools.product(SETTINGS[1:], SETTINGS):
        jitted = tj.jit(function)
        for settings in (first, second, {}, first, second, first):
            for x in (X, X + 1.0):
                np.testing.assert_equal(outcome(jitted, settings, x), outcome(function, settings, x))


@UNCOMPILED
def test_what_was_compiled_for_other_types_looks_at_the_state_too() -> None:
    jitted = tj.jit(inverse_sum)
    for settings, x in (({}, X), ({}, X + 1.0), ({"all": "raise"}, X[:2]), ({"all": "raise"}, X), ({}, X)):
        assert outcome(jitted, settings, x) == outcome(inverse_sum, settings, x)


def test_it_may_be_looked_inside() -> None:
    with np.errstate(all="raise"):
        assert "div" in tj.jit(inverse_sum).lower(X).as_text("optimized")


def with_statement(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1.0 / x


def with_another_name(x: Any) -> Any:
    with state_of_errors(divide="raise"):
        return 1.0 / x


def handled(x: Any) -> Any:
    with np.errstate(all="raise"):
        try:
            return 1.0 / x
        except FloatingPointError:
            return x * 0.0


def set_and_put_back(x: Any) -> Any:
    before = np.seterr(divide="raise")
    try:
        return 1.0 / x
    finally:
        np.seterr(**before)


@contextlib.contextmanager
def strictly() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield


def in_a_manager(x: Any) -> Any:
    with strictly():
        return 1.0 / x


def strict_inverse(x: Any) -> Any:
    with tj.errstate(divide="raise"):
        return 1.0 / x


def in_a_helper(x: Any) -> Any:
    return strict_inverse(x) + 1.0


def in_a_loop(x: Any) -> Any:
    total = 0.0
    with np.errstate(all="raise"):
        for i in range(len(x)):
            total += 1.0 / x[i]
    return total


@UNCOMPILED
@pytest.mark.parametrize(
    "function",
    [
        with_statement, with_another_name, handled, set_and_put_back, in_a_manager, in_a_helper,
        in_a_loop,
    ],
)  # fmt: skip
def test_functions_that_set_the_state(function: Callable[..., Any]) -> None:
    jitted = tj.jit(function)
    for x in (X, X + 1.0, X):
        np.testing.assert_equal(outcome(jitted, {}, x), outcome(function, {}, x))


def test_it_is_said_once() -> None:
    jitted = tj.jit(inverse_sum)
    with np.errstate(divide="raise"):
        with pytest.warns(
            tj.UncompiledCallWarning, match="inverse_sum: NumPy's error state is divide='raise'"
        ):
            jitted(X + 1.0)
        jitted(X + 1.0)
    with pytest.warns(
        tj.UncompiledCallWarning, match="with_statement: it sets NumPy's error state to divide"
    ):
        tj.jit(with_statement)(X + 1.0)


def test_states_that_raise_nothing_are_compiled() -> None:
    def quiet(x):
        with np.errstate(divide="ignore"):
            return 1.0 / x

    for settings in ({}, {"all": "ignore"}, {"all": "warn"}):
        with np.errstate(**settings):
            assert tj.jit(quiet)(X)[0] == np.inf
    with np.errstate(divide="raise"):
        assert tj.jit(quiet)(X)[0] == np.inf
        assert tj.jit(lambda x: x[::-1])(X)[0] == 2.0


def test_with_compiled_loops_it_is_an_error() -> None:
    with np.errstate(all="raise"), pytest.raises(tj.TracejitError, match="error state"):
        tj.jit(by_elements, loops="compiled")(X)
