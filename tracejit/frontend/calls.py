"""Follows calls: into functions of the user's, by what is known of those of libraries."""

from __future__ import annotations

import contextvars
import enum
import functools
import inspect
import operator
import types
import weakref
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from ..tensors.tensor import Tensor
from .asking import Asking
from .attributes import SEQUENCES, Attributes
from .classes import in_classes
from .contents import Contents
from .escapes import Escapes
from .execution import Execution
from .guards import Guard
from .libraries import library
from .libraries.builtin_calls import BuiltinCalls
from .libraries.container_calls import ContainerCalls
from .libraries.library_calls import LibraryCalls
from .libraries.origins import is_library_class, is_own, is_user_function
from .operations import Operations
from .rewritten import original
from .trail import Trail
from .usage import Uses
from .values import (
    TRACED,
    UNKNOWN,
    Bound,
    Cell,
    Closure,
    Constant,
    Group,
    Instance,
    Iteration,
    Place,
    Source,
    Transformed,
    join,
    options,
)

#: The type of NumPy's functions that ask their arguments for ``__array_function__``.
_ARRAY_FUNCTION: Final = type(np.dot)
#: Types of objects whose methods are read as if they were looked up where they are called.
_WITH_METHODS: Final = (dict, *SEQUENCES, set, contextvars.ContextVar, functools._lru_cache_wrapper)
#: Most instructions that are followed for one trace, beside those of the function itself.
_MAX_STEPS: Final = 100_000
#: Greatest depth of calls.
_DEEPEST: Final = 60
#: Number of times that a function is followed inside itself.
_MAX_RECURSIONS: Final = 3


class TooLongError(Exception):
    """The function has more code than is followed."""


