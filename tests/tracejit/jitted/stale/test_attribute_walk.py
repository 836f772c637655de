"""Random changes of where an attribute is found: a jitted function reads it where Python then finds it.

An object of a small tree of classes has an attribute, as a value, a method, a property or a descriptor, in
one or several places. A walk draws changes: of the attribute in each place, of the bases of classes, of the
object's class. After each the jitted function gives what the function gives. A warning is an error here.
"""

from __future__ import annotations

import copy
import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from ....rotation import SEED

X = np.arange(1.0, 4.0)
#: Walks for each seed, and changes in each.
_WALKS, _CHANGES = 3, 9


class Getter:
    """A descriptor that gives `held`."""

    def __init__(self, held: float) -> None:
        self.held = held

    def __get__(self, instance: Any, owner: Any = None) -> float:
        return self.held


def kinds(held: float) -> list[Any]:
    """The ways in which a class can have an attribute that leads to `held`."""
    return [
        held,
        lambda *_: held,
        property(lambda self: held),
        classmethod(lambda *_: held),
        staticmethod(lambda *_: held),
        functools.partialmethod(lambda *_: held),
        Getter(held),
    ]


def value(read: Any) -> float:
    """The number that an attribute leads to; 7 for what leads to none."""
    if callable(read):
        return float(read())
    return read if type(read) is float else 7.0


def world() -> dict[str, Any]:
    """An object, its class, and the classes behind them."""

    class Meta(type):
        pass

    class Root(metaclass=Meta):
        pass

    class A(Root):
        p: Any = 1.5

    class B(Root):
        p: Any = 2.5

    class Middle(A):
        pass

    class Named(Middle):
        def by_super(self) -> Any:
            return super().p

        @classmethod
        def class_by_super(cls) -> Any:
            return super().p

    class Other(Named):
        pass

    return {
        "Meta": Meta, "A": A, "B": B, "Middle": Middle, "Named": Named, "Other": Other, "o": Named(),
    }  # fmt: skip


#: Ways to read the attribute, by functions of the names of a `world`.
READS: dict[str, str] = {
    "attribute": "value(o.p)",
    "of the class": "value(Named.p)",
    "of the object's class": "value(type(o).p)",
    "of a base": "value(Middle.p)",
    "of a new object": "value(Named().p)",
    "super()": "value(o.by_super())",
    "super() of the class": "value(Named.class_by_super())",
    "getattr": "value(getattr(o, 'p', 3.0))",
    "hasattr": "2.0 if hasattr(o, 'p') else 3.0",
    "attrgetter": "value(operator.attrgetter('p')(o))",
    "map": "next(iter(map(lambda each: value(each.p), [o])))",
    "getattr_static": "value(inspect.getattr_static(Named, 'p', 3.0))",
    "vars": "value(vars(o).get('p', 3.0))",
    "vars of the class": "value(vars(Named).get('p', 3.0))",
    "__dict__ of a base": "value(Middle.__dict__['p']) if 'p' in Middle.__dict__ else 3.0",
    "__mro__": "sum(value(each.p) for each in Named.__mro__[:-2])",
    "__bases__": "value(Named.__bases__[0].p)",
    "isinstance": "2.0 if isinstance(o, A) else 3.0",
    "issubclass": "2.0 if issubclass(type(o), (int, B)) else 3.0",
    "in __mro__": "2.0 if B in Named.__mro__ else 3.0",
    "copy": "value(copy.copy(o).p)",
    "match": "matched(o)",
    "made class": "value(type('Made', (Named,), {})().p)",
}
_MATCHED = """
def matched(o):
    match o:
        case B(): return 2.0
        case _: return 3.0
"""


def change(names: dict[str, Any], random: np.random.Generator, count: int) -> str:
    """Make a random change; return it in words."""
    step = int(random.integers(10))
    if step < 6:
        place = ("o", "Named", "Middle", "A", "B", "Meta")[int(random.integers(6))]
        target = names[place]
        if isinstance(vars(names["Meta"]).get("p"), property):  # which classes could not be given another one
            del names["Meta"].p
        if random.integers(4) == 0 and "p" in vars(target):
            type.__delattr__(target, "p") if isinstance(target, type) else vars(target).pop("p")
            return f"del {place}.p"
        attributes = kinds(count + 0.25)
        attributes = attributes[:2] if place == "o" else attributes
        kind = int(random.integers(len(attributes)))
        if place == "o" and any(isinstance(vars(each).get("p"), property) for each in type(target).__mro__):
            vars(target)["p"] = attributes[kind]
        else:
            target.p = attributes[kind]
        return f"{place}.p = kind {kind}"
    if step < 9:
        named, base = (("Named", "Middle"), ("Named", "B"), ("Middle", "A"), ("Middle", "B"))[
            int(random.integers(4))
        ]
        names[named].__bases__ = (names[base],)
        return f"{named}.__bases__ = ({base},)"
    name = ("Named", "Other")[int(random.integers(2))]
    names["o"].__class__ = names[name]
    return f"o.__class__ = {name}"


def program(names: dict[str, Any], read: str) -> Callable[[Any], Any]:
    """A function that reads the attribute, and takes 9 where that fails."""
    names |= {"value": value, "operator": operator, "inspect": inspect, "copy": copy, "__name__": "walked"}
    exec(_MATCHED, names)
    text = (
        f"def f(x):\n    try:\n        k = {read}\n    except (AttributeError, TypeError):\n        k = 9.0\n"
        "    return x * k"
    )
    exec(text, names)
    function: Callable[[Any], Any] = names["f"]
    return function


def walk(read: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    names = world()
    function = program(names, READS[read])
    jitted = tj.jit(function)
    done: list[str] = []
    for count in range(_CHANGES):
        for _ in range(2):
            np.testing.assert_array_equal(
                np.asarray(jitted(X)), function(X), f"{read}, seed {seed}, changes {done}"
            )
        done.append(change(names, random, count + 3))


@pytest.mark.parametrize("read", READS)
def test_reads_follow_changes(read: str) -> None:
    for number in range(_WALKS):
        walk(read, SEED * _WALKS + number)
