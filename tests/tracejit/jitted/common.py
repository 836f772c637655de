"""Helpers that the tests of ``tj.jit`` share."""

from __future__ import annotations

import collections
import dataclasses
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.runtime.bypass import bypass_native_entries

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any = None


class Counted:
    """A function that counts how often Python runs it: once per trace."""

    def __init__(self, function: Any) -> None:
        self.runs = 0
        self.__wrapped__ = function
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def same(result: Any, values: Any, dtype: str = "float64") -> None:
    assert isinstance(result, tj.Tensor)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.numpy(), np.asarray(values, dtype))
    assert result.shape == np.shape(values)


def leaf(values: Any) -> tj.Tensor:
    return tj.tensor(np.array(values, float), requires_grad=True)


def constant(values: Any) -> tj.Tensor:
    return tj.tensor(np.array(values, float))


@contextmanager
def entries_switched_off() -> Iterator[None]:
    """Let calls go through Python, which traces and compiles as ever."""
    bypass_native_entries(+1)
    try:
        yield
    finally:
        bypass_native_entries(-1)


def python_calls(function: Callable[[], Any]) -> list[str]:
    """The names of the Python functions that run below `function`."""
    names: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            names.append(frame.f_code.co_qualname)

    earlier = sys.getprofile()
    collects = gc.isenabled()
    gc.disable()  # finalizers would count
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(earlier)
        if collects:
            gc.enable()
    return names[1:]
