"""Items and elements of containers, and everything in them where code that is not followed gets them."""

from __future__ import annotations

import collections
import enum
from collections.abc import Iterator
from types import FunctionType, MappingProxyType
from typing import Any, Final

import numpy as np

from ..tensors.generator_states import kind_of
from ..tensors.tensor import Tensor
from .asking import Asking
from .attributes import SEQUENCES, Attributes
from .classes import Call, in_classes
from .escapes import Escapes
from .guards import is_constant
from .libraries.origins import is_user_function
from .usage import Uses
from .values import (
    MAX_ALTERNATIVES,
    MISSING,
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

#: Hashes of objects that are told apart by identity; members of enums are, too.
_IDENTITY_HASHES: Final[tuple[Any, ...]] = (object.__hash__, enum.Enum.__hash__)


class Contents:
    """Abstract reads of the contents of containers."""

    def __init__(
        self, uses: Uses, attributes: Attributes, escapes: Escapes, asking: Asking, call: Call
    ) -> None:
        self.uses, self.attributes, self.escapes, self.asking = uses, attributes, escapes, asking
        self.classes, self.trail, self.call = attributes.classes, asking.trail, call

    def item(self, owner: Any, key: Any) -> Any:
        """``owner[key]``"""
        return join(*[self._item(option, key) for option in options(owner)])

    def _item(self, owner: Any, key: Any) -> Any:
        if owner is TRACED:
            self.asking.note_selecting(key)
            self.escapes.escape(key)
            return TRACED
        if isinstance(owner, Group):
            return self.item_of_group(owner, key)
        if isinstance(owner, Iteration):
            self.escapes.escape(key)
            return owner.element
        if isinstance(owner, Constant):
            self.escapes.escape(key)
            return UNKNOWN
        if isinstance(owner, Instance):
            return self.call(self.attributes.read(owner, "__getitem__"), [key], {}, None, None)
        if not isinstance(owner, Place):
            self.asking.note_selecting(key)
            self.asking.note_key(key)
            self.escapes.escape(key)
            return UNKNOWN
        value = owner.value
        self.asking.note_asking(value, [key])
        if isinstance(value, Tensor):
            self.escapes.escape(key)
            return TRACED
        if isinstance(value, np.ndarray):
            self.asking.note_key(key)
        for name in ("__getitem__", "__class_getitem__") if isinstance(value, type) else ("__getitem__",):
            method = in_classes(value.__mro__ if name[2] == "c" else type(value).__mro__, name)
            method = getattr(method, "__func__", method)
            if isinstance(method, FunctionType) and is_user_function(method):
                return self.call(self.attributes.attribute_of(owner, name), [key], {}, None, None)
        if isinstance(value, (dict, MappingProxyType, *SEQUENCES)):
            return self._item_of_container(owner, key)
        self.escapes.note_hidden(owner)
        self.escapes.escape(owner)
        self.escapes.escape(key)
        return UNKNOWN

    def special(self, value: Any, name: str) -> Any:
        """The special method `name` of what lies at a place, if its class is the user's and has one; else
        None."""
        method = in_classes(type(value.value).__mro__, name) if isinstance(value, Place) else None
        if isinstance(method, FunctionType) and is_user_function(method):
            self.classes.same_class(value)
            return Bound(value, name, self.classes.class_function(type(value.value), name, method))
        return None

    def item_of_group(self, group: Group, key: Any) -> Any:
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
        keys = [self.known_key(option) for option in options(key)]
        if all(literal is not MISSING for literal in keys):
            return choice_of([self.item_at(owner, literal) for literal in keys])
        self.look_up(key)
        is_mapping = isinstance(container, (dict, MappingProxyType))
        return self.values_of(owner) if is_mapping else self.iterate(owner)

    def look_up(self, key: Any) -> None:
        """`key` is looked for in a container, by its hash: of most objects that is their identity."""
        for option in options(key):
            if isinstance(option, Place) and type(option.value).__hash__ in _IDENTITY_HASHES:
                self.uses.same(option)
        self.escapes.escape(key)

    def known_key(self, key: Any) -> Any:
        """The key, if it is known; a number that lies elsewhere is guarded."""
        if isinstance(key, Constant):
            return key.value
        if isinstance(key, Place) and is_constant(key.value):
            self.uses.same(key)
            return key.value
        return MISSING

    def item_at(self, owner: Place, key: Any) -> Any:
        container = owner.value
        if isinstance(key, slice) and isinstance(container, (list, tuple)):
            self.uses.structure(owner)
            positions = range(len(container))[key]
            return Group("list", tuple([self.item_at(owner, position) for position in positions]))
        try:
            value = dict.__getitem__(container, key) if isinstance(container, dict) else container[key]
        except (LookupError, TypeError):
            self.uses.missing(owner.item(key, None))
            if isinstance(in_classes(type(container).__mro__, "__missing__"), FunctionType):
                return self.call(
                    self.attributes.attribute_of_instance(owner, "__missing__"),
                    [Constant(key)],
                    {},
                    None,
                    None,
                )
            factory = getattr(container, "default_factory", None)
            if factory is not None and isinstance(container, collections.defaultdict):
                self.escapes.call_for_others(
                    self.uses.read(owner.attribute("default_factory", factory)), [], {}
                )
            return UNKNOWN
        return self.uses.read(owner.item(key, value))

    def freeze(self, call: str, callee: Any) -> None:
        """Note that the user's own code calls `callee`, which gives something else each time."""
        owner = getattr(callee, "__self__", None)
        if not self.trail.is_in_package():
            self.uses.frozen[call] = owner
        if self.trail.running and kind_of(owner) is not None:
            self.uses.asking.add(id(self.trail.running[-1]))  # where a draw of the trace stands in for it

    def draw_seed(self, maker: Any) -> None:
        """Note that the user's own code makes a generator by `maker` whose seed the system draws."""
        module = "np.random" if maker.__module__.startswith("numpy") else maker.__module__
        name = f"{module}.{maker.__name__}"
        if self.trail.is_certain():
            self.uses.unseeded[name] = None
        else:
            self.freeze(name, maker)

    def give_up_reading(self, what: str) -> None:
        """Note that the user's own code reads what cannot be watched; of packages it is their affair."""
        self.uses.unwatched[what] = None
        if not self.trail.is_in_package():
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
            return choice_of(map(Constant, list(value.value)[:MAX_ALTERNATIVES]))
        if isinstance(value, Instance):
            self.escapes.escape(value)
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
        self.escapes.escape(value)
        return UNKNOWN

    def following(self, iterator: Any) -> Any:
        """The value of ``next(iterator)``, where the iterator's class is the user's."""
        return self.call(self.attributes.read(iterator, "__next__"), [], {}, None, None)

    def values_of(self, owner: Place) -> Any:
        """The values of a dict."""
        self.uses.structure(owner)
        return self._elements(owner, list(owner.value.items()))

    def _elements(self, owner: Place, pairs: list[tuple[Any, Any]]) -> Any:
        if len(pairs) <= MAX_ALTERNATIVES:
            return choice_of([self.uses.read(owner.item(key, element)) for key, element in pairs])
        for key, element in pairs:
            place = owner.item(key, element)
            if is_constant(element):
                self.uses.inspect(place)
            else:
                self.escapes.escape(self.uses.read(place))
        return UNKNOWN

    def unpack(self, value: Any, count: int) -> list[Any]:
        """The `count` values that an assignment takes out of `value`."""
        if isinstance(value, Group) and len(value.items) == count and value.kind != "dict":
            return list(value.items)
        if isinstance(value, Place) and isinstance(value.value, SEQUENCES) and len(value.value) == count:
            self.uses.structure(value)
            return [self.item_at(value, position) for position in range(count)]
        return [self.iterate(value)] * count
