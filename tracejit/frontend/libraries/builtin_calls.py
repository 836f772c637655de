"""Follows calls of Python's builtin functions."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from ..classes import Call, in_classes
from ..escapes import is_callable
from ..guards import Guard, is_constant
from ..operations import Operations
from ..values import (
    TRACED,
    UNKNOWN,
    Constant,
    Group,
    Instance,
    Iteration,
    Parent,
    Place,
    Source,
    join,
    options,
)
from . import library
from .origins import is_library_class
from .probes import Listing


def _is_class_check(name: str) -> bool:
    """Whether ``isinstance`` or ``issubclass`` calls the method `name` of a metaclass."""
    return name in ("__instancecheck__", "__subclasscheck__")


def _is_class_maker(name: str) -> bool:
    """Whether a class statement calls the method `name` of a metaclass."""
    return name in ("__prepare__", "__new__", "__init__")


class BuiltinCalls:
    """Abstract calls of Python's builtin functions."""

    def __init__(self, operations: Operations, call: Call) -> None:
        self.operations, self.call, self.uses = operations, call, operations.uses
        self.contents, self.attributes = operations.contents, operations.attributes
        self.classes, self.escapes, self.asking = operations.classes, operations.escapes, operations.asking

    def parent(self, cls: Any, owner: Any) -> Any:
        """``super(cls, owner)``"""
        value = cls.value if isinstance(cls, (Place, Constant)) else None
        return Parent(value, owner) if isinstance(value, type) else UNKNOWN

    def call_builtin(self, name: str, positional: list[Any], named: dict[str, Any], run: Any, i: Any) -> Any:
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
        if name in ("isinstance", "issubclass") and len(positional) == 2:
            self.tell_class(*positional)
            return UNKNOWN
        if name in library.TYPE_ONLY:
            self.operations.tell_kinds(*positional)
            for option in options(positional[0]) if name == "callable" and positional else ():
                if isinstance(option, Place) and not is_library_class(type(option.value)):
                    self.attributes.attribute_of(option, "__call__")
            return UNKNOWN
        if name == "globals" and run is not None:
            return Place(Source("object", run.module, "globals()"), run.module, settled=True)
        if name in ("eval", "exec"):
            self.contents.give_up_reading(f"what {name} reads")
        if name == "len" and len(positional) == 1:
            for option in options(positional[0]):
                if option is TRACED or option is UNKNOWN:
                    self.asking.note_length()
                method = self.contents.special(option, "__len__")
                if method is not None:
                    self.escapes.call_for_others(method, [], {})
                elif isinstance(option, Place) and isinstance(
                    option.value, (dict, list, tuple, set, MappingProxyType)
                ):
                    self.uses.structure(option)
                else:
                    self.escapes.call_for_others(self.attributes.read(option, "__len__"), [], {})
            return UNKNOWN
        if name in ("getattr", "hasattr") and len(positional) > 1:
            return self.get_attribute(name, positional)
        if name == "type" and len(positional) == 1:
            (value,) = positional
            if isinstance(value, Place) and is_constant(value.value):
                self.operations.tell_kinds(value)
                return Constant(type(value.value))
            return (
                self.attributes.read(value, "__class__") if isinstance(value, (Place, Instance)) else UNKNOWN
            )
        if name == "__import__" and positional and isinstance(positional[0], Constant):
            return self.attributes.loaded_module(str(positional[0].value))
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
        if name == "__build_class__" or (name == "type" and len(positional) == 3):
            self.make_class(positional[2:] if name[0] == "_" else self.items_of(positional[1]), named)
        if name in ("map", "filter") and len(positional) > 1:
            elements = [self.contents.iterate(value) for value in positional[1:]]
            result = self.call(positional[0], elements, {}, run, i)
            return Iteration(result if name == "map" else elements[0])
        if name in ("str", "repr", "ascii", "format") and positional:
            self.escapes.show(positional[0])
        if name in ("repr", "ascii") and positional:
            self.escapes.call_for_others(self.attributes.read(positional[0], "__repr__"), [], {})
        if name == "dict" and not positional:
            return self.operations.mapping([Constant(key) for key in named], list(named.values()))
        return self.escapes.hand_over(positional, named)

    def items_of(self, value: Any) -> list[Any]:
        """The items of a tuple that the code builds."""
        return list(value.items) if isinstance(value, Group) else []

    def make_class(self, bases: Iterable[Any], named: dict[str, Any]) -> None:
        """A class statement, or a call that makes a class: it runs methods of its bases and its metaclass.
        Objects of the class have the methods of the bases."""
        for base in bases:
            self.escapes.call_for_others(self.attributes.read(base, "__init_subclass__"), [], {})
            self.escapes.call_for_others(self.attributes.read(base, "__mro_entries__"), [], {"*": UNKNOWN})
            for option in options(base):
                if isinstance(option, Place) and isinstance(option.value, type):
                    self.escapes.reflect(option)
                    self.escapes.follow_class(Instance(option.value), option.value, is_callable)
        for option in options(named.get("metaclass", UNKNOWN)):
            if isinstance(option, Place) and isinstance(option.value, type):
                self.escapes.follow_class(option, option.value, _is_class_maker)

    def _list_names(self, value: Any) -> Any:
        """``dir(value)``"""
        for option in options(value):
            cls = option.cls if isinstance(option, Instance) else type(getattr(option, "value", None))
            method = in_classes(cls.__mro__, "__dir__")
            if isinstance(method, FunctionType):
                self.escapes.call_for_others(
                    self.classes.class_function(cls, "__dir__", method), [option], {}
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

    def tell_class(self, subject: Any, classes: Any) -> None:
        """Whether `subject` is an instance or a subclass of one of `classes` decides something."""
        self.operations.tell_kinds(subject)
        of_user = False
        for option in options(subject):
            if isinstance(option, Instance):
                self.classes.same_bases(option.cls)
            elif isinstance(option, Place):
                cls = option.value if isinstance(option.value, type) else type(option.value)
                self.classes.same_bases(cls)
                of_user = of_user or not is_library_class(cls)
                claimed = in_classes(cls.__mro__, "__class__")
                if isinstance(claimed, property):
                    self.escapes.escape(self.classes.run_getter(option, cls, "__class__", claimed.fget))
        for option in options(classes):
            if isinstance(option, Place) and isinstance(option.value, tuple):
                self.uses.structure(option)
                self.tell_class(subject, self.contents.iterate(option))
            elif isinstance(option, Group):
                self.tell_class(subject, join(*option.items) if option.items else UNKNOWN)
            elif isinstance(option, Place):
                self.uses.same(option)
                if isinstance(option.value, abc.ABCMeta):
                    self._ask_registrations(option.value, subject, of_user)
                if isinstance(option.value, type) and type(option.value) is not type:
                    for name in ("__instancecheck__", "__subclasscheck__"):
                        self.classes.same_in_class(type(option.value), name)
                    self.escapes.follow_class(option, type(option.value), _is_class_check)
            elif isinstance(option, Constant) and isinstance(option.value, abc.ABCMeta):
                self._ask_registrations(option.value, subject, of_user)

    def _ask_registrations(self, cls: type, subject: Any, of_user: bool) -> None:
        """Guard the classes that are registered with `cls`, by the one token of all abstract classes; of
        protocols the names that the subject has. Nobody registers classes of libraries with those of
        libraries."""
        if getattr(cls, "_is_protocol", False):
            self._list_names(subject)
        if of_user or not is_library_class(cls):
            source = Source("object", abc, "abc").call("get_cache_token")
            self.uses.same(Place(source, abc.get_cache_token()))

    def get_attribute(self, name: str, positional: list[Any]) -> Any:
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

    def _super(self, positional: list[Any], run: Any) -> Any:
        if positional:
            return self.parent(*positional[:2]) if len(positional) > 1 else UNKNOWN
        cell = run.cells.get("__class__")
        cls = None if cell is None else cell.value
        names = run.code.co_varnames
        if cls is None or not names:
            return UNKNOWN
        owner = run.cells[names[0]].value if names[0] in run.code.co_cellvars else run.locals.get(names[0])
        return self.parent(cls, UNKNOWN if owner is None else owner)
