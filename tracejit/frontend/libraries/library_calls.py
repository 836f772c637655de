"""Follows calls of functions that are not the user's, by what is known of them."""

from __future__ import annotations

import functools
import importlib
import operator
import types
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final, TypeAlias

import numpy as np

from ...base.loading import Loaded
from ...ir.registry import OPS, Kind
from ...tensors.tensor import Tensor
from ..classes import class_place
from ..operations import all_tensors
from ..values import (
    MISSING,
    TRACED,
    UNKNOWN,
    Bound,
    Closure,
    Constant,
    Group,
    Instance,
    Parent,
    Place,
    Source,
    Transformed,
    join,
    options,
)
from . import library
from .builtin_calls import BuiltinCalls
from .origins import is_library_class, is_own, is_user_function

#: ``make(cls, positional, named)``: an object that a class makes.
Make: TypeAlias = Callable[[Any, list[Any], dict[str, Any]], Any]

_GET_LOGGER: Final = Loaded("logging:getLogger")
_REPLACE: Final = Loaded("dataclasses:replace")
_PATHS: Final = Loaded("pathlib:PurePath")


def _is_of_numpy(function: Any, module: str | None) -> bool:
    """Whether NumPy sends calls of `function` with tensors to the library (`array.numpy_calls`)."""
    return isinstance(function, np.ufunc) or module == "numpy"


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, Group):
        return any(map(_holds_tensors, value.items))
    return all_tensors(value)


