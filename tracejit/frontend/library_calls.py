"""Follows calls of functions that are not the user's, by what is known of them."""

from __future__ import annotations

import abc
import functools
import operator
import pathlib
from collections.abc import Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..ir.registry import OPS, Kind
from ..tensors.tensor import Tensor
from . import library
from .attributes import SEQUENCES, Call, in_classes, is_library, is_own, is_user_function
from .execution import Execution
from .guards import Guard, is_constant
from .operations import Operations, all_tensors
from .probes import Listing
from .values import (
    MISSING,
    TRACED,
    UNKNOWN,
    Bound,
    Closure,
    Constant,
    Group,
    Instance,
    Iteration,
    Parent,
    Place,
    Source,
    Transformed,
    join,
    options,
)


def _is_of_numpy(function: Any, module: str | None) -> bool:
    """Whether NumPy sends calls of `function` with tensors to the library (`array.numpy_calls`)."""
    return isinstance(function, np.ufunc) or module == "numpy"


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, Group):
        return any(map(_holds_tensors, value.items))
    return all_tensors(value)


def _is_class_check(name: str) -> bool:
    """Whether ``isinstance`` or ``issubclass`` calls the method `name` of a metaclass."""
    return name in ("__instancecheck__", "__subclasscheck__")


def _is_callback(value: Any) -> bool:
    """Whether `value` is a function of the user's, which is followed where it is called."""
    if isinstance(value, Place):
        function = value.value
        return isinstance(function, (MethodType, functools.partial)) or (
            isinstance(function, FunctionType) and is_user_function(function)
        )
    return isinstance(value, Closure) or (isinstance(value, Bound) and value.function is not None)


