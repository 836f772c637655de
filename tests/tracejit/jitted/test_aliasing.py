"""Objects that a call reaches by two names: results, and objects afterwards, are those of Python."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ...rotation import SEED
from .aliased_programs import check


def appends(items: Any, others: Any) -> Any:
    items.append(items[0] + 1.0)
    return [other * 2.0 for other in others]


def rebinds(first: Any, second: Any) -> Any:
    first["a"] = first["a"] + 1.0
    return second["a"] * 2.0


def appends_within(pair: Any, items: Any) -> Any:
    pair[0].append(pair[0][0] * 2.0)
    return items[-1] * 1.0


def writes(a: Any, b: Any) -> Any:
    a[0] = 100.0
    return b * 2.0


def writes_by_steps(out: Any, x: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i] + out[i] * 0.5


def writes_a_leaf(items: Any, others: Any) -> Any:
    items[0] *= 3.0
    return others[0] + 1.0


def asks(items: Any, others: Any) -> Any:
    return items[0] * (2.0 if items is others else 3.0)


def asks_for_the_id(a: Any, b: Any) -> Any:
    return a * (2.0 if id(a) == id(b) else 3.0)


@dataclasses.dataclass
class State:
    w: Any
    step: Any


def assigns(state: Any, other: Any) -> Any:
    state.w = state.w * 2.0
    return other.w + other.step


def x(k: float = 0.0) -> Any:
    return np.arange(4.0) + k


#: A function; arguments that are one object or share memory; and arguments of the same types that do not.
CASES: dict[str, tuple[Callable[..., Any], Callable[[], Any], Callable[[], Any]]] = {
    "list": (appends, lambda: twice([x(), x(1)]), lambda: ([x(), x(1)], [x(2), x(3)])),
    "dict": (rebinds, lambda: twice({"a": x()}), lambda: ({"a": x()}, {"a": x(1)})),
    "list in a tuple": (
        appends_within,
        lambda: (lambda items: ((items,), items))([x()]),
        lambda: (([x()],), [x(1)]),
    ),
    "array": (writes, lambda: twice(x()), lambda: (x(), x(1))),
    "tensor": (writes, lambda: twice(tj.tensor(x())), lambda: (tj.tensor(x()), tj.tensor(x(1)))),
    "a tensor and its view": (
        writes,
        lambda: (lambda t: (t, t[:]))(tj.tensor(x())),
        lambda: (tj.tensor(x()), tj.tensor(x(1))),
    ),
    "views": (writes, lambda: overlapping(x()), lambda: (x()[:3], x(1)[1:])),
    "views of a matrix": (
        writes,
        lambda: (lambda m: (m[0], m[:, 0]))(np.ones((4, 4))),
        lambda: (np.ones((4, 4))[0], np.ones((4, 4))[:, 0]),
    ),
    "views, by steps": (writes_by_steps, lambda: overlapping(np.arange(99.0)), lambda: (x(), x(1))),
    "a leaf of two lists": (
        writes_a_leaf,
        lambda: (lambda a: ([a], [a]))(x()),
        lambda: ([x()], [x(1)]),
    ),
    "which list": (asks, lambda: twice([x()]), lambda: ([x()], [x()])),
    "which array": (asks_for_the_id, lambda: twice(x()), lambda: (x(), x())),
    "instance of a dataclass": (
        assigns,
        lambda: twice(State(x(), 1.0)),
        lambda: (State(x(), 1.0), State(x(1), 2.0)),
    ),
}  # fmt: skip


def twice(value: Any) -> Any:
    return value, value


def overlapping(array: Any) -> Any:
    return array[:-1], array[1:]


def arrays(tree: Any) -> list[Any]:
    return [np.array(leaf) for leaf in tj.tree_leaves(tree)]


def agrees(function: Any, jitted: Any, make: Callable[[], Any], *, told: bool) -> None:
    """Assert that a call does what Python does, and that it tells of itself where it runs as Python."""
    mine, compiled = make(), make()
    expected = function(*mine)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = jitted(*compiled)
    assert [warning.category for warning in seen] == [tj.UncompiledCallWarning] * told
    for got, want in zip(arrays((result, compiled)), arrays((expected, mine)), strict=True):
        np.testing.assert_array_equal(got, want)
    assert all(isinstance(leaf, tj.Tensor) for leaf in tj.tree_leaves(result))


@pytest.mark.parametrize("name", CASES)
def test_arguments(name: str) -> None:
    function, shared, apart = CASES[name]
    jitted = tj.jit(function)  # the same object first
    for make, told in ((shared, True), (apart, False), (shared, False), (apart, False)):
        agrees(function, jitted, make, told=told)
    jitted = tj.jit(function)  # other objects first
    for make, told in ((apart, False), (apart, False), (shared, True), (apart, False), (shared, False)):
        agrees(function, jitted, make, told=told)
    (signature, *_) = jitted.explain().signatures
    assert not signature.earlier, "nothing was compiled again"


def test_which_the_warning_names() -> None:
    with pytest.warns(
        tj.UncompiledCallWarning, match=r"writes: argument a is .*, and b shares memory"
    ) as told:
        tj.jit(writes)(*twice(x()))
    assert told[0].filename == __file__
    with pytest.warns(tj.UncompiledCallWarning, match=r"appends: items is changed, and is another argument"):
        tj.jit(appends)(*twice([x()]))
    with pytest.raises(tj.TracejitError, match="out is written in place, and x shares memory"):
        tj.jit(writes_by_steps, loops="compiled")(*overlapping(x()))


def test_nothing_is_asked_where_nothing_is_written() -> None:
    product = tj.jit(lambda a, b: a * b)
    for args in (twice(x()), (x(), x(1)), overlapping(x()), twice(tj.tensor(x()))):
        np.testing.assert_array_equal(product(*args), np.asarray(args[0]) * np.asarray(args[1]))
    assert len(product.explain().signatures) == 2
    assert type(product.__call__).__name__ != "function", "calls begin at the native entry"


def test_random_numbers_are_drawn_once() -> None:
    def draws(a: Any, b: Any) -> Any:
        a += tj.random.rand(4)
        return b * 1.0

    jitted, results = tj.jit(draws), []
    for run in (draws, jitted, jitted):
        tj.random.seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.UncompiledCallWarning)
            results += [np.array(run(*twice(x()))), tj.random.rand(1).item()]
    for result in (*results[2::2], *results[3::2]):
        np.testing.assert_allclose(result, results[0] if np.ndim(result) else results[1])


# -- what the function finds outside -------------------------------------------------------------------

CAPTURED = np.arange(4.0)
ITEMS = [np.arange(4.0)]
TABLE = {"a": np.arange(4.0)}


def reads_an_array(a: Any) -> Any:
    a[0] = 100.0
    return CAPTURED * 2.0


def reads_an_array_with_tensors(a: Any) -> Any:
    a[0] = 100.0
    return CAPTURED * a.sum()


def reads_a_list(items: Any) -> Any:
    items.append(items[0] + 1.0)
    return ITEMS[-1] * 2.0 + len(ITEMS)


def reads_a_dict(table: Any) -> Any:
    table["b"] = table["a"] + 1.0
    return TABLE["a"] + sum(key == "b" for key in TABLE)


def writes_an_array(a: Any) -> Any:
    CAPTURED[0] = 100.0
    return a * 2.0


def writes_a_list(items: Any) -> Any:
    ITEMS[0] = ITEMS[0] + 1.0
    return items[0] * 2.0


def writes_a_leaf_of_a_list(items: Any) -> Any:
    items[0][0] = 7.0
    return CAPTURED * 1.0


def asks_whether_it_is_outside(items: Any) -> Any:
    return items[0] * (2.0 if items is ITEMS else 3.0)


#: A function; arguments that are found outside; arguments of the same types that are not.
OUTSIDE: dict[str, tuple[Callable[..., Any], Callable[[], Any], Callable[[], Any]]] = {
    "array": (reads_an_array, lambda: (CAPTURED,), lambda: (x(1),)),
    "view": (reads_an_array, lambda: (CAPTURED[:2],), lambda: (x(1)[:2],)),
    "array that is an input": (reads_an_array_with_tensors, lambda: (CAPTURED,), lambda: (x(1),)),
    "tensor of the array": (reads_an_array, lambda: (tj.asarray(CAPTURED),), lambda: (tj.tensor(x(1)),)),
    "list": (reads_a_list, lambda: (ITEMS,), lambda: ([x(1)],)),
    "dict": (reads_a_dict, lambda: (TABLE,), lambda: ({"a": x(1)},)),
    "leaf of a list": (writes_a_leaf_of_a_list, lambda: ([CAPTURED],), lambda: ([x(1)],)),
    "list that is written": (writes_a_list, lambda: (ITEMS,), lambda: ([x(1)],)),
    "which list": (asks_whether_it_is_outside, lambda: (ITEMS,), lambda: ([x()],)),
}


def renewed(make: Callable[[], Any]) -> Callable[[], Any]:
    """`make` after the objects outside have become what they were."""

    def made() -> Any:
        CAPTURED[:] = np.arange(4.0)
        ITEMS[:] = [np.arange(4.0)]
        TABLE.clear()
        TABLE["a"] = np.arange(4.0)
        return make()

    return made


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside(name: str) -> None:
    function, shared, apart = OUTSIDE[name]
    for order in ((shared, apart, shared), (apart, apart, shared, apart, shared)):
        jitted, told = tj.jit(function), False
        for make in order:
            own = renewed(make)
            expected, objects = outcome(function, own)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                result, after = outcome(jitted, own)
            uncompiled = [each for each in seen if each.category is tj.UncompiledCallWarning]
            assert len(uncompiled) == (make is shared and not told)
            told |= make is shared
            np.testing.assert_array_equal(result, expected)
            if make is shared:  # else what it writes outside, it writes while it is traced
                for got, want in zip(after, objects, strict=True):
                    np.testing.assert_array_equal(got, want)


def outcome(function: Any, make: Callable[[], Any]) -> tuple[Any, list[Any]]:
    """The result of a call, and what its arguments and the objects outside are after it."""
    args = make()
    result = np.array(function(*args))
    return result, arrays((args, CAPTURED, ITEMS, TABLE))


# -- random programs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_new_random_programs() -> None:
    first = 1000 * SEED
    print("random programs from seed", first)
    for seed in range(first, first + 1500):
        check(seed)


def test_random_programs_have_shared_objects() -> None:
    assert sum(check(seed) for seed in range(40)) > 10
