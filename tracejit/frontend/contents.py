"""Items and elements of containers, and everything in them where code that is not followed gets them."""

from __future__ import annotations

import array
import enum
import functools
import os
import re
import types
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from ..eager.tensor import Tensor
from .attributes import METHODS, SEQUENCES, Attributes, in_classes, instance_dict, is_user_function
from .guards import is_constant
from .library import TELLING, asks_for_values, makes_array, may_be_traced, takes_list, writes_items
from .values import (
    MISSING,
    MOST_ALTERNATIVES,
    PLAIN,
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
    choice_of,
    join,
    options,
)

#: How many values are looked at where a container is handed to code that is not followed.
_MOST_CONTENTS: Final = 20_000
_INSTALLED: Final = re.compile(
    rf"[\\/](site|dist)-packages[\\/]|^{re.escape(os.path.dirname(os.__file__))}[\\/]|^<frozen "
)
#: Methods that make objects, copy them and end them, which nobody calls on the way.
_MAKING: Final = frozenset(
    ("__init__", "__new__", "__del__", "__init_subclass__", "__class_getitem__", "__set_name__", "__reduce__",
     "__reduce_ex__", "__getstate__", "__setstate__", "__getattr__", "__getattribute__", "__setattr__",
     "__delattr__", "__post_init__", "__repr__", "__dir__", "__sizeof__")
)  # fmt: skip
#: Objects that hold numbers in memory of their own.
_BUFFERS: Final = (array.array, bytearray, memoryview)

#: Hashes of objects that are told apart by identity; members of enums are, too.
_IDENTITY_HASHES: Final[tuple[Any, ...]] = (object.__hash__, enum.Enum.__hash__)