class LibraryCalls:
    """Abstract calls of functions of this library, of Python and of NumPy."""

    def __init__(self, operations: Operations, call: Call) -> None:
        self.operations, self.call, self.uses = operations, call, operations.uses
        self.contents, self.attributes = operations.contents, operations.attributes
        self.escapes, self.asking = operations.escapes, operations.asking

    def hand_over(self, positional: Iterable[Any], named: dict[str, Any]) -> Any:
        """Hand arguments to a function that is not followed. It may call the user's functions among them with
        the other ones, and with their elements."""
        self.uses.hands_over = True
        arguments = [*positional, *named.values()]
        callbacks = [value for value in arguments if any(map(_is_callback, options(value)))]
        if 0 < len(callbacks) < len(arguments):
            others = [value for value in arguments if not any(map(_is_callback, options(value)))]
            handed = join(UNKNOWN, *others, *map(self._inside_of, others))
            for callback in callbacks:
                self.escapes.call_for_others(callback, [], {"*": handed})
        for value in arguments:
            self.escapes.escape(value)
        return UNKNOWN

    def _inside_of(self, value: Any) -> Any:
        """The elements of containers; of lists, dicts and sets one of each type, which has the methods."""
        inside: list[Any] = [UNKNOWN]
        for option in options(value):
            held = option.value if isinstance(option, Place) else None
            if isinstance(held, (dict, *SEQUENCES)):
                pairs = list(held.items() if isinstance(held, dict) else enumerate(held))
                first_keys = {type(element): key for key, element in reversed(pairs)}
                inside += [self.attributes.place(option.item(key, held[key])) for key in first_keys.values()]
            elif isinstance(held, (set, frozenset)):
                for element in {type(element): element for element in held}.values():
                    inside.append(Place(Source("object", element, "an element"), element, settled=True))
            elif isinstance(option, Group):
                inside += option.items
            elif isinstance(option, Iteration):
                inside.append(option.element)
        return join(*inside)

    def parent(self, cls: Any, owner: Any) -> Any:
        """``super(cls, owner)``"""
        value = cls.value if isinstance(cls, (Place, Constant)) else None
        return Parent(value, owner) if isinstance(value, type) else UNKNOWN

    def call_library(
        self, function: Any, positional: list[Any], named: dict[str, Any], run: Any, i: Any, place: Any = None
    ) -> Any:
        name = getattr(function, "__name__", "")
        module = getattr(function, "__module__", None)
        self.asking.note_asking(function, (*positional, *named.values()))
        if "out" in named:
            self.operations.write_array(named["out"])
        if name in library.WRITERS and positional:
            self.operations.write_array(positional[0])
        if module == "builtins" or (isinstance(function, type) and function.__module__ == "builtins"):
            return self._call_builtin(name, positional, named, run, i)
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
                    made = function(*values)
                    return Place(Source("object", made, f"operator.{name}"), made, settled=True)
            if module == "decimal":
                self.escapes.watch_decimal()
            state = library.state_of(function, positional)
            if state is not None and state.value is MISSING:
                self.uses.missing(state)
                return UNKNOWN
            if state is not None:
                return self.attributes.place(state)
            self.escapes.escape_closure(function)
            if isinstance(function, type) and issubclass(function, pathlib.PurePath):
                self.hand_over(positional, named)
                return Instance(function)
            if _is_of_numpy(function, module) and any(map(_holds_tensors, (*positional, *named.values()))):
                self.give_library(
                    name, positional, named, run, i
                )  # NumPy calls the function of that name here
                return UNKNOWN if name in library.GIVES_OTHERS else TRACED
            return self.hand_over(positional, named)
        inner = self._user_functions(function)
        if inner:
            kind = getattr(getattr(function, "__code__", None), "co_qualname", "").partition(".")[0]
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
        self.hand_over(positional[1:], named)
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
                self.call(self.attributes.class_function(cls, name, function), [], {"*": TRACED}, None, None)

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

    def _call_builtin(self, name: str, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
        if name == "super" and run is not None:
            return self._super(positional, run)
        if name == "id":
            for option in options(positional[0] if positional else UNKNOWN):
                self.uses.same(option) if isinstance(option, Place) else None
                self.operations.tell_arguments_apart(()) if option is TRACED else None
            return UNKNOWN
        if name in ("vars", "locals") and not positional and run is not None:
            return self.operations.mapping([*map(Constant, run.locals)], [*run.locals.values()])
        if name == "vars" and positional and isinstance(positional[0], Place):
            return self.attributes.read(positional[0], "__dict__")
        if name == "dir" and positional:
            return self._list_names(positional[0])
        if name in library.TYPE_ONLY:
            self.operations.tell_kinds(*positional)
            self._ask_metaclasses(positional[1:])
            return UNKNOWN
        if name == "globals" and run is not None:
            return Place(Source("object", run.module, "globals()"), run.module, settled=True)
        if name in ("eval", "exec"):
            self.contents.give_up_reading(f"what {name} reads")
        if name == "len" and len(positional) == 1:
            for option in options(positional[0]):
                if option is TRACED or option is UNKNOWN:
                    self.asking.note_length()
                if isinstance(option, Place) and isinstance(option.value, (dict, list, tuple, set)):
                    self.uses.structure(option)
                else:
                    self.escapes.call_for_others(self.attributes.read(option, "__len__"), [], {})
            return UNKNOWN
        if name in ("getattr", "hasattr") and len(positional) > 1:
            return self._get_attribute(name, positional)
        if name == "type" and len(positional) == 1:
            (value,) = positional
            if isinstance(value, Place) and is_constant(value.value):
                self.operations.tell_kinds(value)
                return Constant(type(value.value))
            return (
                self.attributes.read(value, "__class__") if isinstance(value, (Place, Instance)) else UNKNOWN
            )
        if name == "zip":
            return Iteration(Group("tuple", tuple(map(self.contents.iterate, positional))))
        if name == "enumerate" and positional:
            return Iteration(Group("tuple", (UNKNOWN, self.contents.iterate(positional[0]))))
        if name in ("reversed", "iter", "sorted", "list", "tuple", "set") and positional and not named:
            if name in ("sorted", "reversed"):  # by comparisons, and by ``__reversed__``
                self.escapes.escape(positional[0])
            return Iteration(self.contents.iterate(positional[0]))
        if name == "next" and positional:
            return join(*[self._next(option) for option in options(positional[0])])
        if name == "__build_class__":
            for base in positional[2:]:
                self.escapes.call_for_others(self.attributes.read(base, "__init_subclass__"), [], {})
        if name in ("map", "filter") and len(positional) > 1:
            elements = [self.contents.iterate(value) for value in positional[1:]]
            result = self.call(positional[0], elements, {}, run, i)
            return Iteration(result if name == "map" else elements[0])
        if name in ("repr", "ascii") and positional:
            self.escapes.call_for_others(self.attributes.read(positional[0], "__repr__"), [], {})
        if name == "dict" and not positional:
            return self.operations.mapping([Constant(key) for key in named], list(named.values()))
        return self.hand_over(positional, named)

    def _list_names(self, value: Any) -> Any:
        """``dir(value)``"""
        for option in options(value):
            cls = option.cls if isinstance(option, Instance) else type(getattr(option, "value", None))
            method = in_classes(cls.__mro__, "__dir__")
            if isinstance(method, FunctionType):
                self.escapes.call_for_others(
                    self.attributes.class_function(cls, "__dir__", method), [option], {}
                )
            elif isinstance(option, Place):
                self.uses.same(option)
                if isinstance(option.value, ModuleType) and "__dir__" in vars(option.value):
                    self.escapes.call_for_others(self.attributes.read(option, "__dir__"), [], {})
                else:
                    probe = Place(Source("object", Listing(option.value), f"dir({option.source})"), None)
                    self.uses.kept.append(probe.attribute("changed", False))
            else:
                self.escapes.escape(option)
        return UNKNOWN

    def _next(self, iterator: Any) -> Any:
        method = getattr(type(iterator.value), "__next__", None) if isinstance(iterator, Place) else None
        return (
            self.contents.following(iterator)
            if isinstance(method, FunctionType)
            else self.contents.iterate(iterator)
        )

    def _ask_metaclasses(self, classes: Iterable[Any]) -> None:
        """``isinstance`` and ``issubclass`` ask the metaclasses of `classes`."""
        for cls in classes:
            for option in (*options(cls), *(cls.items if isinstance(cls, Group) else ())):
                if isinstance(option, Place) and isinstance(option.value, abc.ABCMeta):
                    self._ask_registrations(option.value)
                if isinstance(option, Place) and type(option.value) is not type:
                    self.escapes.follow_class(option, type(option.value), _is_class_check)

    def _ask_registrations(self, cls: type) -> None:
        """Guard the classes that are registered with `cls`, by the one token of all abstract classes."""
        if not is_library(cls.__module__):
            source = Source("object", abc, "abc").call("get_cache_token")
            self.uses.same(Place(source, abc.get_cache_token()))

    def _get_attribute(self, name: str, positional: list[Any]) -> Any:
        key = self.contents.known_key(positional[1])
        if not isinstance(key, str):
            self.escapes.escape(positional[0])
            return UNKNOWN
        attribute = self.attributes.read(positional[0], key)
        if name == "hasattr":
            for option in options(attribute):
                if isinstance(option, Place) and not option.settled:
                    cls = type(option.value)
                    self.uses.guard(Guard, option.attribute("__class__", cls), cls)
            return UNKNOWN
        return join(attribute, *positional[2:])

    def _super(self, positional: list[Any], run: Execution) -> Any:
        if positional:
            return self.parent(*positional[:2]) if len(positional) > 1 else UNKNOWN
        cell = run.cells.get("__class__")
        cls = None if cell is None else cell.value
        names = run.code.co_varnames
        if cls is None or not names:
            return UNKNOWN
        owner = run.cells[names[0]].value if names[0] in run.code.co_cellvars else run.locals.get(names[0])
        return self.parent(cls, UNKNOWN if owner is None else owner)
