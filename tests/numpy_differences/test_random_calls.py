"""Functions, methods, operators and keys that NumPy has too, with random arguments: the same in each mode.

``TRACEJIT_FUZZ_SEED`` chooses the first seed. What may differ is in docs/differences.md, see `allowed`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

from ..rotation import share_of
from .arguments import Arguments
from .calls import FUNCTIONS, UNTESTED, call_of, shared_names
from .checking import check
from .methods import (
    BINARY,
    METHODS,
    UNARY,
    UNTESTED_METHODS,
    getitem_call,
    method_call,
    operator_call,
    setitem_call,
    shared_methods,
)
from .oracle import Call, difference

FIRST = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0"))
#: Calls of each function from which a normal run and a longer one take a share.
FEW, MANY = 10, 40


def _makers() -> dict[str, Callable[[Arguments], Call]]:
    makers: dict[str, Callable[[Arguments], Call]] = {}
    for name in sorted(FUNCTIONS):
        makers[name] = lambda a, name=name: call_of(name, a)
    for name in sorted(METHODS):
        makers[f"ndarray.{name}"] = lambda a, name=name: method_call(name, a)
    for name in [*BINARY, *UNARY]:
        makers[f"operator {name}"] = lambda a, name=name: operator_call(name, a)
    for number in range(6):
        makers[f"getitem {number}"] = lambda a: getitem_call(a)
        makers[f"setitem {number}"] = lambda a: setitem_call(a)
    return makers


MAKERS = _makers()


def test_every_shared_name_has_a_maker() -> None:
    assert set(shared_names()) == set(FUNCTIONS) | UNTESTED
    assert set(shared_methods()) == set(METHODS) | UNTESTED_METHODS


def _seeds(name: str, count: int) -> range:
    """Seeds of its own for each of several makers that are the same."""
    first = (FIRST + 1000 * int(name[-1])) if name[-1].isdigit() else FIRST
    return range(first, first + count)


@pytest.mark.parametrize("name", MAKERS)
def test_random_calls(name: str) -> None:
    check(MAKERS[name], share_of(_seeds(name, FEW), 2), jitted=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_many_random_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    check(MAKERS[name], share_of(_seeds(name, MANY), 2), jitted=4)


def test_both_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few calls of a tenth of the functions, in baseline code and in the optimized code that follows."""
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    for name in share_of(sorted(FUNCTIONS), 10):
        check(MAKERS[name], range(FIRST + 100, FIRST + 104), jitted=1)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (np.float32([1.0]), np.float64([1.0])),
        (np.array([1.0]), np.array([[1.0]])),
        (np.array([-0.0]), np.array([0.0])),
        (np.array([1.0 + 1e-10]), np.array([1.0])),
        (np.array([np.nan]), np.array([np.inf])),
        (np.array([1]), np.array([2])),
        (ValueError("not ours"), np.array([1])),
        (np.array([1]), ValueError("NumPy's")),
    ],
)
def test_differences_are_seen(actual: object, expected: object) -> None:
    call = Call("f", lambda xp: None, ())
    outcomes = [outcome if isinstance(outcome, Exception) else [outcome] for outcome in (actual, expected)]
    assert difference(call, *outcomes)
    if not isinstance(expected, Exception):
        assert not difference(call, outcomes[1], outcomes[1])
