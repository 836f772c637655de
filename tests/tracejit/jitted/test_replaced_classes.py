"""Classes that others replace, as when a notebook's cell runs again: calls follow what their names hold."""

from __future__ import annotations

import dataclasses
import sys
import types
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


def by_new_class(k: int) -> Any:
    """A class that `types.new_class` makes, which has that module."""
    cls = made(k)
    own = {
        name: raw for name, raw in vars(cls).items() if name not in ("__dict__", "__weakref__", "__module__")
    }
    new = types.new_class("Made", cls.__bases__, {"metaclass": type(cls)}, lambda names: names.update(own))
    assert new.__module__ == "types" or sys.version_info >= (3, 12)
    return new


def by_make_dataclass(k: int) -> Any:
    """A data class with generated methods, of which ``value`` is a field."""
    cls = made(k)
    own = {name: vars(cls)[name] for name in ("method", "__call__")}
    own["__post_init__"] = lambda self: setattr(self, "value", self.value + k)
    fields = [("value", Any, dataclasses.field(default=0))]
    return dataclasses.make_dataclass("Made", fields, bases=(added_meta(cls),), namespace=own)


def added_meta(cls: Any) -> Any:
    """The base of `cls` with its metaclass."""
    return type(cls)("Base", cls.__bases__, {})


def by_exec(k: int) -> Any:
    """A class from a text, in a namespace without ``__name__``."""
    names: dict[str, Any] = {"k": k, "Base": made(k).__bases__[0], "Meta": type(made(k))}
    exec(
        "class Made(Base, metaclass=Meta):\n"
        "    def __init__(self, x=0): self.value = x + k\n"
        "    def method(self): return self.value\n"
        "    def __call__(self, x): return x + k\n",
        names,
    )
    return names["Made"]


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


@pytest.mark.parametrize("maker", [by_new_class, by_make_dataclass, by_exec])
@pytest.mark.parametrize("name", PROGRAMS)
def test_classes_that_functions_make(
    name: str, maker: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, MODULE.__name__, MODULE)
    before, program, x = Named, PROGRAMS[name], np.arange(3.0)
    jitted = tj.jit(program)
    try:
        for k in (1, 2, 5, 2):
            replace(maker(k))
            for _ in range(2):
                np.testing.assert_array_equal(np.asarray(jitted(x)), program(x))
    finally:
        replace(before)
