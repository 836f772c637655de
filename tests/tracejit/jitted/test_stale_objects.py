"""Objects, classes and code by which a jitted function comes to what it reads: no change of it is missed.

A case gives a function and changes of what that reads; after each the jitted function gives what it gives.
"""

from __future__ import annotations

import array
import collections
import dataclasses
import enum
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

Case = tuple[Callable[[Any], Any], list[Callable[[], Any]]]
X = np.array([1.0, 2.0, 3.0])
SETTINGS = {"k": 2.0}
CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


def names(**values: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(**values)


def set_k(value: float) -> Callable[[], None]:
    return lambda: SETTINGS.__setitem__("k", value)


# -- which object, which class ------------------------------------------------------------------------


@case
def members_of_enums() -> Case:
    mode = enum.Enum("mode", "A B")
    state = names(mode=mode.A)
    table = {mode.A: 2.0, mode.B: 3.0}

    def function(x: Any) -> Any:
        chosen = {mode.A: 5.0, mode.B: 7.0}[state.mode]
        return x * chosen + table[state.mode] + (1.0 if state.mode is mode.A else 2.0)

    return function, [lambda: setattr(state, "mode", mode.B), lambda: table.__setitem__(mode.B, 9.0)]


@case
def objects_without_attributes() -> Case:
    a, b = object(), object()
    state, seen = names(v=a), [a]
    table = {id(a): 2.0, id(b): 3.0}

    def function(x: Any) -> Any:
        return x * (2.0 if state.v == a else 3.0) + table[id(state.v)] + (state.v in seen)

    return function, [lambda: setattr(state, "v", b), lambda: seen.append(b)]


@case
def objects_that_are_alike() -> Case:
    a, b = names(k=1.0), names(k=1.0)
    state = names(v=a, f=len, w=X)
    other = X.copy()

    def function(x: Any) -> Any:
        return x * (state.v is a) + (state.f is len) + (state.w is other)

    changes = [("v", b), ("v", a), ("f", abs), ("w", other)]
    return function, [lambda change=change: setattr(state, *change) for change in changes]


@case
def objects_as_keys() -> Case:
    class Key:
        n = 1

    a, b = Key(), Key()
    table, state = {a: 2.0, b: 3.0}, names(v=a)
    return lambda x: x * table[state.v], [lambda: setattr(state, "v", b)]


@case
def types_of_numbers() -> Case:
    state = names(v=1)
    return lambda x: x * (2.0 if type(state.v) is int else 5.0), [lambda: setattr(state, "v", 1.0)]


# -- match --------------------------------------------------------------------------------------------


@case
def matched_mappings() -> Case:
    state = names(settings={"kind": "a", "v": 2.0})

    def function(x: Any) -> Any:
        match state.settings:
            case {"kind": "a", "v": v}:
                return x * v
            case {"kind": "b", **rest}:
                return x + rest["v"]
        return x

    pairs = [("v", 3.0), ("kind", "b"), ("kind", "c")]
    return function, [lambda pair=pair: state.settings.__setitem__(*pair) for pair in pairs]


@case
def matched_sequences() -> Case:
    state: Any = names(v=[1, 2.0])

    def function(x: Any) -> Any:
        match state.v:
            case [1, k]:
                return x * k
            case [1, k, *rest]:
                return x * k + sum(rest)
            case [a, *_]:
                return x - a
        return x

    return function, [lambda: state.v.append(7.0), lambda: state.v.__setitem__(0, 2), lambda: state.v.clear()]


# -- classes ------------------------------------------------------------------------------------------


@case
def properties() -> Case:
    class Base:
        k = 2.0

        @property
        def value(self) -> float:
            return self.k * 2

    class Derived(Base):
        @property
        def value(self) -> float:
            return super().value + 1

    base, derived = Base(), Derived()
    return lambda x: x * base.value + derived.value, [
        lambda: setattr(Base, "k", 3.0),
        lambda: setattr(Base, "value", property(lambda self: 100.0)),
        lambda: setattr(Derived, "value", property(lambda self: 50.0)),
    ]


@case
def cached_properties() -> Case:
    class Model:
        k = 2.0

        @functools.cached_property
        def value(self) -> float:
            return self.k * 2

    model = Model()
    return lambda x: x * model.value, [
        lambda: (setattr(model, "k", 9.0), vars(model).pop("value")),
        lambda: vars(model).__setitem__("value", 1.5),
    ]


@case
def attributes_of_metaclasses() -> Case:
    class Meta(type):
        k = 2.0

    class Model(metaclass=Meta):
        pass

    return lambda x: x * Model.k, [lambda: setattr(Meta, "k", 4.0), lambda: setattr(Model, "k", 5.0)]


@case
def descriptors() -> Case:
    class Setting:
        def __get__(self, instance: Any, owner: type) -> Any:
            return SETTINGS["k"] + owner.extra  # type: ignore[attr-defined]

    class Model:
        value = Setting()
        extra = 1.0

    model = Model()
    return lambda x: x * model.value + Model.value, [set_k(5.0), lambda: setattr(Model, "extra", 3.0)]


@case
def partial_methods() -> Case:
    class Model:
        k = 1.0

        def scaled(self, x: Any, factor: float) -> Any:
            return x * factor * self.k

        doubled = functools.partialmethod(scaled, factor=2.0)

    model = Model()
    return lambda x: model.doubled(x), [lambda: setattr(Model, "k", 3.0)]


# -- objects that the function makes -------------------------------------------------------------------


class Layer:
    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return x * self.k * SETTINGS["k"]

    def __mul__(self, x: Any) -> Any:
        return x * SETTINGS["k"]

    def __len__(self) -> int:
        return int(SETTINGS["k"])

    def __getitem__(self, i: int) -> float:
        return SETTINGS["k"] * i

    def __iter__(self) -> Any:
        yield SETTINGS["k"]

    def method(self, x: Any) -> Any:
        return self.helper(x) + self.k

    def helper(self, x: Any) -> Any:
        return x * SETTINGS["k"]

    @property
    def value(self) -> float:
        return SETTINGS["k"]

    @classmethod
    def of_class(cls) -> float:
        return SETTINGS["k"]

    @staticmethod
    def of_static() -> float:
        return SETTINGS["k"]


USES: dict[str, Callable[[Any], Any]] = {
    "call": lambda x: Layer(3.0)(x),
    "method": lambda x: Layer(3.0).method(x),
    "operator": lambda x: Layer(3.0) * x,
    "length": lambda x: x * len(Layer(3.0)),
    "item": lambda x: x * Layer(3.0)[2],
    "iteration": lambda x: x * sum(Layer(3.0)),
    "property": lambda x: x * Layer(3.0).value,
    "class method": lambda x: x * Layer(3.0).of_class(),
    "static method": lambda x: x * Layer(3.0).of_static(),
    "in a list": lambda x: [layer.method(x) for layer in [Layer(1.0), Layer(2.0)]][1],
    "of a class that is replaced": lambda x: Layer(3.0).helper(x),
}


@pytest.mark.parametrize("name", USES)
def test_objects_that_the_function_makes(name: str) -> None:
    SETTINGS["k"] = 2.0
    function, jitted = USES[name], tj.jit(USES[name])
    for k in (2.0, 5.0):
        SETTINGS["k"] = k
        np.testing.assert_allclose(np.asarray(jitted(X)), np.asarray(function(X)), rtol=1e-14)


def test_a_captured_object_beside_another_of_its_class() -> None:
    SETTINGS["k"], kept = 2.0, Layer(1.0)

    def function(x: Any) -> Any:
        other = max([Layer(3.0)], key=lambda layer: layer.k)
        return other.helper(x) + sorted([kept], key=str).index(kept)

    jitted = tj.jit(function)
    for k in (2.0, 5.0):
        SETTINGS["k"] = k
        np.testing.assert_allclose(np.asarray(jitted(X)), np.asarray(function(X)), rtol=1e-14)


def test_a_method_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = tj.jit(lambda x: Layer(3.0).helper(x))
    jitted(X)
    monkeypatch.setattr(Layer, "helper", lambda self, x: x - 1)
    assert jitted(X).tolist() == (X - 1).tolist()


@case
def data_classes() -> Case:
    @dataclasses.dataclass
    class Data:
        a: Any

        def scaled(self) -> Any:
            return self.a * SETTINGS["k"]

    return lambda x: Data(x).scaled(), [set_k(4.0)]


@case
def operators_of_captured_objects() -> Case:
    class Vector:
        def __init__(self) -> None:
            self.k = 1.0

        def __rmul__(self, x: Any) -> Any:
            return x * self.k * SETTINGS["k"]

        def __lt__(self, other: Any) -> bool:
            return SETTINGS["k"] > 3

    first, second = Vector(), Vector()

    def function(x: Any) -> Any:
        return x * (2.0 * first) + sorted([first, second]).index(first)

    return function, [set_k(4.0), lambda: setattr(first, "k", 5.0)]


# -- containers ---------------------------------------------------------------------------------------


@case
def attributes_as_mappings() -> Case:
    state = names(a=1.0, b=2.0)
    proxy = types.MappingProxyType(table := {"k": 1.0})

    def function(x: Any) -> Any:
        k = state.a
        return x * sum(vars(state).values()) + locals()["k"] + k + proxy["k"]

    return function, [
        lambda: setattr(state, "c", 4.0),
        lambda: setattr(state, "a", 9.0),
        lambda: table.__setitem__("k", 5.0),
    ]


@case
def the_same_object_by_two_ways() -> Case:
    part = collections.OrderedDict(k=1.0)
    state = names(first=part, second=part)

    def function(x: Any) -> Any:
        return x * max(state.first.items())[1] + max(state.second.items())[1]

    return function, [
        lambda: setattr(state, "second", {"k": 2.0}),
        lambda: setattr(state, "first", {"k": 3.0}),
    ]


@pytest.mark.parametrize("numbers", [array.array("d", [1.0]), bytearray(b"a"), memoryview(b"a")])
def test_memory_that_is_not_watched_is_warned_of(numbers: Any) -> None:
    with pytest.warns(tj.FrozenResultWarning, match=r"numbers: the elements of an object of "):
        tj.jit(lambda x: x * numbers[0])(X)


@pytest.mark.parametrize("name", CASES)
def test_objects(name: str) -> None:
    SETTINGS["k"] = 2.0
    function, changes = CASES[name]()
    jitted = tj.jit(function)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            np.testing.assert_allclose(np.asarray(jitted(X)), np.asarray(function(X)), rtol=1e-14)
