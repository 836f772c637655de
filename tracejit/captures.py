"""What a jitted function closes over, and where it is found again at each call.

A captured tensor or array is read afresh at each call, from where the function finds it: a closure variable,
a global, an element of a container or an attribute of an object that one of these names. So rebinding a name
works as well as changing the tensor. Names are those of the function, of functions it wraps, and of functions
it can call. A tensor that several names lead to, and Python numbers and strings, are *guarded* instead: when
one of those bindings changes, the function is traced again.
"""

from __future__ import annotations

from collections.abc import Iterator
from opcode import opmap
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from .generator import Draws
from .ir.records import record
from .tensor import Tensor

_MISSING: Final = object()
_ARRAYS: Final = (Tensor, np.ndarray)
#: Python values that tracing turns into constants, so that a change of binding must be noticed.
_CONSTANTS: Final = (bool, int, float, str, type(None))
#: How far containers and attributes are followed, and how many values are looked at in all.
_DEPTH: Final = 4
_LIMIT: Final = 5000
_LOAD_GLOBAL, _LOAD_NAME, _EXTENDED = opmap["LOAD_GLOBAL"], opmap["LOAD_NAME"], opmap["EXTENDED_ARG"]


@record(eq=False)
class Source:
    """A place: a closure ``cell``, a ``global`` name, or just an ``object``; `path` leads on from there by
    items and attributes."""

    kind: str
    holder: Any
    key: str = ""
    path: tuple[tuple[str, Any], ...] = ()

    def read(self) -> Any:
        """The value there now; `_MISSING` if there is none."""
        try:
            found = self._bound()
            for how, step in self.path:
                found = getattr(found, step) if how == "attr" else found[step]
        except (AttributeError, LookupError, TypeError, ValueError):
            return _MISSING
        return found

    def containers(self) -> list[Any]:
        """What each step of the path is taken in, now."""
        found = [self._bound()]
        for how, step in self.path[:-1]:
            found.append(getattr(found[-1], step) if how == "attr" else found[-1][step])
        return found[: len(self.path)]

    def _bound(self) -> Any:
        if self.kind == "object":
            return self.holder
        return self.holder.cell_contents if self.kind == "cell" else self.holder[self.key]

    def __str__(self) -> str:
        if self.kind == "object":
            return str(self.holder) if isinstance(self.holder, Draws) else "an object without a name"
        steps = "".join(f".{step}" if how == "attr" else f"[{step!r}]" for how, step in self.path)
        return self.key + steps


@record(eq=False)
class Guard:
    """A place that must still hold the same object, or an equal constant."""

    source: Source
    expected: Any

    def holds(self) -> bool:
        """Whether nothing that tracing saw has changed there."""
        found = self.source.read()
        if found is self.expected:
            return True
        return isinstance(found, _CONSTANTS) and type(found) is type(self.expected) and found == self.expected


@record(eq=False)
class Bindings:
    """Where each capture is read, and what must not have changed."""

    sources: list[Source]
    guards: list[Guard]


def locate(fn: Any, holders: list[Any], static: list[Any]) -> Bindings:
    """For each captured object, where `fn` gets it from; and the guards. `static` arguments lead to captures
    as well. Constants are guarded where `fn` itself reads them, not in functions that it may call."""
    wanted = {id(holder) for holder in holders}
    places: dict[int, list[Source]] = {}
    guards: list[Guard] = []
    own = {(id(source.holder), source.key) for source, _ in _own_names(fn)}
    for source, value in _reachable(fn, static):
        if isinstance(value, _ARRAYS):
            if id(value) in wanted:
                places.setdefault(id(value), []).append(source)
        elif isinstance(value, _CONSTANTS) and not source.path and (id(source.holder), source.key) in own:
            guards.append(Guard(source, value))
    sources = []
    for holder in holders:
        found = places.get(id(holder), [Source("object", holder)])
        sources.append(found[0])
        if len(found) > 1:
            guards += [Guard(one, holder) for one in found]
    return Bindings(sources, guards)


def _own_names(fn: Any) -> Iterator[tuple[Source, Any]]:
    """The names that `fn` reads, without the wrappers around it."""
    while getattr(fn, "__wrapped__", None) is not None:
        fn = fn.__wrapped__
    fn = getattr(fn, "__func__", fn)
    if isinstance(fn, FunctionType):
        yield from _names(fn)