class Contents(Attributes):
    """What containers hold."""

    #: The code that is being followed, callers first.
    _running: list[CodeType]

    def __init__(self) -> None:
        super().__init__()
        self._contents = 0
        self._followed_classes: set[tuple[type, type]] = set()
        self._inside: set[int] = set()
        #: Code that may have what a traced mask selects, by identity.
        self._selecting: set[int] = set()

    def item(self, owner: Any, key: Any) -> Any:
        """``owner[key]``"""
        return join(*[self._item(option, key) for option in options(owner)])

    def _item(self, owner: Any, key: Any) -> Any:
        if owner is TRACED:
            self.note_selecting(key)
            self.escape(key)
            return TRACED
        if isinstance(owner, Group):
            return self._item_of_group(owner, key)
        if isinstance(owner, Iteration):
            self.escape(key)
            return owner.element
        if isinstance(owner, Constant):
            self.escape(key)
            return UNKNOWN
        if isinstance(owner, Instance):
            return self.call(self.attribute(owner, "__getitem__"), [key], {}, None, None)
        if not isinstance(owner, Place):
            self.note_selecting(key)
            self.note_key(key)
            self.escape(key)
            return UNKNOWN
        value = owner.value
        self.note_asking(value, [key])
        if isinstance(value, Tensor):
            self.escape(key)
            return TRACED
        if isinstance(value, (dict, MappingProxyType, *SEQUENCES)):
            return self._item_of_container(owner, key)
        if isinstance(value, np.ndarray):
            self.note_key(key)
        method = in_classes(type(value).__mro__, "__getitem__")
        if isinstance(method, FunctionType) and is_user_function(method):
            return self.call(self._attribute(owner, "__getitem__"), [key], {}, None, None)
        self.escape(owner)
        self.escape(key)
        return UNKNOWN

    def note_key(self, key: Any) -> None:
        """Note that the code that is followed reads or writes items by `key`, if that is traced."""
        parts = key.items if isinstance(key, Group) else (key,)
        if any(option is TRACED for part in parts for option in options(part)):
            self.uses.asking.add(id(self._running[-1]))

    def note_selecting(self, key: Any = TRACED) -> None:
        """Note that the code that is followed may have what a mask selects, if `key` may be traced: Python's
        ``len`` would ask for a number there."""
        if self._running and may_be_traced(key):
            self._selecting.add(id(self._running[-1]))

    def note_length(self) -> None:
        """Note that the code that is followed asks for the length of what is traced."""
        if self._running and id(self._running[-1]) in self._selecting:
            self.uses.asking.add(id(self._running[-1]))

    def note_asking(self, function: Any, arguments: Sequence[Any]) -> None:
        """Note that the code that is followed uses `function`, if that asks for the values of `arguments`, or
        makes an array that cannot hold what the code writes to it."""
        code = self._running[-1] if self._running else None
        if code is None or id(code) in self.uses.asking:
            return
        if takes_list(function, arguments):
            self.uses.asking.add(id(code))
        elif asks_for_values(function):
            about_one = any(function is each for each in TELLING)
            if any(map(may_be_traced, arguments[:1] if about_one else arguments)):
                self.uses.asking.add(id(code))
        elif makes_array(function) and writes_items(code):
            self.uses.asking.add(id(code))

    def _item_of_group(self, group: Group, key: Any) -> Any:
        literal = key.value if isinstance(key, Constant) else MISSING
        if group.kind == "dict":
            if group.keys is not None and literal in group.keys:
                return group.items[group.keys.index(literal)]
        elif isinstance(literal, int) and -len(group.items) <= literal < len(group.items):
            return group.items[literal]
        self.look_up(key)
        return group if isinstance(literal, slice) else choice_of(group.items)

    def _item_of_container(self, owner: Place, key: Any) -> Any:
        container = owner.value
        keys = [self._known_key(option) for option in options(key)]
        if all(literal is not MISSING for literal in keys):
            return choice_of([self._at(owner, literal) for literal in keys])
        self.look_up(key)
        is_mapping = isinstance(container, (dict, MappingProxyType))
        return self.values_of(owner) if is_mapping else self.iterate(owner)

    def look_up(self, key: Any) -> None:
        """`key` is looked for in a container, by its hash: of most objects that is their identity."""
        for option in options(key):
            if isinstance(option, Place) and type(option.value).__hash__ in _IDENTITY_HASHES:
                self.uses.same(option)
        self.escape(key)

    def _known_key(self, key: Any) -> Any:
        """The key, if it is known; a number that lies elsewhere is guarded."""
        if isinstance(key, Constant):
            return key.value
        if isinstance(key, Place) and is_constant(key.value):
            self.uses.same(key)
            return key.value
        return MISSING

    def _at(self, owner: Place, key: Any) -> Any:
        container = owner.value
        if isinstance(key, slice) and isinstance(container, (list, tuple)):
            self.uses.structure(owner)
            positions = range(len(container))[key]
            return Group("list", tuple([self._at(owner, position) for position in positions]))
        try:
            value = dict.__getitem__(container, key) if isinstance(container, dict) else container[key]
        except (LookupError, TypeError):
            self.uses.missing(owner.item(key, None))
            return UNKNOWN
        return self.place(owner.item(key, value))

    def freeze(self, call: str, callee: Any) -> None:
        """Note that the user's own code calls `callee`, which gives something else each time. What packages
        and the standard library call is their affair: they are followed into branches that nobody takes."""
        if not any(_INSTALLED.search(code.co_filename) for code in self._running):
            self.uses.frozen[call] = getattr(callee, "__self__", None)

    def iterate(self, value: Any) -> Any:
        """What ``for element in value`` gives."""
        return join(*[self._iterate(option) for option in options(value)])

    def _iterate(self, value: Any) -> Any:
        if value is TRACED:
            return TRACED
        if isinstance(value, Iteration):
            return value.element
        if isinstance(value, Group):
            return choice_of(map(Constant, value.keys) if value.keys is not None else value.items)
        if isinstance(value, Constant) and isinstance(value.value, (tuple, str, frozenset)):
            return choice_of(map(Constant, list(value.value)[:MOST_ALTERNATIVES]))
        if isinstance(value, Instance):
            self.escape(value)
        if not isinstance(value, Place):
            return UNKNOWN
        container = value.value
        if isinstance(container, Tensor):
            return TRACED
        if isinstance(container, dict):
            self.uses.structure(value)
            return choice_of([Constant(key) for key in container]) if len(container) < 1000 else UNKNOWN
        if isinstance(container, SEQUENCES):
            self.uses.structure(value)
            return self._elements(value, [(i, element) for i, element in enumerate(container)])
        if isinstance(container, Iterator):  # which gives others to each call
            self.freeze("next", next)
        method = in_classes(type(container).__mro__, "__iter__")
        if isinstance(method, FunctionType) and is_user_function(method):
            return self.iterate(self.call(self._attribute(value, "__iter__"), [], {}, None, None))
        self.escape(value)
        return UNKNOWN

    def values_of(self, owner: Place) -> Any:
        """The values of a dict."""
        self.uses.structure(owner)
        return self._elements(owner, list(owner.value.items()))

    def _elements(self, owner: Place, pairs: list[tuple[Any, Any]]) -> Any:
        if len(pairs) <= MOST_ALTERNATIVES:
            return choice_of([self.place(owner.item(key, element)) for key, element in pairs])
        for key, element in pairs:
            place = owner.item(key, element)
            if is_constant(element):
                self.uses.inspect(place)
            else:
                self.escape(self.place(place))
        return UNKNOWN

    def unpack(self, value: Any, count: int) -> list[Any]:
        """The `count` values that an assignment takes out of `value`."""
        if isinstance(value, Group) and len(value.items) == count and value.kind != "dict":
            return list(value.items)
        if isinstance(value, Place) and isinstance(value.value, SEQUENCES) and len(value.value) == count:
            self.uses.structure(value)
            return [self._at(value, position) for position in range(count)]
        return [self.iterate(value)] * count

    # -- what leaves the code that is followed -----------------------------------------------------

    def escape(self, value: Any) -> None:
        """`value` is handed to code that is not followed, which may look at everything in it."""
        if type(value) in PLAIN:
            return
        for option in options(value):
            if isinstance(option, Place):
                self._escape_place(option)
            elif isinstance(option, Group):
                for item in option.items:
                    self.escape(item)
            elif isinstance(option, Iteration):
                self.escape(option.element)
            elif isinstance(option, Cell):
                self.escape(UNKNOWN if option.value is None else option.value)
            elif isinstance(option, Bound):
                self._escape_bound(option)
            elif isinstance(option, Transformed):
                self.escape(option.function)
            elif isinstance(option, Instance):
                self._follow_class(option, option.cls, lambda name: name not in _MAKING)
            elif isinstance(option, Closure):
                self.call(option, [], {"*": UNKNOWN}, None, None)

    def _escape_bound(self, bound: Bound) -> None:
        if bound.function is not None:
            self.call(bound, [], {"*": UNKNOWN}, None, None)
        else:
            self.escape(bound.owner)

    def _escape_place(self, place: Place) -> None:
        value = place.value
        if place.settled and isinstance(value, (ModuleType, type)):
            return
        if isinstance(value, np.ndarray) or is_constant(value):
            self.uses.inspect(place)
        elif isinstance(value, Tensor):
            return
        elif isinstance(value, (MethodType, functools.partial)) or (
            isinstance(value, FunctionType) and is_user_function(value)
        ):
            self.call(place, [], {"*": UNKNOWN}, None, None)
        elif isinstance(value, (types.BuiltinFunctionType, type, FunctionType, np.ufunc)):
            self.uses.same(place)
            self.note_asking(value, [UNKNOWN])
        elif not isinstance(value, ModuleType):
            self._escape_contents(place)

    def _escape_contents(self, place: Place) -> None:
        value = place.value
        if id(value) in self._inside:  # by another way
            self.uses.same(place)
            return
        self._contents += 1
        if self._contents > _MOST_CONTENTS:
            if self._contents == _MOST_CONTENTS + 1:
                self.uses.give_up(f"{place.source} and more: it reads over {_MOST_CONTENTS:,} objects")
            return
        self._inside.add(id(value))
        self.uses.structure(place)
        if isinstance(value, (dict, MappingProxyType)):
            for key, item in list(value.items()):
                self.escape(self.place(place.item(key, item)))
        elif isinstance(value, SEQUENCES):
            for position, item in enumerate(list(value)):
                self.escape(self.place(place.item(position, item)))
        else:
            attributes = attributes_of(value)
            for name, item in attributes:
                self.escape(self.place(place.attribute(name, item)))
            if isinstance(value, _BUFFERS):
                self.uses.give_up(f"{place.source}: the elements of an object of {type(value).__name__}")
            elif not attributes:  # all there is to it is which one it is
                self.uses.same(place)
            self._follow_class(place, type(value), lambda name: name[:2] == "__" and name not in _MAKING)

    def _follow_class(self, instance: Any, cls: type, is_called: Callable[[str], bool]) -> None:
        """Follow the methods that somebody who has `instance`, an object of `cls`, may call."""
        if (cls, type(instance)) in self._followed_classes:
            return
        self._followed_classes.add((cls, type(instance)))
        for name in [name for base in cls.__mro__ for name in vars(base) if is_called(name)]:
            raw = in_classes(cls.__mro__, name)
            function = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
            if isinstance(function, FunctionType) and is_user_function(function):
                place = Place(Source("object", function, function.__qualname__), function, settled=True)
                self.call(place, [instance], {"*": UNKNOWN}, None, None)


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """The attributes of an instance: of its own, and in slots."""
    attributes = [(name, item) for name, item in instance_dict(value).items() if name != METHODS]
    for cls in type(value).__mro__:
        for name, raw in list(vars(cls).items()):
            if isinstance(raw, types.MemberDescriptorType) and not name.startswith("__"):
                try:
                    attributes.append((name, raw.__get__(value, cls)))
                except AttributeError:
                    continue
    return attributes