class Reader:
    """Follows a function and what it calls; `uses` tells what that reads."""

    def __init__(self, function: Any) -> None:
        code = getattr(inspect.unwrap(function), "__code__", None)
        self._steps_left = _MAX_STEPS + (len(code.co_code) // 2 if isinstance(code, CodeType) else 0)
        self._done: dict[Any, Any] = {}
        self.uses, self.trail = Uses.empty(), Trail()
        self.asking = Asking(self.uses, self.trail)
        self.attributes = Attributes(self.uses, self.call, self._escape)
        self.escapes = Escapes(self.uses, self.attributes, self.asking, self.call)
        self.classes = self.attributes.classes
        self.contents = Contents(self.uses, self.attributes, self.escapes, self.asking, self.call)
        self.operations = Operations(self.contents)
        self.builtins = BuiltinCalls(self.operations, self.call)
        self.library = LibraryCalls(self.builtins, self.make)
        self.containers = ContainerCalls(self.operations)

    def _escape(self, value: Any) -> None:
        self.escapes.escape(value)

    def release(self) -> None:
        """Let the parts go, once all is followed: they refer to the reader, and what it has seen would stay
        until the garbage collector runs."""
        del self.attributes, self.classes, self.escapes, self.contents, self.operations
        del self.builtins, self.library, self.containers

    def step(self) -> None:
        """Count an instruction. Raises TooLongError after too many."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise TooLongError

    # -- calls ---------------------------------------------------------------------------------------

    def enter(self, manager: Any, run: Execution, i: Any) -> Any:
        """The value that ``with manager as x`` binds."""
        for option in options(manager):
            if isinstance(option, (Place, Constant)):
                self.escapes.state.note_errors(type(option.value))
        return self.call(self.attributes.read(manager, "__enter__"), [], {}, run, i)

    def call_unpacked(self, callee: Any, positional: Any, named: Any, run: Execution, i: Any) -> Any:
        """``callee(*positional, **named)``"""
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        if isinstance(positional, Group):
            arguments = list(positional.items)
        elif isinstance(positional, Place) and isinstance(positional.value, (list, tuple)):
            arguments = self.contents.unpack(positional, len(positional.value))
        elif isinstance(positional, Constant) and isinstance(positional.value, tuple):
            arguments = list(map(Constant, positional.value))
        else:
            keywords["*"] = self.contents.iterate(positional)
        if isinstance(named, Group) and named.keys is not None:
            keywords |= dict(zip(named.keys, named.items, strict=True))
        elif isinstance(named, Place) and isinstance(named.value, dict):
            self.uses.structure(named)
            keywords |= {key: self.contents.item_at(named, key) for key in named.value}
        elif named is not None:
            keywords["*"] = self.values_or_unknown(named)
        return self.call(callee, arguments, keywords, run, i)

    def values_or_unknown(self, named: Any) -> Any:
        """The values of keyword arguments whose names are not known."""
        if named is TRACED:
            return TRACED
        self.escapes.escape(named)
        return UNKNOWN

    def call(self, callee: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
        """The result of ``callee(*positional, **named)``. A name "*" stands for arguments that are not
        known."""
        alternatives = options(callee)
        is_certain = run is not None and len(alternatives) == 1
        if is_certain or not self.trail.certain:
            return join(*[self._call(option, positional, named, run, i) for option in alternatives])
        self.trail.uncertain += 1
        try:
            return join(*[self._call(option, positional, named, run, i) for option in alternatives])
        finally:
            self.trail.uncertain -= 1

    def _call(self, callee: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
        if isinstance(callee, Closure):
            return self._follow(callee.code, callee.module, callee.cells, callee, positional, named)
        if isinstance(callee, Bound):
            return self._call_bound(callee, positional, named, run, i)
        if isinstance(callee, Transformed):
            return self.library.call_transformed(callee, positional, named, run, i)
        if isinstance(callee, Place):
            return self._call_place(callee, positional, named, run, i)
        if isinstance(callee, Instance):
            return self.call(self.attributes.read(callee, "__call__"), positional, named, run, i)
        if isinstance(callee, Constant):
            return self.library.call_library(callee.value, positional, named, run, i)
        return self.escapes.hand_over(positional, named)

    def _call_place(
        self, callee: Place, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        value = callee.value
        self.escapes.state.watch_parts(value)
        frozen = None if isinstance(value, FunctionType) else library.frozen_source(value)
        if frozen is not None:
            self.contents.freeze(frozen, value)
            return self.escapes.hand_over(positional, named)
        if library.is_unseeded(value, [*positional, *named.values()]):
            self.contents.draw_seed(value)
        if isinstance(value, MethodType):
            owner = callee.attribute("__self__", value.__self__)
            function = callee.attribute("__func__", value.__func__)
            if callee.settled:  # a method object does not change
                names = getattr(value.__func__, "__code__", None)
                label = names.co_varnames[0] if names is not None and names.co_argcount else "self"
                owner = Place(Source("object", value.__self__, label), value.__self__, settled=True)
                name = getattr(value.__func__, "__name__", "f")
                function = Place(Source("object", value.__func__, name), value.__func__, settled=True)
            return self.call(function, [owner, *positional], named, run, i)
        if isinstance(value, functools.partial):
            self.uses.structure(callee.attribute("args", value.args))
            self.uses.structure(callee.attribute("keywords", value.keywords))
            first = [
                self.contents.item_at(callee.attribute("args", value.args), k) for k in range(len(value.args))
            ]
            keywords = {
                name: self.contents.item_at(callee.attribute("keywords", value.keywords), name)
                for name in value.keywords
            }
            function = callee.attribute("func", value.func)
            return self.call(function, [*first, *positional], {**keywords, **named}, run, i)
        if isinstance(value, FunctionType) and is_user_function(value):
            self.uses.same(callee)
            return self._follow_function(callee, value, positional, named)
        if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, _WITH_METHODS):
            self.uses.same(callee)
            owner = callee.attribute("__self__", value.__self__)
            return self._call_bound(Bound(owner, value.__name__), positional, named, run, i)
        if isinstance(value, (FunctionType, types.BuiltinFunctionType, np.ufunc, _ARRAY_FUNCTION)):
            self.uses.same(callee)
            return self.library.call_library(value, positional, named, run, i, callee)
        if isinstance(value, type):
            return self._construct(callee, value, positional, named, run, i)
        inner = getattr(value, "_fn", None) if is_own(type(value).__module__) else None
        if callable(inner):  # a jitted function
            self.uses.same(callee)
            place = Place(Source("object", inner, getattr(inner, "__name__", "f")), inner, settled=True)
            return self.call(place, positional, named, run, i)
        if is_own(type(value).__module__):
            self.uses.same(callee)
            return self.library.call_library(value, positional, named, run, i, callee)
        self.asking.note_asking(value, (*positional, *named.values()))
        if isinstance(value, weakref.ReferenceType):
            return self.uses.read(callee.call(value()))
        subject = positional[0] if positional else named.get("*", UNKNOWN)
        if isinstance(value, operator.methodcaller):
            reduced: Any = value.__reduce__()
            maker = reduced[0]
            name = maker.args[0] if isinstance(maker, functools.partial) else reduced[1][0]
            self.escapes.call_for_others(self.attributes.read(subject, str(name)), [], {"*": UNKNOWN})
        if isinstance(value, operator.attrgetter):
            for path in value.__reduce__()[1]:
                self.escapes.escape(functools.reduce(self.attributes.read, str(path).split("."), subject))
        if isinstance(value, functools._lru_cache_wrapper):
            self.containers.note_cache(value)
        method = self.attributes.attribute_of(callee, "__call__")
        return (
            self.call(method, positional, named, run, i)
            if isinstance(method, Bound)
            else self.escapes.hand_over([callee, *positional], named)
        )

    def _construct(
        self, callee: Place, cls: type, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        self.uses.same(callee)
        if is_own(cls.__module__) or is_library_class(cls):
            return self.library.call_library(cls, positional, named, run, i, callee)
        self.classes.same_in_class(type(cls), "__call__")
        maker = in_classes(inspect.getmro(type(cls)), "__call__")
        if isinstance(maker, FunctionType) and is_user_function(maker):
            function = self.classes.class_function(type(cls), "__call__", maker)
            return self.call(function, [callee, *positional], named, run, i)
        if isinstance(cls, enum.EnumMeta):  # by value
            names = callee.attribute("_member_names_", cls._member_names_)
            self.uses.structure(names)
        return self.make(callee, positional, named)

    def make(self, callee: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        """``type.__call__(callee, *positional, **named)``"""
        cls = callee.value if isinstance(callee, (Place, Constant)) else None
        if not isinstance(cls, type):
            return self.escapes.hand_over(positional, named)
        self.classes.same_handlers(cls)
        for name in ("__new__", "__init__"):
            self.classes.same_in_class(cls, name)
        created: Any = UNKNOWN
        creator = in_classes(cls.__mro__, "__new__")
        if isinstance(creator, staticmethod) and isinstance(creator.__func__, FunctionType):
            function = self.classes.class_function(cls, "__new__", creator.__func__)
            created = self.call(function, [callee, *positional], named, None, None)
        instance: Any = Instance(cls)
        initializer = getattr(cls, "__init__", None)
        if isinstance(initializer, FunctionType):
            self.call(
                self.classes.class_function(cls, "__init__", initializer),
                [instance, *positional],
                named,
                None,
                None,
            )
        else:
            self.escapes.hand_over(positional, named)
        self.library.follow_methods(cls)
        return instance if created is UNKNOWN else join(instance, created)

    def _call_bound(
        self, bound: Bound, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        owner, name = bound.owner, bound.name
        if bound.function is not None:
            return self.call(bound.function, [owner, *positional], named, run, i)
        if owner is TRACED or (isinstance(owner, Place) and isinstance(owner.value, Tensor)):
            if name == "items":
                return Iteration(Group("tuple", (UNKNOWN, TRACED)))
            self.library.give_library(name, positional, named, run, i)
            return UNKNOWN if name in library.GIVES_OTHERS else TRACED
        if isinstance(owner, Constant):
            if isinstance(owner.value, str):
                for value in (*positional, *named.values()) if name == "format" else ():
                    self.escapes.show(value)
                self.escapes.hand_over(positional, named)
                return UNKNOWN
            return self.library.call_library(getattr(owner.value, name, None), positional, named, run, i)
        if isinstance(owner, Group):
            return self.containers.call_on_group(owner, name, positional, named)
        if isinstance(owner, Place):
            return self.containers.call_on_container(owner, name, positional, named, run)
        self.escapes.escape(owner)
        return self.escapes.hand_over(positional, named)

    # -- following functions ---------------------------------------------------------------------------

    def _follow_function(
        self, place: Place, function: FunctionType, positional: list[Any], named: dict[str, Any]
    ) -> Any:
        code = original(function.__code__)
        if is_user_function(function):
            self.uses.guard(Guard, place.attribute("__code__", code), code)
            self.uses.followed[id(function)] = function
        cells: dict[str, Cell] = {}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self.uses.missing(Place(Source("cell", cell, name), None))
                continue
            cells[name] = Cell(self.uses.read(Place(Source("cell", cell, name), content)))
        defaults = place.attribute("__defaults__", function.__defaults__)
        keyword_defaults = place.attribute("__kwdefaults__", function.__kwdefaults__)
        closure = Closure(
            code,
            function.__globals__,
            cells,
            tuple(
                [
                    self.uses.read(defaults.item(k, value))
                    for k, value in enumerate(function.__defaults__ or ())
                ]
            ),
            {
                name: self.uses.read(keyword_defaults.item(name, value))
                for name, value in (function.__kwdefaults__ or {}).items()
            },
        )
        return self._follow(code, function.__globals__, cells, closure, positional, named)

    def _follow(
        self,
        code: CodeType,
        module: dict[str, Any],
        cells: dict[str, Cell],
        closure: Closure,
        positional: list[Any],
        named: dict[str, Any],
    ) -> Any:
        arguments = bind(code, closure, positional, named)
        if len(self.trail.running) > _DEEPEST or self.trail.running.count(code) > _MAX_RECURSIONS:
            return self.escapes.hand_over(arguments.values(), {})
        key: Any = (code, tuple(arguments.items()), tuple([(name, id(cell)) for name, cell in cells.items()]))
        try:
            if key in self._done:
                return self._done[key]
        except TypeError:
            key = None
        execution = Execution(self, code, module, arguments, cells)
        self.trail.running.append(code)
        self.trail.certain.append(execution.is_certain)
        self.trail.wording.append(execution.words_an_error)
        try:
            result = execution.run()
        finally:
            self.trail.certain.pop()
            self.trail.wording.pop()
            self.trail.running.pop()
        if key is not None:
            self._done[key] = result
        return result


def bind(code: CodeType, closure: Closure, positional: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `code` with their values: arguments, else defaults."""
    rest = named.get("*")
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    arguments: dict[str, Any] = dict(zip(names[: code.co_argcount], positional, strict=False))
    more = {}
    for name, value in named.items():
        if name in names:
            arguments[name] = value
        elif name != "*":
            more[name] = value
    first_default = code.co_argcount - len(closure.defaults)
    for position, name in enumerate(names):
        if name in arguments:
            continue
        if position >= code.co_argcount:
            value = closure.keyword_defaults.get(name, UNKNOWN)
        else:
            value = closure.defaults[position - first_default] if position >= first_default else UNKNOWN
        arguments[name] = value if rest is None else rest if value is UNKNOWN else join(rest, value)
    place = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        extra = Group("tuple", tuple(positional[code.co_argcount :]))
        arguments[code.co_varnames[place]] = extra if rest is None else Iteration(join(rest, *extra.items))
        place += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        arguments[code.co_varnames[place]] = Group("dict", tuple(more.values()), tuple(more))
    return arguments