def _reachable(fn: Any, static: list[Any]) -> Iterator[tuple[Source, Any]]:
    """The values that `fn`'s code can see, with where: depth first, each place once."""
    functions = [fn]
    seen: set[Any] = set()
    budget = [_LIMIT]
    for value in static:
        yield from _inside(Source("object", value), value, budget, set())
    while functions:
        function = functions.pop()
        functions.extend(getattr(function, "__rules__", ()))  # of a function with its own derivative
        while getattr(function, "__wrapped__", None) is not None:
            functions.append(function.__wrapped__)
            if isinstance(function, FunctionType):
                break
            function = functions.pop()
        owner = getattr(function, "__self__", None)
        cls = owner if isinstance(owner, type) else function
        if isinstance(cls, type) and id(cls) not in seen and any(map(_is_ours, cls.__mro__)):
            seen.add(id(cls))  # a tj.autograd.Function: what its methods read
            functions += [getattr(one, "__func__", one) for one in vars(cls).values() if callable(one)]
        if owner is not None and not isinstance(owner, ModuleType):
            yield from _inside(Source("object", owner), owner, budget, set())
        function = getattr(function, "__func__", function)
        if not isinstance(function, FunctionType) or id(function) in seen or _is_ours(function):
            continue
        seen.add(id(function))
        attributes = set(function.__code__.co_names)
        for source, value in _names(function):
            place = (id(source.holder), source.key)
            if place in seen:
                continue
            seen.add(place)
            if isinstance(value, ModuleType):
                yield from _of_module(source, value, attributes)
            elif callable(value) and not isinstance(value, _ARRAYS):
                functions.append(value)
                yield from _inside(source, value, budget, set())
            else:
                yield from _inside(source, value, budget, set())


def _is_ours(function: FunctionType | type) -> bool:
    """Functions of this package and of numpy close over nothing of the user's."""
    return function.__module__ is not None and function.__module__.split(".")[0] in ("tracejit", "numpy")


def _names(function: FunctionType) -> Iterator[tuple[Source, Any]]:
    """The closure variables and globals that `function`'s code, and functions defined in it, read."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield Source("cell", cell, name), cell.cell_contents
        except ValueError:
            continue  # not bound yet
    for name in dict.fromkeys(_global_names(function.__code__)):
        if name in function.__globals__:
            yield Source("global", function.__globals__, name), function.__globals__[name]


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that code reads from its globals, in order; `dis` takes forty times as long."""
    extended, instructions = 0, iter(code.co_code)
    for opcode, argument in zip(instructions, instructions, strict=True):
        whole = argument | extended
        extended = whole << 8 if opcode == _EXTENDED else 0
        if opcode == _LOAD_GLOBAL:
            yield code.co_names[whole >> 1]  # the lowest bit says what is pushed beside it
        elif opcode == _LOAD_NAME:
            yield code.co_names[whole]
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _of_module(source: Source, module: ModuleType, attributes: set[str]) -> Iterator[tuple[Source, Any]]:
    """Arrays of a user's module that the code names as attributes."""
    for name in sorted(attributes & set(vars(module))):
        value = vars(module)[name]
        if isinstance(value, _ARRAYS):
            yield Source(source.kind, source.holder, source.key, (*source.path, ("attr", name))), value


def _inside(source: Source, value: Any, budget: list[int], above: set[int]) -> Iterator[tuple[Source, Any]]:
    """`value`, and what it contains: items of containers, attributes of plain objects."""
    budget[0] -= 1
    if budget[0] < 0 or len(source.path) > _DEPTH or id(value) in above:
        return
    if isinstance(value, (*_ARRAYS, *_CONSTANTS)):
        yield source, value
        return
    if isinstance(value, (type, ModuleType)):
        return
    steps: list[tuple[str, Any, Any]] = []
    if isinstance(value, dict):
        steps = [("item", key, one) for key, one in list(value.items())]
    elif isinstance(value, (list, tuple)):
        steps = [("item", position, one) for position, one in enumerate(value)]
    elif isinstance(getattr(value, "__dict__", None), dict):
        steps = [("attr", name, one) for name, one in list(vars(value).items())]
    for how, step, one in steps:
        inner = Source(source.kind, source.holder, source.key, (*source.path, (how, step)))
        yield from _inside(inner, one, budget, above | {id(value)})
