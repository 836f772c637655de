"""Classes that others replace, as when a notebook's cell runs again: calls follow what their names hold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def made(k: int) -> Any:
    """A class of which everything adds `k`."""

    class Meta(type):
        def of_meta(cls, x: Any) -> Any:
            return x + k

    class Base:
        K = k

        @staticmethod
        def static(x: Any) -> Any:
            return x + k

        @classmethod
        def of_class(cls, x: Any) -> Any:
            return x + k

        def plain(x: Any) -> Any:
            return x + k

        class Nested:
            @staticmethod
            def static(x: Any) -> Any:
                return x + k

    class Made(Base, metaclass=Meta):
        def __init__(self, x: Any = 0) -> None:
            self.value = x + k

        def method(self) -> Any:
            return self.value

        def __call__(self, x: Any) -> Any:
            return x + k

    return Made


Named: Any = made(1)
LIST, DICT, BOX = [Named], {"a": Named}, SimpleNamespace(cls=Named)
OBJECT = Named()


def in_closure() -> tuple[Callable[[Any], Any], Callable[[Any], None]]:
    held = Named

    def read(x: Any) -> Any:
        return held.static(x)

    def put(cls: Any) -> None:
        nonlocal held
        held = cls

    return read, put


READ, PUT = in_closure()
MODULE: Any = ModuleType("a_module_of_classes")
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "static method": lambda x: Named.static(x),
    "class method": lambda x: Named.of_class(x),
    "plain function": lambda x: Named.plain(x),
    "method of a metaclass": lambda x: Named.of_meta(x),
    "attribute": lambda x: x + Named.K,
    "nested class": lambda x: Named.Nested.static(x),
    "new object": lambda x: Named(x).method(),
    "its attribute": lambda x: Named(x).value,
    "its call": lambda x: Named()(x),
    "method by the class": lambda x: Named.method(Named(x)),
    "item": lambda x: LIST[0].static(x),
    "value": lambda x: DICT["a"].of_class(x),
    "module": lambda x: MODULE.Named.static(x),
    "object": lambda x: BOX.cls.plain(x),
    "closure": READ,
    "isinstance": lambda x: x + isinstance(OBJECT, Named),
    "issubclass": lambda x: x + issubclass(type(OBJECT), Named),
    "identity": lambda x: x + (type(OBJECT) is Named),
    "getattr": lambda x: getattr(Named, "static")(x),  # noqa: B009
    "argument of map": lambda x: next(iter(map(Named.static, [x]))),
}


def replace(cls: Any) -> None:
    global Named
    Named = LIST[0] = DICT["a"] = MODULE.Named = BOX.cls = cls
    PUT(cls)


@pytest.mark.parametrize("transform", ["", "vmap", "grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_follow_the_class_that_a_name_holds(
    name: str, transform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, MODULE.__name__, MODULE)
    before = Named
    program: Callable[[Any], Any] = PROGRAMS[name]
    f: Any = program
    if transform == "vmap":
        f = tj.vmap(program)
    elif transform == "grad":
        f = tj.grad(lambda x: (program(x) ** 2).sum())
    jitted, x = tj.jit(f), np.arange(3.0)
    try:
        for k in (1, 2, 5, 2):
            replace(made(k))
            want = program(x) if transform != "grad" else 2 * program(x)
            np.testing.assert_array_equal(np.asarray(jitted(x)), want)
    finally:
        replace(before)