class LibraryCalls:
    """Abstract calls of functions of this library, of Python and of NumPy."""

    def __init__(self, builtins: BuiltinCalls, make: Make) -> None:
        self.builtins, self.operations, self.call = builtins, builtins.operations, builtins.call
        self.uses, self.contents, self.attributes = builtins.uses, builtins.contents, builtins.attributes
        self.classes, self.escapes, self.asking = builtins.classes, builtins.escapes, builtins.asking
        #: Follows what a class does to make an object.
        self.make = make

    def call_library(
        self, function: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any, place: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None)
        if function is type.__call__ and positional:
            return join(*[self.make(option, positional[1:], named) for option in options(positional[0])])
        if function in library.ATTRIBUTE_READERS and len(positional) == 2:
            return self.builtins.get_attribute("getattr", positional)
        self.asking.note_asking(function, (*positional, *named.values()))
        if "out" in named:
            self.operations.write_array(named["out"])
        if name in library.WRITERS and positional:
            self.operations.write_array(positional[0])
        if module == "builtins" or (isinstance(function, type) and function.__module__ == "builtins"):
            return self.builtins.call_builtin(name, positional, named, run, i)
        if str(module).startswith("_pytest."):  # what pytest makes of asserts: it only words failures
            return UNKNOWN
        frozen = library.frozen_source(function)
        if frozen is not None and not library.is_method_of_generator(function):
            self.contents.freeze(frozen, function)
        own_code = isinstance(function, FunctionType) and is_own(function.__globals__.get("__name__"))
        if not (own_code or is_own(module) or is_own(type(function).__module__)):
            if module == "functools" and name == "partial" and positional:
                return self._partial(positional, named)
            if function in (operator.attrgetter, operator.methodcaller) and not named:
                values = [value.value for value in positional if isinstance(value, Constant)]
                names = values if function is operator.attrgetter else values[:1]
                if len(values) == len(positional) > 0 and all(type(value) is str for value in names):
                    getter = function(*values)
                    return Place(Source("object", getter, f"operator.{name}"), getter, settled=True)
            if module == "decimal":
                self.escapes.state.watch("the arithmetic of decimal")
            state = library.state_of(function, positional)
            if state is not None:
                self.escapes.hand_over(positional[1:], named)
                if state.value is MISSING:
                    self.uses.missing(state)
                    return UNKNOWN
                return self.uses.read(state)
            self.escapes.state.watch_parts(function)
            if module in library.REFLECTIVE:
                for value in (*positional, *named.values()):
                    self.escapes.reflect(value)
                    if module in library.COPIERS:
                        self.escapes.note_copied(value)
            if function is types.new_class and len(positional) > 1:
                self.builtins.make_class(self.builtins.items_of(positional[1]), named)
            first: Any = positional[0] if positional else UNKNOWN
            if isinstance(first, Constant) or not positional:
                if function is importlib.import_module and positional:
                    return self.attributes.loaded_module(str(first.value))
                if _GET_LOGGER.holds(function):
                    logger = function(first.value if positional else None)
                    return Place(Source("object", logger, f"the logger {logger.name}"), logger, settled=True)
            if _REPLACE.holds(function):
                for option in options(first):
                    if isinstance(option, Place):
                        self.make(class_place(type(option.value)), [], {"*": UNKNOWN})
            if library.COPYING.holds(function) or (module == "collections" and name in ("_make", "_replace")):
                self.escapes.hand_over(positional, named)
                return join(
                    UNKNOWN,
                    *[
                        Instance(option.value if isinstance(option.value, type) else type(option.value))
                        for option in options(positional[0])
                        if isinstance(option, Place) and not is_library_class(type(option.value))
                    ],
                )
            self.escapes.escape_closure(function)
            self.uses.makes_arrays |= isinstance(function, np.ufunc) or str(module).startswith("numpy")
            if isinstance(function, type) and issubclass(function, _PATHS()):
                self.escapes.hand_over(positional, named)
                return Instance(function)
            if _is_of_numpy(function, module) and any(map(_holds_tensors, (*positional, *named.values()))):
                self.give_library(
                    name, positional, named, run, i
                )  # NumPy calls the function of that name here
                return UNKNOWN if name in library.GIVES_OTHERS else TRACED
            return self.escapes.hand_over(positional, named)
        inner = self._user_functions(function)
        if inner:
            code = function.__code__ if isinstance(function, FunctionType) else None
            kind = getattr(code, "co_qualname", "").partition(".")[0]
            kind = {"_make": "jit"}.get(kind, getattr(function, "transform", kind))
            rules = list(getattr(function, "__rules__", ()))
            for user_function in inner:
                transformed = Transformed(
                    kind, Place(Source("object", user_function), user_function, settled=True)
                )
                if user_function in rules:
                    self.call(transformed.function, [], {"*": TRACED}, None, None)
                else:
                    self.call_transformed(transformed, positional, named, run, i)
            return TRACED if kind in library.GIVES_TENSORS else UNKNOWN
        if name in library.TRANSFORMS and positional:
            for value in (*positional[1:], *named.values()):
                self.escapes.escape(value)
            return Transformed(name, positional[0])
        self.give_library(name, positional, named, run, i)
        return UNKNOWN if name in library.GIVES_OTHERS or name.startswith("tree_") else TRACED

    def call_transformed(
        self, transformed: Transformed, positional: list[Any], named: dict[str, Any], run: Any, i: Any
    ) -> Any:
        """Call what a transform made of a function."""
        result = self.call(transformed.function, positional, named, run, i)
        if transformed.name in library.GIVES_TENSORS:
            return TRACED
        return Group("tuple", (TRACED, TRACED)) if transformed.name == "value_and_grad" else result

    def _partial(self, positional: list[Any], named: dict[str, Any]) -> Any:
        """``functools.partial(f, ...)``; its arguments are handed over, as calls may change them."""
        self.escapes.hand_over(positional[1:], named)
        self.escapes.call_for_others(positional[0], positional[1:], {**named, "*": UNKNOWN})
        return UNKNOWN

    def _user_functions(self, function: Any) -> list[Any]:
        """The user's functions that a function made by the library calls."""
        if isinstance(function, type):  # its attributes are those of objects to be made
            return []
        rules = list(getattr(function, "__rules__", ()))
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            return [wrapped, *rules] if self._leads_to_user(wrapped) else rules
        contents = []
        for cell in getattr(function, "__closure__", None) or ():
            try:
                contents.append(cell.cell_contents)
            except ValueError:
                continue
        kinds = (FunctionType, MethodType, functools.partial)
        return [
            content for content in contents if isinstance(content, kinds) and self._leads_to_user(content)
        ] + rules

    def _leads_to_user(self, function: Any) -> bool:
        """Whether calling `function` runs code of the user's."""
        if isinstance(function, MethodType):
            owner = function.__self__
            owned = owner.__module__ if isinstance(owner, type) else type(owner).__module__
            return not is_own(owned) or self._leads_to_user(function.__func__)
        if isinstance(function, functools.partial):
            return self._leads_to_user(function.func)
        if isinstance(function, FunctionType):
            wrapped = getattr(function, "__wrapped__", None)
            return is_user_function(function) or (wrapped is not None and self._leads_to_user(wrapped))
        if is_own(type(function).__module__):
            return hasattr(function, "_fn") or bool(self._user_functions(function))
        return True

    def give_library(self, name: str, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> None:
        """Arguments of a function of this library: it reads arrays as inputs, and calls functions."""
        if name in library.SELECTING:
            self.asking.note_selecting()
        arguments = [*positional, *named.values()]
        functions = [value for value in arguments if self._is_function(value)]
        others = [value for value in arguments if not self._is_function(value)]
        traced = name in library.CONTROL or all(all_tensors(value) for value in others)
        for value in functions if name != "pure_callback" else ():  # which runs at each call
            self._give(self.call(value, [], {"*": TRACED if traced else UNKNOWN}, None, None))
        elementwise = run is not None and name in OPS and OPS[name].kind is Kind.ELEMENTWISE and name != "pow"
        for value in others:
            if elementwise and value is not TRACED:
                self.operations.combine(value, name, run.site(i))
            else:
                self._give(value)

    def _give(self, value: Any) -> None:
        """Hand `value` to the library: as `escape`, but arrays at the top are read as inputs."""
        for option in options(value):
            if isinstance(option, Place) and isinstance(option.value, np.ndarray):
                self.uses.handed_over(option)
            elif isinstance(option, Place) and isinstance(option.value, type):
                self.follow_methods(option.value)
            elif isinstance(option, Group):
                for item in option.items:
                    self._give(item)
            else:
                self.escapes.escape(option)

    def follow_methods(self, cls: type) -> None:
        """A class of this library that the user derived from: the library calls its methods."""
        if is_own(cls.__module__) or not any(is_own(base.__module__) for base in cls.__mro__):
            return
        for name, raw in list(vars(cls).items()):
            function = getattr(raw, "__func__", raw)
            if isinstance(function, FunctionType):
                self.call(self.classes.class_function(cls, name, function), [], {"*": TRACED}, None, None)

    def _is_function(self, value: Any) -> bool:
        return any(
            isinstance(option, (Closure, Transformed, Parent))
            or (isinstance(option, Bound) and option.function is not None)
            or (
                isinstance(option, Place)
                and callable(option.value)
                and not isinstance(option.value, (type, Tensor))
            )
            for option in options(value)
        )
