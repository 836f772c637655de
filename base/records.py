"""`record`: data classes that cost little to define and to make.

``dataclasses`` takes about a millisecond to build a frozen class with slots, which for the package's forty
would be a third of its import time. A record has slots, a constructor, equality and a hash by value, and a
repr. That it is frozen is checked by type checkers, as for any dataclass, but not at run time.
See docs/decisions/0002-records.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any, Final, TypeVar, dataclass_transform, overload

T = TypeVar("T")


class _Fresh:
    """A default that is made anew for each instance."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """A field whose default is ``default_factory()``, made anew for each instance."""
    return _Fresh(default_factory)  # type: ignore[return-value]


_MISSING: Final = object()


@overload
def record(cls: type[T]) -> type[T]: ...
@overload
def record(*, eq: bool = True, frozen: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T] | None = None, *, eq: bool = True, frozen: bool = True) -> Any:
    """Make a class of annotated fields a record. ``eq=False`` compares by identity; ``frozen=False`` tells
    type checkers that fields may be assigned.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), Point(x=2, y=3).y
    (Point(x=1, y=0), True, 3)
    """
    if cls is None:
        return lambda wrapped: _build(wrapped, eq=eq)
    return _build(cls, eq=eq)


def _build(cls: type, *, eq: bool) -> type:
    names = tuple(cls.__annotations__)
    body = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
    defaults = {name: body.pop(name) for name in names if name in body}
    if tuple(defaults) != names[len(names) - len(defaults) :]:
        raise TypeError(f"{cls.__name__}: a field without a default follows one with a default")
    fresh = {name: value.make for name, value in defaults.items() if isinstance(value, _Fresh)}
    if fresh:
        scope: dict[str, Any] = {"MISSING": _MISSING, **{f"make_{name}": fresh[name] for name in fresh}}
        exec(_constructor(names, fresh), scope)
        body["__init__"] = scope["__init__"]
    else:
        body["__init__"] = _method("__init__", _construction, names)
    if eq:
        body["__eq__"] = _made_later("__eq__", _equality, names)
        body["__hash__"] = _made_later("__hash__", _hash, names)
    body["__init__"].__defaults__ = tuple(
        [_MISSING if name in fresh else defaults[name] for name in defaults]
    )
    body["__slots__"] = names
    body["__match_args__"] = names
    body.setdefault("__repr__", _repr)
    body["__qualname__"] = cls.__qualname__
    return type(cls.__name__, cls.__bases__, body)


def _constructor(names: Sequence[str], fresh: Iterable[str] = ()) -> str:
    """The source of ``__init__`` with parameters `names`; those `fresh` are made by functions where no
    value is given."""
    values = {name: f"make_{name}() if {name} is MISSING else {name}" for name in fresh}
    assignments = [f"    self.{name} = {values.get(name, name)}" for name in names]
    return "\n".join([f"def __init__(self, {', '.join(names)}):", *(assignments or ["    pass"])])


def _construction(count: int) -> str:
    return _constructor(_numbered(count))


def _equality(count: int) -> str:
    mine = "".join(f"self.{name}, " for name in _numbered(count))
    theirs = "".join(f"other.{name}, " for name in _numbered(count))
    lines = [
        "def __eq__(self, other):",
        "    if other.__class__ is not self.__class__:",
        "        return NotImplemented",
        f"    return ({mine}) == ({theirs})",
    ]
    return "\n".join(lines)


def _hash(count: int) -> str:
    return f"def __hash__(self): return hash(({''.join(f'self.{name}, ' for name in _numbered(count))}))"


def _numbered(count: int) -> list[str]:
    return [f"_{i}" for i in range(count)]


@functools.cache
def _code(name: str, source: Callable[[int], str], count: int) -> CodeType:
    """The code of a method of records with `count` fields ``_0``, ``_1``, ... It is compiled once, and
    renamed for each record: compiling takes most of the time that a record costs."""
    scope: dict[str, Any] = {}
    exec(source(count), scope)
    code: CodeType = scope[name].__code__
    return code


def _method(name: str, source: Callable[[int], str], fields: Sequence[str]) -> FunctionType:
    """A method of records with these `fields`."""
    code = _code(name, source, len(fields))
    renamed = dict(zip(_numbered(len(fields)), fields, strict=True))
    code = code.replace(
        co_names=tuple([renamed.get(name, name) for name in code.co_names]),
        co_varnames=tuple([renamed.get(name, name) for name in code.co_varnames]),
    )
    return FunctionType(code, globals(), name)


def _made_later(name: str, source: Callable[[int], str], fields: Sequence[str]) -> Callable[..., Any]:
    """A method that is made when it is first called: most records are never compared."""

    def first(self: Any, *others: Any) -> Any:
        method = _method(name, source, fields)
        for owner in type(self).__mro__:
            if vars(owner).get(name) is first:
                setattr(owner, name, method)
        return method(self, *others)

    return first


def _repr(instance: Any) -> str:
    values = ", ".join(f"{name}={getattr(instance, name)!r}" for name in type(instance).__slots__)
    return f"{type(instance).__name__}({values})"
