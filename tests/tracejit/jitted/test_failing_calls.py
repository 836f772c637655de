"""Calls that fail: what Python writes to the arguments before the error, a compiled call writes too."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

SMALL = 8
#: Size of arrays that compiled loops write in place.
LARGE = 20_000
FAILING: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}


def failing(*arguments: str) -> Callable[[Any], Any]:
    def note(function: Any) -> Any:
        FAILING[function.__name__] = function, arguments
        return function

    return note


def arguments_of(names: tuple[str, ...], size: int, kind: Any) -> list[Any]:
    """Fresh arguments: arrays `x` and `y`, indices of which one is out of range, and more."""
    indices = np.arange(size)
    indices[5] = size + 3
    table = {
        "x": lambda: kind(np.arange(float(size))),
        "y": lambda: kind(np.arange(float(size)) * 0.5),
        "idx": indices.copy,
        "mask": lambda: np.arange(size) % 2,
        "n": lambda: size + 3,
        "v": lambda: 5.0,
        "singular": lambda: np.zeros((3, 3)),
        "a": lambda: np.ones((3, 3)),
        "d": lambda: {"w": kind(np.arange(float(size)))},
        "items": lambda: [kind(np.arange(float(size)))],
    }
    return [table[name]() for name in names]


# -- indices out of range ------------------------------------------------------------------------------


@failing("x", "idx")
def scattered(x, idx):
    for i in range(len(x)):
        x[idx[i]] = 2.0


@failing("x", "idx")
def twice_in_a_step(x, idx):
    for i in range(len(x)):
        x[i] = -1.0
        x[idx[i]] += 2.0


@failing("x", "idx", "y")
def written_then_read(x, idx, y):
    s = 0.0
    for i in range(len(x)):
        x[i] = -1.0
        s += y[idx[i]]
    return s


@failing("x", "idx", "y")
def read_then_written(x, idx, y):
    for i in range(len(x)):
        x[i] = y[idx[i]] * 2.0


@failing("x", "n")
def too_many_steps(x, n):
    for i in range(n):
        x[i] = -1.0


@failing("x", "n")
def whole_array_before(x, n):
    x[:] = 3.0
    x[n] = 4.0


@failing("x", "n", "y")
def read_behind_a_write(x, n, y):
    x[2] = 3.0
    return y[n]


@failing("x", "idx")
def second_loop(x, idx):
    for i in range(len(x)):
        x[i] = x[i] * 2.0
    for i in range(len(x)):
        x[idx[i]] = -1.0


@failing("x", "idx", "y")
def two_arrays(x, idx, y):
    for i in range(len(x)):
        y[i] = x[i] * 2.0
        x[idx[i]] = -1.0


@failing("x", "idx", "y")
def while_loop(x, idx, y):
    k = 0
    while k < len(x):
        y[k] = x[idx[k]]
        k += 1


@failing("x", "idx", "y")
def the_same_index_in_each_step(x, idx, y):
    s = 0.0
    for i in range(len(x)):
        x[i] = 3.0
        s += y[idx[5]]
    return s


@failing("x", "n", "y")
def evenly_growing(x, n, y):
    for i in range(n):
        x[i % 7] += 3.0
        y[i] = x[i % 5] + 1.0


@failing("x", "idx", "mask")
def in_a_branch(x, idx, mask):
    for i in range(len(x)):
        if mask[i] == 0:
            x[i] = 2.0
        else:
            x[idx[i]] = 3.0


@failing("x", "idx", "y")
def in_an_inner_loop(x, idx, y):
    for i in range(3):
        for j in range(len(x)):
            x[j] = i
            y[idx[j]] = x[j] + i


@failing("x", "idx")
def in_a_view(x, idx):
    r = x.reshape(4, -1)
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            r[i, j] = i
            r[i, idx[3 * i + j]] = 1.0


def put(r, k, v):
    r[k] = v


@failing("x", "idx")
def in_a_helper(x, idx):
    for i in range(len(x)):
        put(x, i, -1.0)
        put(x, idx[i], 1.0)


@failing("x", "idx")
def array_of_indices(x, idx):
    x[0] = 5.0
    x[idx] = 3.0


@failing("x", "idx", "y")
def gathered(x, idx, y):
    x[0] = 5.0
    x[:] = y[idx]


@failing("x")
def index_of_the_trace(x):
    x[0] = 5.0
    x[x.shape[0]] = 1.0


# -- raises of the function's own ----------------------------------------------------------------------


@failing("x", "v")
def raised(x, v):
    x[0] = -1.0
    if v > 2.0:
        raise ValueError(f"{x[0]} is too small")
    x[1] = 2.0


@failing("x", "v")
def asserted(x, v):
    x += 1.0
    assert v < 2.0


@failing("x", "v")
def raised_in_a_loop(x, v):
    for i in range(len(x)):
        x[i] = -1.0
        if i > 3 and v > 2.0:
            raise KeyError(i)


@failing("x", "v")
def raised_by_an_element(x, v):
    for i in range(len(x)):
        if x[i] > 3.0:
            raise ValueError("large")
        x[i] = -v


def checked(x, i, v):
    x[i] = v
    if v > 3.0:
        raise ArithmeticError(v)


@failing("x", "v")
def raised_in_a_helper(x, v):
    x[0] = 9.0
    checked(x, 2, v)


@failing("x", "v")
def raised_in_a_finally(x, v):
    try:
        x[0] = 9.0
        if v > 2.0:
            raise ValueError
    finally:
        x[1] = 7.0


@failing("d", "v")
def raised_behind_a_dict(d, v):
    d["w"] = d["w"] * 2.0
    d["n"] = v
    if v > 2.0:
        raise ValueError


@failing("items", "v", "y", "n")
def failed_behind_a_list(items, v, y, n):
    items.append(v)
    items[0][0] = 77.0
    y[n] = 3.0


# -- checks of NumPy -----------------------------------------------------------------------------------


@failing("a", "singular")
def singular_matrix(a, singular):
    a[0] = 5.0
    a[:] = np.linalg.inv(singular)


@failing("x", "singular")
def shapes(x, singular):
    x[0] = 5.0
    x[1:] = singular[0, :2]


@failing("x")
def types(x):
    x[0] = 5.0
    x[1] = "a" + 1


def outcome(function: Any, arguments: list[Any]) -> tuple[Exception, list[Any]]:
    """The error of a call, and the arguments behind it."""
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return caught.value, [np.asarray(leaf) for leaf in tj.tree_leaves(arguments)]


def compare(name: str, size: int, kind: Any) -> None:
    function, names = FAILING[name]
    jitted = tj.jit(function)
    for _ in range(2):
        arguments = arguments_of(names, size, np.asarray if kind is np.asarray else kind)
        expected, written = outcome(function, copy.deepcopy(arguments_of(names, size, np.asarray)))
        error, after = outcome(jitted, arguments)
        assert isinstance(error, type(expected)) or isinstance(expected, type(error))
        is_exact = len(after) == len(written) and all(map(np.array_equal, after, written))
        assert is_exact or (size == LARGE and "in its own order" in "".join(error.__notes__))


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("kind", [np.asarray, tj.tensor], ids=["array", "tensor"])
@pytest.mark.parametrize("name", FAILING)
def test_what_python_writes_before_an_error_is_written(name, kind, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    compare(name, SMALL, kind)


#: Steps that Python takes one by one here are few.
@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("name", [name for name in FAILING if "inner" not in name and "view" not in name])
def test_large_arrays_are_written_or_the_error_says_so(name, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    compare(name, LARGE, np.asarray)


def test_a_call_with_effects_that_fails_says_what_is_not_written(capfd):
    def f(x, y, n):
        x[0] = 3.0
        tj.debug.print("{}", x[0])
        return y[n]

    x = np.zeros(3)
    with pytest.raises(IndexError) as caught:
        tj.jit(f)(x, np.zeros(3), 7)
    assert "x is as it was before the call" in "".join(caught.value.__notes__)
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert capfd.readouterr().out.count("3.0") == 1


def test_the_function_runs_again_only_where_it_has_written():
    calls = []

    def f(x, v):
        calls.append(1)
        if v > 2.0:
            raise ValueError
        x[0] = v

    jitted = tj.jit(f)
    x = np.zeros(3)
    jitted(x, 1.0)
    calls.clear()
    with pytest.raises(ValueError, match=r"^$"):
        jitted(x, 3.0)
    assert len(calls) == 1


def test_draws_before_an_error_are_those_of_one_call():
    def f(x, n):
        x[:] = tj.random.rand(3)
        return x[n]

    written = []
    for function in (f, tj.jit(f)):
        tj.random.seed(3)
        x = tj.zeros(3)
        with pytest.raises(IndexError):
            function(x, np.array(5))
        written.append((x.tolist(), tj.random.rand(1).item()))
    assert written[0] == written[1]
