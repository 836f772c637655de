"""Results of jitted calls that run as Python: tensors of the types and with the memory of compiled calls'."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.jitted.aliasing import arrays_in
from tracejit.jitted.function import JitFunction

pytestmark = pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
CAPTURED = np.arange(4.0)
OUTER = tj.arange(4.0)


def x(k: float = 0.0) -> Any:
    return np.arange(4.0) + k


def twice(value: Any) -> Any:
    return value, value


def overlapping(value: Any) -> Any:
    return value[:-1], value[1:]


def arrays(tree: Any) -> list[Any]:
    return [np.array(leaf) for leaf in tj.tree_leaves(tree)]


#: Results of a function of `a` and `b`, which writes `a`.
RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "an argument": lambda a, b: b,
    "the argument that is written": lambda a, b: a,
    "a view": lambda a, b: b[1:],
    "a view in another order": lambda a, b: b[::-1],
    "twice an argument": lambda a, b: [b, b],
    "both": lambda a, b: {"a": a, "b": b},
    "a new tensor twice": lambda a, b: (lambda c: (c, c))(b * 2.0),
    "a new tensor and its view": lambda a, b: (lambda c: (c, c[1:]))(b * 2.0),
    "what is outside": lambda a, b: (OUTER, CAPTURED),
    "numbers": lambda a, b: (1.5, 2, True, 2j, np.float32(0.5)),
    "an array of another byte order": lambda a, b: np.ones(2, ">f4"),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize(
    "make", [lambda: twice(tj.tensor(x())), lambda: (lambda a: (a[:-1], a[1:]))(tj.tensor(x()))]
)
def test_results_have_memory_of_their_own(name: str, make: Callable[[], Any]) -> None:
    """Results of a call as Python are those of a compiled call: separate, and of the same types."""

    def function(a: Any, b: Any) -> Any:
        a[0] = 100.0
        return RESULTS[name](a, b)

    jitted, types = tj.jit(function), []
    for own in (make, lambda: [tj.tensor(np.array(each)) for each in make()]):
        args = own()
        results = tj.tree_leaves(jitted(*args))
        types.append([(result.dtype, result.shape, result.strides, result.is_leaf) for result in results])
        objects = [*results, *args, OUTER, CAPTURED]
        for index, result in enumerate(results):
            others = [each for position, each in enumerate(objects) if position != index]
            before = arrays(others)
            result[...] = 77
            for got, want in zip(arrays(others), before, strict=True):
                np.testing.assert_array_equal(got, want)
    assert types[0] == types[1]


def test_gradients_flow_through_results_that_are_arguments() -> None:
    jitted = tj.jit(lambda a, b: (a * (2.0 if a is b else 3.0), a, a[1:]))
    for factor, others in ((2.0, twice), (3.0, lambda a: (a, tj.tensor(x())))):
        a = tj.tensor(x(), requires_grad=True)
        scaled, same, part = jitted(*others(a))
        assert same is not a
        assert not same.is_leaf
        (scaled.sum() + 10.0 * same.sum() + 100.0 * part.sum()).backward()
        np.testing.assert_array_equal(a.grad, factor + 10.0 + 100.0 * (np.arange(4) > 0))
        with tj.no_grad():
            assert not any(result.requires_grad for result in jitted(*others(a)))


#: Functions of two dicts, of which they change the first: how many of the results are in it afterwards.
PUT: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "a new tensor": (1, lambda d, e: (put(d, e["a"] + 1.0),)),
    "a part of a new tensor": (1, lambda d, e: (put(d, (e["a"] + 1.0)[1:]),)),
    "a new tensor and its view": (1, lambda d, e: (put(d, e["a"] + 1.0), d["a"][1:])),
    "a new tensor twice": (1, lambda d, e: (put(d, e["a"] + 1.0), d["a"])),
    "an argument": (0, lambda d, e: (put(d, e["b"]),)),
    "an argument's view": (0, lambda d, e: (put(d, e["b"])[1:],)),
}


def put(table: Any, value: Any) -> Any:
    table["a"] = value
    return value


@pytest.mark.parametrize("name", PUT)
def test_new_tensors_in_containers_are_those_that_are_returned(name: str) -> None:
    count, function = PUT[name]
    jitted = tj.jit(function)
    for same in (True, False):
        d = {"a": tj.tensor(x()), "b": tj.tensor(x(1))}
        e = d if same else {"a": tj.tensor(x()), "b": tj.tensor(x(1))}
        given = e["b"]
        results = jitted(d, e)
        assert sum(result is d["a"] for result in results) == count
        for result in results:
            result[...] = 77.0
        np.testing.assert_array_equal(given, x(1))
        assert count or (d["a"].numpy() != 77.0).all()


def test_a_tensor_from_outside_is_put_into_a_container() -> None:
    table = {"a": tj.tensor(x())}
    result = tj.jit(lambda d: put(d, OUTER) * 2.0)(table)
    np.testing.assert_array_equal(table["a"], OUTER)
    np.testing.assert_array_equal(result, OUTER.numpy() * 2.0)


def test_containers_that_contain_themselves() -> None:
    items: list[Any] = [tj.zeros(2)]
    items.append(({"items": items, "b": np.ones(2)}, items[0]))
    assert {id(value) for value in arrays_in(items)} == {id(items[0]), id(items[1][0]["b"])}


def test_results_of_a_call_that_fits_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = tj.jit(lambda a: a if a.sum() > 0 else -a)
    a = tj.tensor(x())
    jitted(a)
    jitted(-a)
    plain = lambda self, call, leaf, captured: self._as_python(call)  # noqa: E731
    monkeypatch.setattr(JitFunction, "_by_values", plain)
    result = jitted(tj.tensor(x(), dtype="float64"))
    np.testing.assert_array_equal(result, x())
    for args in (a, x()):
        result = jitted(args)
        assert isinstance(result, tj.Tensor)
        result[...] = 77.0
        np.testing.assert_array_equal(args, x())


def is_true(x, flag):
    return x if flag is True else -x


def is_no_comparison(x, n):
    return x if (n > 3) is not False else -x


def matches_a_class(x, n):
    match n:
        case bool():
            return x + 1
        case int():
            return x + 2
        case float():
            return x + 3
        case np.ndarray():
            return x + 4
    return x


def matches_a_truth(x, n):
    match n > 3:
        case True:
            return x
    return -x


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (is_true, (True, False, 1)),
        (is_no_comparison, (2, 5)),
        (matches_a_class, (True, 2, 2.0, np.ones(2), "a")),
        (matches_a_truth, (2, 5)),
    ],
)
def test_what_only_a_value_tells(function, values):
    """Whether a number is True, or what class a pattern finds, a traced value does not tell."""
    for value in values:
        jitted, x = tj.jit(function), np.array([1.0, -2.0])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(jitted(x, value), function(x, value))
        text = " ".join(str(warning.message) for warning in caught)
        assert isinstance(value, str) or "asks whether a traced value" in text


def test_arrays_are_no_truth_values():
    jitted = tj.jit(lambda x: x if x.any() is True else -x)
    np.testing.assert_array_equal(jitted(np.ones(2)), [-1, -1])
