"""Escape analysis: the objects that code hands to callees that are not followed, which may read all of
them."""

from __future__ import annotations

import contextvars
import ctypes
import enum
import functools
import gc
import inspect
import io
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ..base.loading import Loaded
from ..tensors.tensor import Tensor
from .asking import Asking
from .attributes import METHODS, SEQUENCES, Attributes, instance_dict, instance_has_dict
from .classes import SLOTS, Call, in_classes
from .guards import is_constant
from .libraries.library import GENERATORS
from .libraries.origins import is_library, is_library_class, is_own, is_standard, is_user_function
from .libraries.probes import CacheEntries
from .libraries.process_state import ProcessState
from .usage import Uses
from .values import (
    PLAIN,
    UNKNOWN,
    Bound,
    Cell,
    Closure,
    Group,
    Instance,
    Iteration,
    Place,
    Source,
    Transformed,
    join,
    options,
)

#: Most values that are looked at where a container is handed to code that is not followed.
_MAX_CONTENTS: Final = 20_000
#: Methods that make objects and end them, which nobody calls on the way.
_MAKING: Final = frozenset(
    ("__init__", "__new__", "__del__", "__init_subclass__", "__class_getitem__", "__set_name__",
     "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__post_init__")
)  # fmt: skip
#: Objects that hold numbers in memory of their own.
_BUFFERS: Final = Loaded("array:array", "builtins:bytearray", "builtins:memoryview")
#: Classes of numbers whose arithmetic follows a context, and of that context.
_DECIMALS: Final = Loaded("decimal:Decimal")
_DECIMAL_CONTEXTS: Final = Loaded("decimal:Context")
#: Modules whose classes call no methods that users define.
_WITHOUT_CALLS: Final = frozenset(("builtins", "abc", "typing", "enum", "types", "collections"))
#: Types and modules of objects in C that hold what cannot be read without changing them.
HIDING: Final = (io.IOBase, contextvars.Context, ctypes._SimpleCData, ctypes.Array, ctypes.Structure)
HIDING_MODULES: Final = frozenset(("itertools", "mmap", "sqlite3", "_thread", "_ctypes", "_hashlib", "zlib"))
#: Methods of such objects that tell nothing.
SILENT: Final = frozenset(
    ("write", "writelines", "flush", "close", "acquire", "release", "__enter__", "__exit__", "__iter__")
)

#: Objects in C that hold others.
_HOLDERS: Final[tuple[type, ...]] = (
    type({}.keys()), type({}.values()), type({}.items()), type(functools.cmp_to_key(max)),
    operator.methodcaller,
)  # fmt: skip


