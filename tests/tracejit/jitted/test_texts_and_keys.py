"""Values of a trace that leave it as the keys of dicts, and in the exceptions that a function raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import ConcretizationError

X = np.array([3.0, 1.0])

KEYS: dict[str, Callable[..., Any]] = {
    "a float": lambda x: {float(x[0]): x},
    "an item": lambda x: {x[0].item(): 1.0},
    "an integer": lambda x: {int(x[0]): x},
    "in a tuple": lambda x: {(1, int(x[1])): {int(x[0]): x}},
    "of a list": lambda x: dict(zip(x.tolist(), x, strict=True)),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_are_numbers(name: str) -> None:
    function = KEYS[name]
    jitted = tj.jit(function)
    for x in (X, X + 1, X):
        expected = function(x)
        result = jitted(x)
        assert repr(list(result)) == repr(list(expected))
        np.testing.assert_equal(tj.tree_map(np.asarray, result), tj.tree_map(np.asarray, expected))


@pytest.mark.parametrize("number", [2.5, 4, True])
def test_a_number_among_the_arguments_is_a_key(number: Any) -> None:
    result = tj.jit(lambda x, n: {n: x})(X, number)
    assert list(result) == [number]
    assert type(next(iter(result))) is type(number)


def test_keys_of_a_dict_among_the_arguments() -> None:
    def put(d: dict[Any, Any], x: Any) -> None:
        d[float(x[0])] = x * 2
        d[int(x[1])] = 1.0

    jitted = tj.jit(put)
    for x in (X, X + 1):
        d: dict[Any, Any] = {}
        jitted(d, x)
        assert list(d) == [x[0], int(x[1])]
        np.testing.assert_array_equal(d[x[0]], x * 2)


def _in_a_loop(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        if s > 2.5:
            raise ValueError(f"sum {s} at {i}")
    return s


def _formatted(x: Any) -> Any:
    if x[0] > 2:
        raise ValueError(f"{x[0]:.3f} and {x[1]:8.2e}")
    return x


def _arguments(x: Any) -> Any:
    if x[0] > 2:
        raise KeyError("x", float(x[0]))
    return x


def _asserted(x: Any) -> Any:
    assert x[0] < 1, x[0]
    return x


def _behind_a_write(x: Any) -> Any:
    x[1] = 8.0
    if x[0] > 2:
        raise IndexError(f"{x[0]}")
    return x


@pytest.mark.parametrize("function", [_in_a_loop, _formatted, _arguments, _asserted, _behind_a_write])
@pytest.mark.parametrize("count", [2, 60])
def test_exceptions_show_values(function: Callable[..., Any], count: int) -> None:
    x = np.resize(X, count)
    outcomes = []
    for run in (function, tj.jit(function)):
        mine = x.copy()
        with pytest.raises(Exception) as raised:
            run(mine)
        outcomes.append((raised.type, str(raised.value), mine))
    assert outcomes[0][:2] == outcomes[1][:2]
    np.testing.assert_array_equal(outcomes[0][2], outcomes[1][2])


def test_a_text_that_is_no_error_wants_the_value() -> None:
    with pytest.raises(ConcretizationError, match="formatting with"):
        tj.jit(lambda x: (x * 2, print(f"{x[0]:.3f}"))[0])(X)
    np.testing.assert_array_equal(tj.jit(lambda x: x * len(f"{x[0]:.3f}"))(X), X * len(f"{X[0]:.3f}"))


_LIBRARY = """
import numpy as np

def converted(x):
    try:
        return np.asarray(x)
    except Exception as error:
        raise ValueError("unrecognized input") from error

def hidden(x):
    try:
        return x.tobytes()
    except Exception:
        raise ValueError("unrecognized input")
"""


def test_a_library_that_hides_what_it_asked_for() -> None:
    names: dict[str, Any] = {"__name__": "numpy.made_up"}
    exec(compile(_LIBRARY, str(Path(np.__file__).with_name("made_up.py")), "exec"), names)
    with pytest.raises(ConcretizationError, match="needs the value of a traced tensor"):
        tj.jit(lambda x: names["converted"](x).tobytes())(X)
    with pytest.raises(ConcretizationError, match=r"tobytes"):
        tj.jit(lambda x: names["hidden"](x))(X)
