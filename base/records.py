"""`record`: data classes that cost little to define and to make.

``dataclasses`` takes about a millisecond to build a frozen class with slots, which for the package's forty
would be a third of its import time. A record has slots, a constructor, equality and a hash by value, and a
repr. That it is frozen is checked by type checkers, as for any dataclass, but not at run time.
See docs/decisions/0002-records.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
    names = tuple(inspect.get_annotations(cls))
    body = {key: value for key, value in cls.__dict__.items() if key not in ("__dict__", "__weakref__")}
    scope: dict[str, Any] = {"MISSING": _MISSING}
    parameters, assignments = [], []
    for name in names:
        if name not in body:
            parameters.append(name)
            assignments.append(f"    self.{name} = {name}")
            continue
        default = body.pop(name)
        fresh = isinstance(default, _Fresh)
        scope[f"default_{name}"] = default.make if fresh else default
        parameters.append(f"{name}=MISSING" if fresh else f"{name}=default_{name}")
        value = f"default_{name}() if {name} is MISSING else {name}" if fresh else name
        assignments.append(f"    self.{name} = {value}")
    lines = [f"def __init__(self, {', '.join(parameters)}):", *(assignments or ["    pass"])]
    if eq:
        mine = "".join(f"self.{name}, " for name in names)
        theirs = "".join(f"other.{name}, " for name in names)
        lines += [
            "def __eq__(self, other):",
            "    if other.__class__ is not self.__class__:",
            "        return NotImplemented",
            f"    return ({mine}) == ({theirs})",
            "def __hash__(self):",
            f"    return hash(({mine}))",
        ]
    exec("\n".join(lines), scope)
    for method in ("__init__", "__eq__", "__hash__"):
        if method in scope:
            body[method] = scope[method]
    body["__slots__"] = names
    body["__match_args__"] = names
    body.setdefault("__repr__", _repr)
    record: type = type(cls.__name__, cls.__bases__, body)
    record.__qualname__ = cls.__qualname__
    return record


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).__slots__)
    return f"{type(self).__name__}({values})"
