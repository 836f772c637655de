"""Code that asks what its arguments are gets the answer that it gets without ``jit``."""

from __future__ import annotations

import collections.abc
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

ARGUMENTS: dict[str, Any] = {
    "float": 2.5,
    "int": 3,
    "bool": True,
    "complex": 1 + 2j,
    "array": np.arange(3.0),
    "matrix of integers": np.ones((2, 2), np.int32),
    "float64": np.float64(1.5),
    "float32": np.float32(1.5),
    "list": [1.0, 2.0],
    "tuple": (np.ones(2), 3.0),
}
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "ndarray": lambda x: isinstance(x, np.ndarray),
    "float": lambda x: isinstance(x, float),
    "int": lambda x: isinstance(x, int),
    "numbers": lambda x: isinstance(x, (int, float, complex)),
    "union": lambda x: isinstance(x, int | float),
    "nested": lambda x: isinstance(x, (list, (tuple, (bool,)))),
    "Number": lambda x: isinstance(x, numbers.Number),
    "Real": lambda x: isinstance(x, numbers.Real),
    "Integral": lambda x: isinstance(x, numbers.Integral),
    "generic": lambda x: isinstance(x, np.generic),
    "floating": lambda x: isinstance(x, np.floating),
    "integer": lambda x: isinstance(x, (int, np.integer)),
    "Iterable": lambda x: isinstance(x, collections.abc.Iterable),
    "Sized": lambda x: isinstance(x, collections.abc.Sized),
    "Sequence": lambda x: isinstance(x, collections.abc.Sequence),
    "str": lambda x: isinstance(x, str),
    "type is float": lambda x: type(x) is float,
    "type is int": lambda x: type(x) is int,
    "type is ndarray": lambda x: type(x) is np.ndarray,
    "type in": lambda x: type(x) in (int, float, list),
    "isscalar": lambda x: np.isscalar(x),
    "len": lambda x: hasattr(x, "__len__"),
    "shape": lambda x: hasattr(x, "shape"),
    "iter": lambda x: hasattr(x, "__iter__"),
    "T": lambda x: hasattr(x, "T"),
    "no such": lambda x: hasattr(x, "no_such_attribute"),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_those_of_python(question: str) -> None:
    asks = QUESTIONS[question]
    for name, argument in ARGUMENTS.items():
        f = tj.jit(lambda x: 1 if asks(x) else 0)
        expected = 1 if asks(argument) else 0
        assert [int(f(argument)) for _ in range(3)] == [expected] * 3, name


def test_computed_numbers_and_arrays_have_classes_too() -> None:
    @tj.jit
    def f(x: Any, n: Any) -> Any:
        kinds = [
            isinstance(2 * x, float),
            isinstance(n + 1, int),
            isinstance(n * x, float),
            isinstance(np.sin(np.ones(3)) * x, np.ndarray),
            isinstance(np.ones(3).sum() * x, np.ndarray),
        ]
        return sum(2**i * kind for i, kind in enumerate(kinds))

    assert int(f(0.5, 3)) == 0b01111


def test_tensors_are_tensors_when_they_are_asked_for() -> None:
    for classes in (tj.Tensor, (list, tj.Tensor), tj.Tensor | None, np.ndarray):
        f = tj.jit(lambda x, classes=classes: 1 if isinstance(x, classes) else 0, static_argnums=1)
        assert int(f(tj.ones(2), classes)) == 1
        assert int(f(np.ones(2), classes)) == 1


def test_helpers_methods_and_loops_ask_as_well() -> None:
    def as_vector(x: Any) -> Any:
        if np.isscalar(x) or not hasattr(x, "__len__"):
            x = np.array([x])
        return x

    class Model:
        def norm(self, x: Any) -> Any:
            return (as_vector(x) ** 2).sum() if isinstance(x, (float, np.ndarray)) else 0.0 * x

    def total(x: Any) -> Any:
        result = 0.0
        for _ in range(3):
            if isinstance(x, float):
                result = result + x
            else:
                result = result + x.sum()
        return result

    model = Model()
    for x in (2.0, np.array([1.0, 2.0])):
        f, g = tj.jit(lambda x: model.norm(x)), tj.jit(total)
        assert float(f(x)) == model.norm(x)
        assert float(g(x)) == total(x)
        assert np.allclose(tj.jit(tj.grad(lambda x: model.norm(x)))(x), 2 * np.asarray(x))


def test_an_array_that_a_choice_makes_can_be_written() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3) if isinstance(x, float) else np.zeros_like(x)
        for i in range(3):
            y[i] = x * i
        return y

    assert np.array_equal(tj.jit(f)(2.0), f(2.0))
