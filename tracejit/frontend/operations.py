"""Operators, tests, writes, and containers that the code builds."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from ..pytree import children_of
from ..tensors.tensor import Tensor
from .bytecode import Site
from .classes import in_classes
from .contents import Contents
from .guards import Guard, is_constant
from .libraries.origins import is_library_class
from .values import (
    MISSING,
    TRACED,
    UNKNOWN,
    Constant,
    Group,
    Place,
    options,
)


class Operations:
    """Abstract evaluation of operators, tests and writes on values."""

    def __init__(self, contents: Contents) -> None:
        self.contents, self.uses, self.trail = contents, contents.uses, contents.trail
        self.attributes, self.escapes, self.asking = contents.attributes, contents.escapes, contents.asking
        self.classes = contents.classes
        #: Whether there are arguments of which nothing is known, as objects that are registered containers.
        self.unknown_arguments = False

    # -- operators ---------------------------------------------------------------------------------

    def binary(self, left: Any, right: Any, operator: str, site: Site) -> Any:
        """``left operator right``"""
        tensors = all_tensors(left), all_tensors(right)
        if not any(tensors):
            for value in (left, right):
                self.escapes.escape(value)
                self.uses.makes_arrays |= any(map(_is_of_numpy, options(value)))
            for option in options(left) if operator == "compare" else ():
                if isinstance(option, Place) and not is_library_class(type(option.value)):
                    self.classes.same_in_class(type(option.value), "__eq__")
            if operator == "%" and isinstance(left, Constant):
                for value in right.items if isinstance(right, Group) else (right,):
                    self.escapes.show(value)
            return UNKNOWN
        for value, is_tensor in zip((left, right), tensors, strict=True):
            if not is_tensor:
                self.combine(value, operator, site)
        return TRACED

    def combine(self, value: Any, operator: str, site: Site) -> None:
        """`value` meets a tensor."""
        alternatives = options(value)
        numbers = [
            alternative
            for alternative in alternatives
            if isinstance(alternative, Place) and type(alternative.value) is float
        ]
        if len(numbers) == len(alternatives) and operator not in ("**", "**="):
            for place in numbers:
                self.uses.operand(site, place)
            return
        self.uses.mixed(site)
        for option in alternatives:
            if not (isinstance(option, Place) and isinstance(option.value, np.ndarray)):
                self.escapes.escape(option)

    def unary(self, value: Any) -> Any:
        """``-value``, ``+value`` and ``~value``."""
        if all_tensors(value):
            return TRACED
        self.escapes.escape(value)
        return UNKNOWN

    def test(self, value: Any) -> None:
        """The truth of `value` decides something."""
        for option in options(value):
            if not isinstance(option, Place):
                continue
            method = self.contents.special(option, "__bool__") or self.contents.special(option, "__len__")
            if method is not None:
                self.escapes.call_for_others(method, [], {})
            elif isinstance(option.value, (dict, list, tuple, set, frozenset, MappingProxyType)):
                self.uses.structure(option)
            elif is_constant(option.value) or isinstance(option.value, np.ndarray):
                self.uses.inspect(option)
            elif not isinstance(option.value, Tensor):
                cls = type(option.value)
                if all(in_classes(cls.__mro__, name) is MISSING for name in ("__bool__", "__len__")):
                    self.classes.same_class(option)
                    for name in ("__bool__", "__len__"):
                        self.classes.same_in_class(cls, name)
                else:
                    self.escapes.escape(option)

    def tell_kinds(self, *values: Any) -> None:
        """Whether each of `values` is None, or what its class is, decides something."""
        for option in itertools.chain(*map(options, values)):
            if not isinstance(option, Place) or isinstance(option.value, (Tensor, np.ndarray)):
                continue
            if is_constant(option.value) or isinstance(option.value, (type, FunctionType)):
                self.uses.same(option)
            else:
                self.uses.guard(Guard, option.attribute("__class__", type(option.value)), type(option.value))

    def tell_apart(self, left: Any, right: Any) -> None:
        """Whether `left` is `right` decides something."""
        if any(isinstance(value, Constant) and value.value is None for value in (left, right)):
            self.tell_kinds(left, right)
            return
        sides = options(left), options(right)
        if all(any(map(_may_have_names, side)) for side in sides):
            self.uses.compares_objects = True
        for option in itertools.chain(*sides):
            if isinstance(option, Place):
                self.uses.same(option)
        for others, own in (sides, sides[::-1]):
            truths = [other for other in others if isinstance(other, Constant) and type(other.value) is bool]
            if TRACED in own and truths:
                self.uses.asked_of_numbers = f"whether a traced value is {truths[0].value}"
            argument = TRACED in own or (self.unknown_arguments and UNKNOWN in own)
            if argument and not all(isinstance(other, Constant) for other in others):
                self.tell_arguments_apart(others)

    def tell_arguments_apart(self, others: Iterable[Any]) -> None:
        """Whether an argument is one of `others` decides something."""
        places = {other.identity: other.source for other in others if isinstance(other, Place)}
        self.uses.told_apart = {**(self.uses.told_apart or {}), **places}

    def search(self, container: Any) -> None:
        """``x in container``, ``len(container)``"""
        for option in options(container):
            method = self.contents.special(option, "__contains__")
            if method is not None:
                self.escapes.call_for_others(method, [], {"*": UNKNOWN})
            elif isinstance(option, Place) and isinstance(
                option.value, (dict, set, frozenset, MappingProxyType)
            ):
                self.uses.structure(option)
            elif not (isinstance(option, Group) and option.keys is not None):
                self.escapes.escape(option)

    def slice(self, parts: list[Any]) -> Any:
        """``start:stop:step``"""
        bounds = []
        for part in parts:
            value = self.contents.known_key(part)
            if value is MISSING:
                self.escapes.escape(part)
                return UNKNOWN
            bounds.append(value)
        return Constant(slice(*bounds))

    def store_attribute(self, owner: Any, name: str, value: Any, where: tuple[str, int]) -> None:
        """``owner.name = value``, at a file and line."""
        targets = [option.attribute(name, None) for option in options(owner) if isinstance(option, Place)]
        self.escape_to(targets, value)
        for option in options(owner):
            if isinstance(option, Place):
                self.written(option.attribute(name, None))
                self.uses.stores.setdefault((id(option.value), name), where)

    def store_item(self, owner: Any, key: Any, value: Any) -> None:
        """``owner[key] = value``"""
        self.asking.note_key(key)
        self.escapes.escape(key)
        known = self.contents.known_key(key)
        places = [option for option in options(owner) if isinstance(option, Place)]
        self.escape_to([] if known is MISSING else [place.item(known, None) for place in places], value)
        for place in places:
            self.written(place)
        self.write_array(owner)

    def escape_to(self, targets: list[Place], value: Any) -> None:
        """`value` is stored in one of `targets`; the code that does so depends on it, unless it came from
        there: a counter."""
        if not (isinstance(value, Place) and any(value.identity == target.identity for target in targets)):
            self.escapes.escape(value)

    def write_array(self, target: Any) -> None:
        """The elements of `target` are written, if it is an array."""
        if isinstance(target, Group) and len(target.items) == 1:  # out=(array,)
            (target,) = target.items
        for option in options(target):
            if isinstance(option, Place) and isinstance(option.value, np.ndarray):
                is_certain = option is target and self.trail.is_certain()
                writes = self.uses.array_writes if is_certain else self.uses.possible_writes
                writes[option.identity] = option.source

    def written(self, place: Place) -> None:
        """The function itself writes what lies at `place`, or in it."""
        self.uses.written[place.identity] = place.source

    # -- containers that the code builds -------------------------------------------------------------

    def mapping(self, keys: list[Any], values: list[Any]) -> Group:
        """``{key: value, ...}``"""
        literals = [key.value for key in keys if isinstance(key, Constant)]
        if len(literals) == len(keys):
            return Group("dict", tuple(values), tuple(literals))
        for key in keys:
            self.escapes.escape(key)
        return Group("list", tuple(values))

    def extended(self, target: Any, added: Any) -> Any:
        """A list that the code builds, with the elements of `added` as well."""
        if isinstance(added, Group) and isinstance(target, Group) and added.kind != "dict":
            return Group("list", (*target.items, *added.items)[:64]) if len(target.items) < 64 else target
        if isinstance(added, Place) and isinstance(added.value, (list, tuple)) and isinstance(target, Group):
            return Group("list", (*target.items, *self.contents.unpack(added, len(added.value))))
        element = self.contents.iterate(added)
        if isinstance(target, Group) and len(target.items) < 8:
            return Group("list", (*target.items, element))
        for option in options(element):
            self.escapes.escape(option)
        return target

    def updated(self, target: Any, added: Any) -> Any:
        """A dict that the code builds, with the items of `added` as well."""
        if not isinstance(target, Group) or (target.items and target.keys is None):
            self.escapes.escape(target)
            self.escapes.escape(added)
            return UNKNOWN
        keys, items = target.keys or (), target.items
        if isinstance(added, Group) and added.keys is not None:
            return Group("dict", (*items, *added.items), (*keys, *added.keys))
        if isinstance(added, Place) and isinstance(added.value, (dict, MappingProxyType)):
            self.uses.structure(added)
            names = tuple(added.value)
            values = [self.contents.item_at(added, name) for name in names]
            return Group("dict", (*items, *values), (*keys, *names))
        self.escapes.escape(added)
        return Group("list", (*items, TRACED if added is TRACED else UNKNOWN))


def _is_of_numpy(option: Any) -> bool:
    return isinstance(option, Place) and isinstance(option.value, (np.ndarray, np.generic))


def _may_have_names(option: Any) -> bool:
    """Whether a value may be an array or a container, of which there may be other names."""
    if isinstance(option, Place):
        return isinstance(option.value, (Tensor, np.ndarray)) or children_of(option.value) is not None
    return not isinstance(option, Constant)


def all_tensors(value: Any) -> bool:
    """Whether `value` is a tensor, or containers of tensors, for certain."""
    return all(
        option is TRACED or (isinstance(option, Place) and isinstance(option.value, Tensor))
        for option in options(value)
    )
