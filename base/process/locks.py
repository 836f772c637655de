"""Locks and a cached property that are right in a forked child, where the thread that held them is not."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, overload

from .finalization import WeakTable

T = TypeVar("T")


class ForkLock(_thread.RLock):  # type: ignore[misc]
    """A reentrant lock that is free in a forked child, unless the thread that forked has it.

    What it guards must be whole at each moment: the child sees what was there when the parent forked.

    It is entered and left in C, as it would not be by methods of its own: in their Python code the handler of
    a signal may raise, after the lock is taken or before it is given back.
    """

    __slots__ = ()

    def __init__(self) -> None:
        _LOCKS[self] = None


#: All of them that are alive.
_LOCKS: Final[WeakTable[ForkLock, None]] = WeakTable()


def _free_in_child() -> None:
    for lock in _LOCKS.alive():
        if not lock._is_owned():  # type: ignore[attr-defined]
            lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)


class computed_once(Generic[T]):
    """A property that is computed at its first use and kept in the instance.

    `functools.cached_property` of Python 3.11 computes under a lock of the class: one instance at a time, and
    for ever in a child that was forked meanwhile. Here two threads may both compute it; one result stays.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> computed_once[T] | T:
        if instance is None:
            return self
        kept: T = instance.__dict__.setdefault(self.name, self.compute(instance))
        return kept
