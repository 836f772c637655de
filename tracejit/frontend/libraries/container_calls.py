"""Follows calls of methods of containers, context variables, caches and other objects in C."""

from __future__ import annotations

import contextvars
import functools
from types import MappingProxyType
from typing import Any

from ...tensors.tensor import Tensor
from ..escapes import SILENT
from ..operations import Operations
from ..values import MISSING, UNKNOWN, Constant, Group, Iteration, Place, choice_of, join
from . import library


class ContainerCalls:
    """Abstract calls of methods in C."""

    def __init__(self, operations: Operations) -> None:
        self.operations, self.contents, self.uses = operations, operations.contents, operations.uses
        self.attributes, self.escapes = operations.attributes, operations.escapes
        #: The information on caches that is read, by identity; None among it where they are called.
        self._caches: dict[int, set[Place | None]] = {}

    def call_on_group(self, group: Group, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
        if name == "items" and group.keys is not None:
            pairs = zip(map(Constant, group.keys), group.items, strict=True)
            return Iteration(choice_of([Group("tuple", pair) for pair in pairs]))
        if name == "values":
            return Iteration(choice_of(group.items))
        if name == "get" and positional:
            return join(self.contents.item_of_group(group, positional[0]), *positional[1:])
        return self.escapes.hand_over(positional, named)

    def call_on_container(
        self, owner: Place, name: str, positional: list[Any], named: dict[str, Any], run: Any
    ) -> Any:
        value = owner.value
        if isinstance(value, (dict, MappingProxyType)):
            if name == "items":
                self.uses.structure(owner)
                if len(value) <= 256:
                    pairs = [
                        Group("tuple", (Constant(key), self.contents.item_at(owner, key))) for key in value
                    ]
                    return Iteration(choice_of(pairs))
                return Iteration(Group("tuple", (UNKNOWN, self.contents.values_of(owner))))
            if name == "values":
                return Iteration(self.contents.values_of(owner))
            if name in ("get", "setdefault", "pop") and positional:
                return join(self.contents.item(owner, positional[0]), *positional[1:])
        if name in library.STRUCTURAL and isinstance(value, (dict, MappingProxyType)):
            self.uses.structure(owner)
            if name == "copy":
                return self.operations.updated(Group("dict", (), ()), owner)
            return Iteration(self.contents.iterate(owner)) if name == "keys" else UNKNOWN
        if isinstance(value, type) and name == "__subclasses__":
            self.contents.freeze(f"{value.__qualname__}.__subclasses__", value)
        if isinstance(value, type) and name == "mro":
            return self.attributes.read(owner, "__mro__")
        if isinstance(value, functools._lru_cache_wrapper) and name == "cache_info":
            return self.note_cache(value, owner.call(value.cache_info(), "cache_info"))
        if isinstance(value, contextvars.ContextVar) and name == "get":
            return self._context_value(owner, positional)
        if name in library.ARRAY_WRITERS:
            self.operations.write_array(owner)
        if name in library.MUTATING:
            self.operations.written(owner)
            if name in ("pop", "sort"):
                self.escapes.escape(owner)
            return self.escapes.hand_over([*positional, *([owner] if name == "sort" else [])], named)
        frozen = library.frozen_source(getattr(value, name, None)) if not isinstance(value, Tensor) else None
        if frozen is not None:
            self.contents.freeze(frozen, getattr(value, name))
            return self.escapes.hand_over(positional, named)
        if name not in SILENT:
            self.escapes.note_hidden(owner)
        self.escapes.escape(owner)
        return self.escapes.hand_over(positional, named)

    def note_cache(self, cache: Any, information: Place | None = None) -> Any:
        """Note a call of `cache`, or that `information` on it is read, which calls change."""
        self._caches.setdefault(id(cache), set()).add(information)
        uses = self._caches[id(cache)]
        for place in uses if None in uses else ():
            if place is not None:
                self.operations.written(place)
        return information

    def _context_value(self, owner: Place, defaults: list[Any]) -> Any:
        """``variable.get(default)``"""
        place = owner.call(owner.source.call("get").read(), "get")
        if place.value is MISSING:
            self.uses.missing(place)
            return defaults[0] if defaults else UNKNOWN
        return self.uses.read(place)
