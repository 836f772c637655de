"""Attributes that classes have, themselves, for their instances and behind ``super()``, and the guards on
which class defines them."""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final, TypeAlias

from .guards import Guard, is_constant
from .libraries.origins import is_library_class, is_user_function
from .usage import Uses
from .values import (
    MISSING,
    TRACED,
    UNKNOWN,
    Bound,
    Constant,
    Instance,
    Parent,
    Place,
    Source,
    join,
)

#: Descriptors of slots and of attributes in C, which read them without running Python code.
SLOTS: Final = (MemberDescriptorType, GetSetDescriptorType)
#: Methods of builtin classes that the code which calls them by ``super()`` depends on as on the plain syntax.
_FOLLOWED: Final = (type.__call__, object.__getattribute__, type.__getattribute__)
#: The attribute by which the function that a class gives for a `functools.partialmethod` leads to it.
_PARTIAL_METHOD: Final = "__partialmethod__" if sys.version_info >= (3, 13) else "_partialmethod"

#: ``call(callee, positional, named, run, instruction)``: the result of a call that is followed. The execution
#: and its instruction are None where no instruction calls.
Call: TypeAlias = Callable[[Any, list[Any], dict[str, Any], Any, Any], Any]


class ClassAttributes:
    """Reads attributes through classes, and notes what depends on them in `uses`."""

    def __init__(self, uses: Uses, call: Call, escape: Callable[[Any], None]) -> None:
        self.uses, self.call, self.escape = uses, call, escape

    # -- guards on classes -------------------------------------------------------------------------

    def same_class(self, owner: Place) -> None:
        """The function depends on the class of what lies at `owner`."""
        if not owner.settled:
            self.uses.guard(Guard, owner.attribute("__class__", type(owner.value)), type(owner.value))

    def same_bases(self, cls: type) -> None:
        """The function depends on the classes behind `cls`, which an assignment to ``__bases__`` changes."""
        if not is_library_class(cls):
            order = cls.__mro__
            self.uses.guard(Guard, Place(_source(cls).attribute("__mro__"), order), order)

    def same_handlers(self, cls: type) -> None:
        """The function depends on which ``except`` clauses take an error of the class `cls`, by its bases."""
        if issubclass(cls, BaseException):
            self.same_bases(cls)

    def same_in_class(self, cls: type, name: str) -> None:
        """The function depends on what `cls` has as `name`, itself or from the classes behind it."""
        if is_library_class(cls):
            return
        raw = in_classes(cls.__mro__, name)
        source = _source(cls).attribute(name)
        if raw is MISSING:
            if in_classes(inspect.getmro(type(cls)), name) is MISSING and not _gives_any(type(cls)):
                self.uses.missing(Place(source, None))
                return
            self._not_in(cls.__mro__, name)
            self.same_bases(cls)
        elif _reads_by_code(cls, name, raw):
            self.uses.same(self._raw_place(cls, name, raw))
        elif isinstance(raw, classmethod):
            self.uses.guard(Guard, Place(source.attribute("__func__"), raw.__func__), raw.__func__)
        elif isinstance(raw, staticmethod):
            self.uses.guard(Guard, Place(source, raw.__func__), raw.__func__)
        elif isinstance(raw, functools.partialmethod):
            self.uses.guard(Guard, Place(source.attribute(_PARTIAL_METHOD), raw), raw)
        else:
            self.uses.same(Place(source, raw))

    def _raw_place(self, cls: type, name: str, raw: Any) -> Place:
        """The place where the class that defines an attribute of `cls` keeps it."""
        order = cls.__mro__
        position = next(k for k, each in enumerate(order) if name in vars(each))
        self._not_in(order[:position], name)
        self.same_bases(cls)
        return Place(raw_source(order[position], name), raw)

    def _value_in_class(self, cls: type, name: str, raw: Any) -> Any:
        """The attribute `name` that instances of `cls` read from it, where that is no descriptor."""
        if _reads_by_code(cls, name, raw):
            return self.uses.read(self._raw_place(cls, name, raw))
        return self.uses.read(class_place(cls).attribute(name, raw))

    def _not_in(self, classes: tuple[type, ...], name: str) -> None:
        """The function depends on none of `classes` having an attribute `name` of its own."""
        for each in classes:
            if not is_library_class(each):
                self.uses.missing(Place(raw_source(each, name), None))

    def class_function(self, cls: type, name: str, function: Any) -> Place:
        """A function that `cls` defines or inherits, guarded against another in its place."""
        place = Place(Source("object", function, getattr(function, "__qualname__", name)), function)
        place.settled = True
        if not self.may_be_replaced(cls, name, function):
            return place
        raw = in_classes(cls.__mro__, name)
        if raw is not MISSING and _reads_by_code(cls, name, raw):
            self.same_in_class(cls, name)
        else:
            source = _source(cls).attribute(name)
            current = source.read()
            expected = current if isinstance(current, FunctionType) else getattr(current, "__func__", None)
            holder = source if isinstance(current, FunctionType) else source.attribute("__func__")
            if expected is not None:
                self.uses.guard(Guard, Place(holder, expected), expected)
        return place

    def may_be_replaced(self, cls: type, name: str, function: Any) -> bool:
        """Whether the class that defines the method `function` is not a library's, nor is the function."""
        if not isinstance(function, FunctionType) or is_user_function(function):
            return True
        return not is_library_class(defining_class(cls.__mro__, name) or cls)

    def same_descriptor(self, cls: type, name: str, raw: Any) -> None:
        """The function depends on what computes the attribute `name` of instances of `cls`."""
        if _reads_by_code(cls, name, raw):
            self.same_in_class(cls, name)
        else:
            self.uses.guard(Guard, Place(_source(cls).attribute(name), raw), raw)

    # -- attributes of classes ---------------------------------------------------------------------

    def attribute_of_class(self, owner: Place, cls: type, name: str) -> Any:
        self.uses.same(owner)  # what leads to the class may lead to another one later
        meta = in_classes(inspect.getmro(type(cls)), name)
        if isinstance(meta, SLOTS):
            return self._slot_of_class(owner, cls, name, meta)
        raw = MISSING if isinstance(meta, property) else in_classes(cls.__mro__, name)
        if raw is MISSING:
            raw = meta
            if raw is MISSING:
                return self.absent(owner, type(cls), name)
            if isinstance(raw, property):
                self.same_descriptor(type(cls), name, raw)
                return self.run_getter(owner, type(cls), name, raw.fget)
            if not is_library_class(type(cls)):
                self.same_in_class(type(cls), name)
                self._not_in(cls.__mro__, name)  # which would go before the metaclass
                self.same_bases(cls)
            if isinstance(raw, FunctionType) and is_user_function(raw):
                return Bound(owner, name, self.class_function(type(cls), name, raw))
            plain = raw is not MISSING and not hasattr(type(raw), "__get__")
            return self.uses.read(owner.attribute(name, raw)) if plain else Bound(owner, name)
        if isinstance(raw, (classmethod, staticmethod)):
            function = self.class_function(cls, name, raw.__func__)
            return Bound(owner, name, function) if isinstance(raw, classmethod) else function
        if isinstance(raw, FunctionType):
            return self.class_function(cls, name, raw)
        if hasattr(type(raw), "__get__"):
            in_python = isinstance(in_classes(type(raw).__mro__, "__get__"), FunctionType)
            descriptor: Any = raw
            if not in_python and descriptor.__get__(None, cls) is raw:  # as what `functools.cache` gives
                return self.uses.read(owner.attribute(name, raw))
            self.same_in_class(type(cls), name)  # where a property would go before it
            return self.described(cls, name, raw, Constant(None))
        return self.uses.read(owner.attribute(name, raw))

    def _slot_of_class(self, owner: Place, cls: type, name: str, slot: Any) -> Any:
        """An attribute that classes keep in C: ``__mro__``, ``__bases__``, ``__name__``, ``__dict__``."""
        try:
            value = slot.__get__(cls, type(cls))
        except AttributeError:
            self.uses.missing(owner.attribute(name, None))
            return UNKNOWN
        if not is_library_class(cls):
            return self.uses.read(owner.attribute(name, value))
        if is_constant(value):
            return Constant(value)
        return Place(owner.source.attribute(name), value, settled=isinstance(value, (type, tuple)))

    def absent(self, owner: Place, cls: type, name: str) -> Any:
        """An attribute that an object of `cls` at `owner` has by ``__getattr__`` alone."""
        getter = in_classes(cls.__mro__, "__getattr__")
        if getter is MISSING:
            place = owner.attribute(name, owner.source.attribute(name).read())
            if place.value is not MISSING:  # as of threading.local, whose attributes lie elsewhere
                return self.uses.read(place)
            self.uses.missing(place)
        if not isinstance(getter, FunctionType):
            return UNKNOWN
        self.same_class(owner)
        function = self.class_function(cls, "__getattr__", getter)
        return self.call(function, [owner, Constant(name)], {}, None, None)

    def described(self, cls: type, name: str, raw: Any, instance: Any) -> Any:
        """The result of the descriptor `raw` of `cls`, followed if its ``__get__`` is the user's."""
        self.same_in_class(cls, name)
        getter = in_classes(type(raw).__mro__, "__get__")
        if not (isinstance(getter, FunctionType) and is_user_function(getter)):
            if is_library_class(cls):
                return Constant(getattr(cls, name, None))
            self.escape(Place(Source("object", raw, f"{cls.__qualname__}.{name}"), raw, settled=True))
            return UNKNOWN
        place = Place(Source("object", raw, f"{cls.__qualname__}.{name}"), raw)
        function = self.class_function(type(raw), "__get__", getter)
        return self.call(function, [place, instance, class_place(cls)], {}, None, None)

    # -- attributes of new objects -----------------------------------------------------------------

    def attribute_of_new(self, owner: Instance, name: str) -> Any:
        """An attribute of an object that the code makes: what its class has, or what it may hold itself."""
        cls = owner.cls
        if name == "__class__":
            return class_place(cls)
        raw = in_classes(cls.__mro__, name)
        if raw is MISSING:
            getter = in_classes(cls.__mro__, "__getattr__")
            if not _stores(cls, name):
                self.same_in_class(cls, name)
            if not isinstance(getter, FunctionType):
                return UNKNOWN
            function = self.class_function(cls, "__getattr__", getter)
            return join(UNKNOWN, self.call(function, [owner, Constant(name)], {}, None, None))
        if isinstance(raw, FunctionType):
            return Bound(owner, name, self.class_function(cls, name, raw))
        if isinstance(raw, (property, functools.cached_property)):
            self.same_descriptor(cls, name, raw)
            return self.run_getter(owner, cls, name, raw.fget if isinstance(raw, property) else raw.func)
        if isinstance(raw, (classmethod, staticmethod)):
            return self.attribute_of_class(class_place(cls), cls, name)
        if isinstance(raw, functools.partialmethod):
            return self.partial_method(owner, cls, name, raw)
        if hasattr(type(raw), "__get__"):
            return self.described(cls, name, raw, owner)
        return join(UNKNOWN, self._value_in_class(cls, name, raw))

    def partial_method(self, owner: Any, cls: type, name: str, raw: functools.partialmethod[Any]) -> Any:
        """A method with some arguments, of whose other ones nothing is known here."""
        self.same_in_class(cls, name)
        place = Place(_source(cls).attribute(name).attribute(_PARTIAL_METHOD), raw)
        keywords = place.attribute("keywords", raw.keywords)
        self.uses.structure(keywords)
        keyword_values = {
            key: self.uses.read(keywords.item(key, value)) for key, value in raw.keywords.items()
        }
        arguments = place.attribute("args", raw.args)
        first = [self.uses.read(arguments.item(k, value)) for k, value in enumerate(raw.args)]
        if isinstance(raw.func, FunctionType):
            function = Place(Source("object", raw.func, raw.func.__qualname__), raw.func, settled=True)
            self.escape(self.call(function, [owner, *first], {**keyword_values, "*": TRACED}, None, None))
        return UNKNOWN

    def run_getter(self, owner: Any, cls: type, name: str, getter: Any) -> Any:
        if getter is None:
            return UNKNOWN
        source = Source("object", getter, f"{cls.__qualname__}.{name}")
        return self.call(Place(source, getter, settled=True), [owner], {}, None, None)

    # -- super() -----------------------------------------------------------------------------------

    def inherited(self, parent: Parent, name: str) -> Any:
        """``super().name``"""
        owner = parent.owner
        value = owner.value if isinstance(owner, Place) else None
        of_class = isinstance(value, type) and parent.cls in value.__mro__
        cls: Any
        if isinstance(owner, Instance):
            cls = owner.cls
        elif isinstance(owner, Place):
            cls = value if of_class else type(value)
        else:
            cls = parent.cls
        self.same_bases(cls)
        order = cls.__mro__
        behind = order[order.index(parent.cls) + 1 :] if parent.cls in order else order
        defining = defining_class(behind, name)
        for each in behind[: len(behind) if defining is None else behind.index(defining)]:
            self.same_in_class(each, name)  # which may come to define it
        if defining is None:
            return UNKNOWN
        raw = vars(defining)[name]
        if isinstance(raw, FunctionType):
            function = self.class_function(defining, name, raw)
            return function if name == "__new__" else Bound(owner, name, function)
        if isinstance(raw, (classmethod, staticmethod)):
            function = self.class_function(defining, name, raw.__func__)
            receiver = owner if of_class else class_place(cls)
            return function if isinstance(raw, staticmethod) else Bound(receiver, name, function)
        if any(raw is method for method in _FOLLOWED):
            return Bound(owner, name, Constant(raw))
        if isinstance(raw, property) and not of_class:
            self.same_descriptor(defining, name, raw)
            return self.run_getter(owner, defining, name, raw.fget)
        if isinstance(raw, SLOTS) and isinstance(owner, Place) and not of_class:
            try:
                return self.uses.read(owner.attribute(name, raw.__get__(value, cls)))
            except AttributeError:
                return UNKNOWN
        if isinstance(value, (dict, list, tuple, set, frozenset)):
            return Bound(owner, name)
        if isinstance(in_classes(type(raw).__mro__, "__get__"), FunctionType) and not callable(raw):
            return self.described(defining, name, raw, owner)
        if not hasattr(type(raw), "__get__"):
            return self._value_in_class(defining, name, raw)
        self.same_in_class(defining, name)
        if callable(raw) and not isinstance(raw, type):  # decorated
            if is_library_class(defining):
                return UNKNOWN
            return Bound(owner, name, Place(_source(defining).attribute(name), raw))
        return UNKNOWN


