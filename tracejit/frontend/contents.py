"""Items and elements of containers, and everything in them where code that is not followed gets them."""

from __future__ import annotations

import collections
import enum
import os
import re
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Final

import numpy as np

from ..eager.tensor import Tensor
from .attributes import SEQUENCES
from .classes import in_classes
from .escapes import Escapes
from .guards import is_constant
from .libraries.library import TELLING, asks_for_values, makes_array, may_be_traced, takes_list, writes_items
from .libraries.origins import is_user_function
from .values import (
    MISSING,
    MOST_ALTERNATIVES,
    TRACED,
    UNKNOWN,
    Bound,
    Constant,
    Group,
    Instance,
    Iteration,
    Place,
    choice_of,
    join,
    options,
)

_INSTALLED: Final = re.compile(
    rf"[\\/](site|dist)-packages[\\/]|^{re.escape(os.path.dirname(os.__file__))}[\\/]|^<frozen "
)
#: Hashes of objects that are told apart by identity; members of enums are, too.
_IDENTITY_HASHES: Final[tuple[Any, ...]] = (object.__hash__, enum.Enum.__hash__)


class Contents(Escapes):
    """Abstract reads of the contents of containers."""

    #: The code that is being followed, callers first.
    _running: list[CodeType]

    def __init__(self) -> None:
        super().__init__()
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
        if isinstance(value, np.ndarray):
            self.note_key(key)
        for name in ("__getitem__", "__class_getitem__") if isinstance(value, type) else ("__getitem__",):
            method = in_classes(value.__mro__ if name[2] == "c" else type(value).__mro__, name)
            method = getattr(method, "__func__", method)
            if isinstance(method, FunctionType) and is_user_function(method):
                return self.call(self._attribute(owner, name), [key], {}, None, None)
        if isinstance(value, (dict, MappingProxyType, *SEQUENCES)):
            return self._item_of_container(owner, key)
        self.note_hidden(owner)
        self.escape(owner)
        self.escape(key)
        return UNKNOWN

    def special(self, value: Any, name: str) -> Any:
        """The special method `name` of what lies at a place, if its class is the user's and has one; else
        None."""
        method = in_classes(type(value.value).__mro__, name) if isinstance(value, Place) else None
        if isinstance(method, FunctionType) and is_user_function(method):
            self._of_class(value)
            return Bound(value, name, self._class_function(type(value.value), name, method))
        return None

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
            if isinstance(in_classes(type(container).__mro__, "__missing__"), FunctionType):
                return self.call(
                    self._attribute_of_instance(owner, "__missing__"), [Constant(key)], {}, None, None
                )
            factory = getattr(container, "default_factory", None)
            if factory is not None and isinstance(container, collections.defaultdict):
                self.call_for_others(self.place(owner.attribute("default_factory", factory)), [], {})
            return UNKNOWN
        return self.place(owner.item(key, value))

    def freeze(self, call: str, callee: Any) -> None:
        """Note that the user's own code calls `callee`, which gives something else each time. What packages
        and the standard library call is their affair: they are followed into branches that nobody takes."""
        if not any(_INSTALLED.search(code.co_filename) for code in self._running):
            self.uses.frozen[call] = getattr(callee, "__self__", None)

    def draw_seed(self, maker: Any) -> None:
        """Note that the user's own code makes a generator by `maker` whose seed the system draws."""
        module = "np.random" if maker.__module__.startswith("numpy") else maker.__module__
        name = f"{module}.{maker.__name__}"
        if self.is_certain():
            self.uses.unseeded[name] = None
        else:
            self.freeze(name, maker)

    def is_certain(self) -> bool:
        """Whether each call of the function runs the instruction that is followed."""
        raise NotImplementedError

    def give_up_reading(self, what: str) -> None:
        """Note that the user's own code reads what cannot be watched; of packages it is their affair."""
        self.uses.unwatched[what] = None
        if not any(_INSTALLED.search(code.co_filename) for code in self._running):
            self.uses.beyond[what] = None

    def iterate(self, value: Any) -> Any:
        """The value of ``element`` in ``for element in value``: the alternatives of all elements."""
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
        method = self.special(value, "__iter__")
        if method is not None:
            iterator = self.call(method, [], {}, None, None)
            return self.iterate(iterator) if iterator != value else self.following(value)
        if isinstance(container, (dict, MappingProxyType)):
            self.uses.structure(value)
            return choice_of([Constant(key) for key in container]) if len(container) < 1000 else UNKNOWN
        if isinstance(container, SEQUENCES):
            self.uses.structure(value)
            return self._elements(value, [(i, element) for i, element in enumerate(container)])
        if isinstance(container, Iterator):  # which gives others to each call
            self.freeze("next", next)
        self.escape(value)
        return UNKNOWN

    def following(self, iterator: Any) -> Any:
        """The value of ``next(iterator)``, where the iterator's class is the user's."""
        return self.call(self.attribute(iterator, "__next__"), [], {}, None, None)

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
