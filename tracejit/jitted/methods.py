"""Jitted methods: a function of a class that ``jit`` made, bound to the instance that it is looked up on.

The instance is no argument. What the function finds through it is read as what it finds elsewhere outside its
arguments, each attribute by its place; so each instance has a jitted function of its own, kept in the
instance. Instances of dataclasses and other pytrees are arguments, as a new one may come with each call.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any, Final

import numpy as np

from ..base.errors import TraceError
from ..frontend.attributes import METHODS
from ..ir.graph import Value
from ..pytree import is_container, tree_leaves
from ..sending import Sendable
from ..tensors.tensor import Tensor

#: Instances without attributes of their own, and classes, whose functions are kept.
_MAX_KEPT: Final = 64
_MISSING: Final = object()
#: Types of leaves of arguments.
_LEAVES: Final = (Tensor, np.ndarray, np.generic, bool, int, float, complex, str, bytes)


class _Bound(dict[Any, Any]):
    """The jitted functions of one instance, by the jitted function of its class. A copy of the instance has
    none."""

    def __reduce__(self) -> Any:
        return _Bound, ()

    def __deepcopy__(self, memo: Any) -> _Bound:
        return _Bound()


_kept: Final[dict[Any, Any]] = {}


def is_method(fn: Any) -> bool:
    """Whether the first parameter of `fn` is an instance or a class."""
    return isinstance(fn, FunctionType) and fn.__code__.co_varnames[:1] in (("self",), ("cls",))


def is_instance(value: Any) -> bool:
    """Whether `value` can be no argument of a jitted function, only what a method belongs to."""
    return not isinstance(value, _LEAVES) and not is_container(type(value))


class Bindable(Sendable):
    """Base class of jitted functions that bind as methods: each instance of the class gets a function of its
    own."""

    __slots__ = ()
    _fn: Any
    _is_method: bool
    _static_argnums: frozenset[int]
    _static_argnames: frozenset[str]
    _donated: tuple[frozenset[int], frozenset[str]]
    _max_paths: int
    _loops: str
    _flush_denormals: bool
    _checkpoint_every: int | None
    _fastmath: bool
    #: The instance of a method, whose attributes may not change while the method is traced.
    _owner: Any

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None or isinstance(self._fn, MethodType):  # which is bound
            return self
        try:
            function = instance.__dict__[METHODS][self]
            if function._owner is instance:
                return function
        except (AttributeError, KeyError):
            pass  # the first time, or what keeps none
        if not isinstance(self._fn, FunctionType) or 0 in self._static_argnums or not is_instance(instance):
            whole: Any = self
            return functools.partial(whole, instance)
        return self._bound_to(instance)

    def _bound_to(self, instance: Any) -> Any:
        attributes = getattr(instance, "__dict__", None)
        if type(attributes) is dict:
            bound = attributes.get(METHODS)
            if bound is None:
                bound = attributes[METHODS] = _Bound()
            key: Any = self
        else:
            bound, key = _kept, (self, id(instance))  # which is that of no other while it is here
            if len(bound) >= _MAX_KEPT and key not in bound:
                del bound[next(iter(bound))]
        function = bound.get(key)
        if function is None or function._owner is not instance:  # of the instance that this is a copy of
            function = bound[key] = self._bind(MethodType(self._fn, instance))
        return function

    def _bind(self, method: MethodType) -> Any:
        make: Any = type(self)
        first = self._fn.__code__.co_varnames[:1]
        shifted = {
            "static_argnums": _shifted(self._static_argnums),
            "static_argnames": self._static_argnames.difference(first),
            "donate_argnums": _shifted(self._donated[0]),
            "donate_argnames": self._donated[1].difference(first),
        }
        function = make(method, **{**self._making()[1], **shifted})
        function._owner = method.__self__
        return function

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._owner is None:
            return super().__reduce_ex__(protocol)
        return getattr, (self._owner, self._fn.__name__)

    def _making(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        options = {
            "static_argnums": tuple(sorted(self._static_argnums)),
            "static_argnames": tuple(sorted(self._static_argnames)),
            "max_paths": self._max_paths,
            "donate_argnums": tuple(sorted(self._donated[0])),
            "donate_argnames": tuple(sorted(self._donated[1])),
            "loops": self._loops,
            "flush_denormals": self._flush_denormals,
            "checkpoint_every": self._checkpoint_every,
            "fastmath": self._fastmath,
        }
        return (self._fn,), options


def _shifted(numbers: frozenset[int]) -> tuple[int, ...]:
    """The positions of arguments without the first."""
    return tuple(sorted(number - 1 for number in numbers if number))


class UnchangedAttributes:
    """Context manager: `owner` keeps its attributes. Raises TraceError where a traced function assigns one.

    `name` is what messages call the function; `stores` has the lines that assign attributes."""

    def __init__(self, owner: Any, name: str, stores: dict[tuple[int, str], tuple[str, int]]) -> None:
        self._owner, self._name, self._stores = owner, name, stores

    def __enter__(self) -> None:
        self._before = {} if self._owner is None else dict(_attributes(self._owner))

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._owner is None:
            return
        after = dict(_attributes(self._owner))
        problem = ""
        cls = type(self._owner)
        setters = [
            site
            for (owner, attribute), site in self._stores.items()
            if owner == id(self._owner) and isinstance(getattr(cls, attribute, None), property)
        ]
        for attribute in [*self._before, *(key for key in after if key not in self._before)]:
            old, new = self._before.get(attribute, _MISSING), after.get(attribute, _MISSING)
            site = self._stores.get((id(self._owner), attribute), setters[0] if setters else None)
            if old is new or (site is None and not _is_traced(new)):
                continue  # a cached property, or another thread's work
            base: Any = type if isinstance(self._owner, type) else object
            if old is _MISSING:
                base.__delattr__(self._owner, attribute)
            else:
                base.__setattr__(self._owner, attribute, old)
            where = f" at {site[0]}:{site[1]}" if site else ""
            what = "deleted" if new is _MISSING else "assigned"
            problem = problem or f"{self._name}: self.{attribute} is {what}{where}"
        if problem and error is None:
            raise TraceError(
                f"{problem}. That would happen while the method is traced, and not at each call: return the "
                "new value, and assign it where the method is called"
            )


def _attributes(owner: Any) -> Iterator[tuple[str, Any]]:
    for cls in type(owner).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            value = getattr(owner, slot, _MISSING) if slot not in ("__dict__", "__weakref__") else _MISSING
            if value is not _MISSING:
                yield slot, value
    for key, value in dict(getattr(owner, "__dict__", ())).items():
        if key != METHODS:
            yield key, value


def _is_traced(value: Any) -> bool:
    return any(isinstance(leaf, Tensor) and isinstance(leaf._data, Value) for leaf in tree_leaves(value))