def class_place(cls: type) -> Place:
    """The place of a class that is known to be the one there."""
    return Place(_source(cls), cls, settled=True)


def _source(cls: type) -> Source:
    return Source("object", cls, cls.__qualname__)


def raw_source(cls: type, name: str) -> Source:
    """The place where `cls` itself keeps the attribute `name`: the dict behind ``vars(cls)``, which an entry
    reads without calling descriptors."""
    (attributes,) = gc.get_referents(vars(cls))
    return Source("object", attributes, f"vars({cls.__qualname__})").item(name)


def _reads_by_code(cls: type, name: str, raw: Any) -> bool:
    """Whether reading the attribute `name` of `cls` runs code that gives something else than `raw`: of a
    descriptor's class in Python, or of the metaclass."""
    meta = in_classes(inspect.getmro(type(cls)), name)
    if meta is not MISSING and hasattr(type(meta), "__set__") and not isinstance(meta, SLOTS):
        return True
    in_python = isinstance(in_classes(type(raw).__mro__, "__get__"), FunctionType)
    return in_python and not isinstance(raw, (functools.cached_property, functools.partialmethod))


def _stores(cls: type, name: str) -> bool:
    """Whether a method of `cls` assigns an attribute, which its objects then may have themselves."""
    codes = [
        raw.__code__ for each in cls.__mro__ for raw in vars(each).values() if isinstance(raw, FunctionType)
    ]
    return any(
        instruction.opname == "STORE_ATTR" and instruction.argval == name
        for code in codes
        if name in code.co_names
        for instruction in dis.get_instructions(code)
    )


def _gives_any(metaclass: type) -> bool:
    """Whether reading an attribute of a class runs code of its metaclass."""
    return any(
        isinstance(in_classes(metaclass.__mro__, name), FunctionType)
        for name in ("__getattr__", "__getattribute__")
    )


def in_classes(classes: tuple[type, ...], name: str) -> Any:
    """The raw attribute `name` of the first of `classes` that has one, without binding; else `MISSING`."""
    for cls in classes:
        if name in vars(cls):
            return vars(cls)[name]
    return MISSING


def defining_class(classes: tuple[type, ...], name: str) -> type | None:
    """The first of `classes` that has an attribute `name` of its own."""
    return next((cls for cls in classes if name in vars(cls)), None)