class Escapes:
    """Calls that leave the code that is followed."""

    def __init__(self, uses: Uses, attributes: Attributes, asking: Asking, call: Call) -> None:
        self.uses, self.attributes, self.asking, self.call = uses, attributes, asking, call
        self.classes, self.state = attributes.classes, ProcessState(uses)
        self._contents = 0
        self._followed_classes: set[tuple[type, type, Any]] = set()
        self._inside: set[int] = set()
        #: The groups whose items are being handed over, by identity: one may be in many others.
        self._groups: dict[int, Group] = {}

    def escape(self, value: Any) -> None:
        """`value` is handed to code that is not followed, which may look at everything in it."""
        if type(value) in PLAIN:
            return
        for option in options(value):
            if isinstance(option, Place):
                self._escape_place(option)
            elif isinstance(option, Group):
                self._escape_group(option)
            elif isinstance(option, Iteration):
                self.escape(option.element)
            elif isinstance(option, Cell):
                self.escape(UNKNOWN if option.value is None else option.value)
            elif isinstance(option, Bound):
                self._escape_bound(option)
            elif isinstance(option, Transformed):
                self.escape(option.function)
            elif isinstance(option, Instance):
                self.follow_class(option, option.cls, is_callable)
            elif isinstance(option, Closure):
                self.call_for_others(option, [], {"*": UNKNOWN})

    def _escape_group(self, group: Group) -> None:
        if id(group) in self._groups:
            return
        is_outermost = not self._groups
        self._groups[id(group)] = group
        try:
            for item in group.items:
                self.escape(item)
        finally:
            if is_outermost:
                self._groups.clear()

    def call_for_others(self, callee: Any, positional: list[Any], named: dict[str, Any]) -> None:
        """Code that is not followed calls `callee`, and gets what that gives."""
        self.escape(self.call(callee, positional, named, None, None))

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
                self.call_for_others(callback, [], {"*": handed})
        for value in arguments:
            self.escape(value)
        return UNKNOWN

    def _inside_of(self, value: Any) -> Any:
        """The elements of containers; of lists, dicts and sets one of each type, which has the methods."""
        inside: list[Any] = [UNKNOWN]
        for option in options(value):
            held = option.value if isinstance(option, Place) else None
            if isinstance(held, (dict, *SEQUENCES)):
                pairs = list(held.items() if isinstance(held, dict) else enumerate(held))
                first_keys = {type(element): key for key, element in reversed(pairs)}
                inside += [self.uses.read(option.item(key, held[key])) for key in first_keys.values()]
            elif isinstance(held, (set, frozenset)):
                for element in {type(element): element for element in held}.values():
                    inside.append(Place(Source("object", element, "an element"), element, settled=True))
            elif isinstance(option, Group):
                inside += option.items
            elif isinstance(option, Iteration):
                inside.append(option.element)
        return join(*inside)

    def _escape_bound(self, bound: Bound) -> None:
        if bound.function is not None:
            self.call_for_others(bound, [], {"*": UNKNOWN})
        else:
            self.escape(bound.owner)

    def _escape_place(self, place: Place) -> None:
        value = place.value
        if isinstance(value, type) and type(value) is not type:
            self.follow_class(place, type(value), is_special)
        if place.settled and isinstance(value, (ModuleType, type)):
            return
        if isinstance(value, np.ndarray) or is_constant(value):
            self.uses.inspect(place)
            if not (is_library_class(type(value)) or isinstance(value, enum.Enum)):
                self._escape_contents(place)
            elif isinstance(value, np.ndarray) and value.dtype.hasobject:
                for element in value.flat:
                    self.escape(
                        Place(Source("object", element, f"{place.source}[...]"), element, settled=True)
                    )
        elif isinstance(value, Tensor):
            return
        elif isinstance(value, (MethodType, functools.partial)) or (
            isinstance(value, FunctionType) and is_user_function(value)
        ):
            self.call_for_others(place, [], {"*": UNKNOWN})
        elif isinstance(value, (types.BuiltinFunctionType, type, FunctionType, np.ufunc)):
            self.uses.same(place)
            self.asking.note_asking(value, [UNKNOWN])
            self.escape_closure(value)
            if isinstance(value, type):
                self._escape_class(place, value)
        elif not isinstance(value, ModuleType):
            self._escape_contents(place)

    def _escape_contents(self, place: Place) -> None:
        value = place.value
        if id(value) in self._inside:  # by another way
            self.uses.same(place)
            return
        self._contents += 1
        if self._contents > _MAX_CONTENTS:
            if self._contents == _MAX_CONTENTS + 1:
                self.uses.give_up(f"{place.source} and more: it reads over {_MAX_CONTENTS:,} objects")
            return
        self._inside.add(id(value))
        self.uses.structure(place)
        if isinstance(value, (dict, MappingProxyType)):
            for key, item in list(value.items()):
                self.escape(self.uses.read(place.item(key, item)))
        elif isinstance(value, SEQUENCES):
            for position, item in enumerate(list(value)):
                self.escape(self.uses.read(place.item(position, item)))
        else:
            attributes = attributes_of(value)
            for name, item in attributes:
                self.escape(self.uses.read(place.attribute(name, item)))
            if isinstance(value, _BUFFERS()):
                self.uses.give_up(f"{place.source}: the elements of an object of {type(value).__name__}")
            elif not attributes:  # all there is to it is which one it is
                self.uses.same(place)
            self._escape_held(place)
            if isinstance(value, _DECIMALS()):
                self.state.watch("the arithmetic of decimal")
            if isinstance(value, functools._lru_cache_wrapper) and not is_library(value.__module__):
                probe = Place(Source("object", CacheEntries(value), f"the cache of {place.source}"), value)
                self.uses.kept.append(probe.attribute("removed", False))
            if isinstance(value, weakref.ReferenceType):
                self.escape(self.uses.read(place.call(value())))
            if isinstance(value, weakref.finalize):
                self.escape(self.uses.read(place.attribute("alive", value.alive)))
            if not is_library_class(type(value)):
                self.classes.same_class(place)
            self.follow_class(place, type(value), is_callable if extends_library(value) else is_special)

    def note_hidden(self, place: Place) -> None:
        """The function asks an object in C what it holds, which cannot be read without changing it."""
        if isinstance(place.value, HIDING) or type(place.value).__module__ in HIDING_MODULES:
            self.uses.give_up(f"{place.source}: what an object of {type(place.value).__name__} holds")

    def show(self, value: Any) -> None:
        """`value` becomes text: of NumPy's arrays and scalars that depends on its print options."""
        for option in options(value):
            if option is UNKNOWN or isinstance(option, (Group, Iteration)):
                self.uses.shows_arrays |= not self.asking.trail.words_an_error()
            held = option.value if isinstance(option, Place) else None
            inside: Any = (
                held.values() if isinstance(held, dict) else held if isinstance(held, SEQUENCES) else ()
            )
            if any(isinstance(each, (np.ndarray, np.generic)) for each in (held, *inside)):
                self.state.watch("the print options of NumPy")

    def reflect(self, value: Any) -> None:
        """`value` is handed to code that looks at how functions, classes and modules are made."""
        for option in options(value):
            if not isinstance(option, Place):
                continue
            held = option.value
            if isinstance(held, FunctionType) and is_user_function(held):
                for name in ("__code__", "__defaults__", "__kwdefaults__", "__annotations__", "__dict__"):
                    self._reflect_part(option, name, getattr(held, name))
            elif isinstance(held, ModuleType):
                self._reflect_part(option, "__dict__", vars(held))
            elif not is_constant(held):
                cls = held if isinstance(held, type) else type(held)
                self.classes.same_bases(cls)
                if cls is not held and instance_has_dict(held) and METHODS not in instance_dict(held):
                    self._reflect_part(option, "__dict__", instance_dict(held))
                for each in (*cls.__mro__, *(inspect.getmro(type(held)) if isinstance(held, type) else ())):
                    if not is_library_class(each):
                        (attributes,) = gc.get_referents(vars(each))
                        source = Source("object", attributes, f"vars({each.__qualname__})")
                        self._reflect_items(Place(source, attributes))

    def note_copied(self, value: Any) -> None:
        """`value` is copied, with the states of generators of random numbers in it."""
        seen = set[int]()
        rest = [*options(value)]
        while rest and len(seen) < _MAX_CONTENTS:
            option = rest.pop()
            if isinstance(option, Group):
                rest += [each for item in option.items for each in options(item)]
            held = option.value if isinstance(option, Place) else option
            if id(held) in seen or type(held) in PLAIN or isinstance(held, (type, ModuleType, FunctionType)):
                continue
            seen.add(id(held))
            if isinstance(held, GENERATORS()):
                self.uses.copied.add(id(held))
            elif isinstance(held, dict):
                rest += held.values()
            elif isinstance(held, (*SEQUENCES, set, frozenset)):
                rest += held
            else:
                rest += [item for _, item in attributes_of(held)]

    def _reflect_part(self, owner: Place, name: str, value: Any) -> None:
        """Guard `value`, which `owner` keeps in C as `name`, and which objects lie in it."""
        part = owner.attribute(name, value)
        if not isinstance(value, (dict, MappingProxyType, tuple)):
            self.uses.same(part)
            return
        self._reflect_items(part)

    def _reflect_items(self, part: Place) -> None:
        value = part.value
        self.uses.structure(part)
        for key, item in list(value.items() if not isinstance(value, tuple) else enumerate(value)):
            if isinstance(item, (dict, *SEQUENCES)):
                self.escape(self.uses.read(part.item(key, item)))
            elif key != "__dict__":
                self.uses.same(part.item(key, item))

    def _escape_class(self, place: Place, cls: type) -> None:
        """Code that is not followed gets a class of the user's: it may read what that has."""
        if is_library(cls.__module__) or id(cls) in self._inside:
            return
        self._inside.add(id(cls))
        for name, item in list(vars(cls).items()):
            if name == "__annotations__" or not (name[:2] == "__" or hasattr(type(item), "__get__")):
                self.escape(self.uses.read(place.attribute(name, item)))
        self.follow_class(Instance(cls), cls, is_callable)

    def escape_closure(self, function: Any) -> None:
        """Functions of the user's that a function of the standard library or of NumPy made of them holds: it
        calls them, as those of `functools.singledispatch`, `contextlib.contextmanager` and `numpy.frompyfunc`
        do."""
        if isinstance(function, np.ufunc):
            for held in filter(callable, gc.get_referents(function)):
                source = Source("object", held, f"the function of {function.__name__}")
                self.call_for_others(Place(source, held, settled=True), [], {"*": UNKNOWN})
        if not isinstance(function, FunctionType) or is_own(function.__globals__.get("__name__")):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            content = cell.cell_contents
            if isinstance(content, (FunctionType, MethodType, functools.partial, dict)):
                self.escape(Place(Source("cell", cell, name), content))

    def _escape_held(self, place: Place) -> None:
        """Contents of an object in C that has no attributes, such as a view of a dict."""
        if is_library(type(place.value).__module__) and isinstance(place.value, _HOLDERS):
            for held in gc.get_referents(place.value):
                if not isinstance(held, (type, ModuleType)):
                    source = Source("object", held, f"what {place.source} holds")
                    self.escape(Place(source, held, settled=True))

    def follow_class(self, instance: Any, cls: type, is_called: Callable[[str], bool]) -> None:
        """Follow the methods that somebody who has `instance`, an object of `cls`, may call.

        `is_called`, a function of a module, says by their names which methods those are.
        """
        key = cls, type(instance), is_called
        if key in self._followed_classes:
            return
        self._followed_classes.add(key)
        for name in [name for base in cls.__mro__ for name in vars(base) if is_called(name)]:
            raw = in_classes(cls.__mro__, name)
            function = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
            if isinstance(function, FunctionType) and is_user_function(function):
                if is_special(name):
                    self.classes.same_in_class(cls, name)
                place = Place(Source("object", function, function.__qualname__), function, settled=True)
                owner = Instance(cls) if name == "__setstate__" else instance  # of a copy
                self.call_for_others(place, [owner], {"*": UNKNOWN})


