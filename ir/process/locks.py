"""Locks and a cached property that are right in a forked child, where the thread that held them is not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class ForkLock:
    """A reentrant lock that is free in a forked child.

    What it guards must be whole at each moment: the child sees what was there when the parent forked.
    """

    __slots__ = ("_forks", "_lock")

    def __init__(self) -> None:
        self._lock, self._forks = threading.RLock(), _STATE.forks

    def __enter__(self) -> None:
        if self._forks != _STATE.forks:
            with _STATE.lock:
                if self._forks != _STATE.forks:
                    self._lock, self._forks = threading.RLock(), _STATE.forks
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _State:
    """How many forks lie between this process and the first one."""

    def __init__(self) -> None:
        self.forks, self.lock = 0, threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        self.forks, self.lock = self.forks + 1, threading.Lock()


_STATE = _State()


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
