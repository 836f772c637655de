"""Attributes of functions that jitted functions, and those of transforms, have, and those that they lack."""

from __future__ import annotations

import doctest
import functools
import inspect
import pickle
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def scaled(x: Any, factor: float = 2.0, *, shift: float = 1.0) -> Any:
    """A function of this module.

    >>> 1 + 1
    2
    """
    return (x * factor + shift).sum()


def many(*args: Any) -> Any:
    return sum(args)


class Scale:
    """A class with a method."""

    @tj.jit
    def jitted(self, r: Any, power: int = 2) -> Any:
        return r**power

    def plain(self, r: Any, power: int = 2) -> Any:
        return r**power


async def later(x: Any) -> Any:
    return x


MAKERS: dict[str, Callable[[Any], Any]] = {
    "jit": tj.jit, "grad": tj.grad, "jit of grad": lambda f: tj.jit(tj.grad(f)), "vmap": tj.vmap,
    "jit of jit": lambda f: tj.jit(tj.jit(f)),
}  # fmt: skip
jitted_here = tj.jit(scaled)


@pytest.mark.parametrize("name", MAKERS)
def test_code_and_defaults_are_those_of_the_function(name: str) -> None:
    made = MAKERS[name](scaled)
    assert made.__code__ is scaled.__code__
    assert made.__defaults__ is scaled.__defaults__
    for attribute in ("__code__", "__defaults__"):
        with pytest.raises(AttributeError):
            setattr(made, attribute, None)


@pytest.mark.parametrize("function", [np.sin, functools.partial(scaled, factor=3.0)])
def test_what_a_callable_does_not_have_is_missing(function: Any) -> None:
    made = tj.jit(function)
    assert not any(hasattr(made, name) for name in ("__code__", "__defaults__", "im_func"))


@pytest.mark.parametrize("name", MAKERS)
def test_jitted_functions_are_no_plain_ones(name: str) -> None:
    make = MAKERS[name]
    made = make(scaled)
    assert not isinstance(made, types.FunctionType)
    assert not inspect.isfunction(made)
    assert not inspect.iscoroutinefunction(make(later))
    assert inspect.signature(made) == inspect.signature(scaled)
    assert inspect.unwrap(made) is scaled
    assert len(doctest.DocTestFinder(recurse=False).find(made, "made")[0].examples) == 1


def test_pickles_name_the_function() -> None:
    assert pickle.loads(pickle.dumps(jitted_here)) is jitted_here


def test_a_jitted_function_that_takes_any_keywords_keeps_their_order_in_another() -> None:
    def ordered(**parts: Any) -> Any:
        return sum(value * (place + 1) for place, value in enumerate(parts.values()))

    for jitted in (tj.jit(ordered), tj.jit(tj.jit(ordered))):
        assert float(jitted(b=1.0, a=2.0)) == ordered(b=1.0, a=2.0)


def test_a_bound_jitted_method_is_not_bound_again() -> None:
    class Other:
        method = Scale().jitted

    assert float(Other().method(3.0)) == 9.0


def parameters_of_f2py(function: Any) -> tuple[int, int]:
    """The number of parameters that f2py finds, and of those with a default: ``create_cb_arglist``."""
    if isinstance(function, types.FunctionType):
        return function.__code__.co_argcount, len(function.__defaults__ or ())
    counted = getattr(function, "im_func", function)
    return counted.__code__.co_argcount - 1, len(counted.__defaults__ or ())


def test_f2py_counts_the_parameters_of_the_function() -> None:
    for function in (scaled, lambda x, y: x, lambda: 1.0):
        assert parameters_of_f2py(tj.jit(function)) == parameters_of_f2py(function)
        assert parameters_of_f2py(tj.grad(function)) == parameters_of_f2py(function)
    assert parameters_of_f2py(Scale().jitted) == parameters_of_f2py(Scale().plain) == (2, 1)
    count, optional = parameters_of_f2py(tj.jit(many))
    assert count == optional > 20  # as many as there are


@pytest.mark.parametrize(
    "sort", [lambda x: x > 0, lambda x, y=0.0: x > 0, lambda x, y: x > 0, lambda *x: x[0] > 0]
)
def test_f2py_hands_over_the_arguments_that_a_jitted_function_takes(sort: Any) -> None:
    linalg = pytest.importorskip("scipy.linalg")
    matrix = np.random.default_rng(3).normal(size=(4, 4))
    expected = linalg.schur(matrix, sort=lambda x, y: x > 0)
    for result, part in zip(linalg.schur(matrix, sort=tj.jit(sort)), expected, strict=True):
        np.testing.assert_allclose(result, part)