def _is_callback(value: Any) -> bool:
    """Whether `value` is a function of the user's, which is followed where it is called."""
    if isinstance(value, Place):
        function = value.value
        return isinstance(
            function, (MethodType, functools.partial, operator.attrgetter, operator.methodcaller)
        ) or (isinstance(function, FunctionType) and is_user_function(function))
    return isinstance(value, Closure) or (isinstance(value, Bound) and value.function is not None)


def extends_library(value: Any) -> bool:
    """Whether the class of `value` is the user's and has a base in Python's own modules, whose methods may
    call those of the class."""
    cls = type(value)
    return not is_library_class(cls) and any(
        is_standard(base.__module__) and base.__module__ not in _WITHOUT_CALLS for base in cls.__mro__
    )


def is_callable(name: str) -> bool:
    """Whether a method is one that code calls of an object that there is."""
    return name not in _MAKING


def is_special(name: str) -> bool:
    """Whether a method is one that Python calls itself, of an object that there is."""
    return name[:2] == "__" and name not in _MAKING


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """The attributes of an instance: of its own, and in slots."""
    attributes = [(name, item) for name, item in instance_dict(value).items() if name != METHODS]
    for cls in type(value).__mro__:
        for name, raw in list(vars(cls).items()):
            is_slot = isinstance(raw, types.MemberDescriptorType)
            if (
                (is_slot or isinstance(value, _DECIMAL_CONTEXTS()))
                and isinstance(raw, SLOTS)
                and name[:2] != "__"
            ):
                try:
                    attributes.append((name, raw.__get__(value, cls)))
                except AttributeError:
                    continue
    return attributes
