"""Work that is done when an object dies, and tables whose entries go with their keys, without a Python frame.

The handler of a signal raises in the Python code that the main thread is in. A finalizer has no caller:
what is raised in it is printed and lost, and so is the Ctrl-C. `weakref.finalize`, ``__del__``, and the
callbacks of `weakref.WeakSet`, `weakref.WeakKeyDictionary` and `weakref.WeakValueDictionary` are Python code.
The callbacks here are C functions, so that the exception is raised in the code that dropped the object.
"""

from __future__ import annotations

import atexit
import functools
import operator
import weakref
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
H = TypeVar("H", bound=Hashable)


def forgotten_with(owner: K, table: dict[H, Any], key: H) -> weakref.ref[K]:
    """A reference to `owner`, with which the entry `key` of `table` goes. The hash and the comparison of
    `key` must be C functions."""
    # called as table.pop(key, reference): the reference is the default
    return weakref.ref(owner, functools.partial(table.pop, key))


class WeakTable(Generic[K, V]):
    """A dictionary by the identity of its keys, which it does not keep alive."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], V]] = {}

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[id(key)] = forgotten_with(key, self._entries, id(key)), value

    def __contains__(self, key: K) -> bool:
        return id(key) in self._entries

    def get(self, key: K) -> V | None:
        """The value of `key`, None where it has none."""
        entry = self._entries.get(id(key))
        return None if entry is None else entry[1]

    def alive(self) -> list[K]:
        """The keys that are alive, in the order in which they came."""
        alive = [reference() for reference, _ in list(self._entries.values())]
        return [key for key in alive if key is not None]


class Followed(Generic[K, V]):
    """Values of objects, each of which waits to be taken once its object has died."""

    def __init__(self) -> None:
        #: Entries by the identity of the reference.
        self._values: dict[int, tuple[weakref.ref[K], V]] = {}
        #: References to the objects that have died.
        self._dead: list[weakref.ref[K]] = []

    def follow(self, owner: K, value: V) -> None:
        """Keep `value` until `owner` has died and `take` is called."""
        reference = weakref.ref(owner, self._dead.append)
        self._values[id(reference)] = reference, value

    def take(self) -> list[V]:
        """The values of the objects that have died since the last call."""
        values: list[V] = []
        while self._dead:
            _, value = self._values.pop(id(self._dead.pop()))
            values.append(value)
        return values

    def clear(self) -> None:
        """Follow nothing any more."""
        self._values.clear()
        self._dead.clear()


class _Finalizer(weakref.ref[Any]):
    """A reference that calls `run` when its referent dies."""

    __slots__ = ("at_exit", "forgotten", "keeping", "run")

    run: Callable[[], object]
    at_exit: bool
    keeping: Any
    forgotten: weakref.ref[Any]


class _Finalizers:
    def __init__(self) -> None:
        self.waiting: dict[int, _Finalizer] = {}
        self.ending = False
        atexit.register(self.end)

    def end(self) -> None:
        """Finalize what asks for it, and nothing from now on."""
        self.ending = True
        waiting = list(self.waiting.values())
        self.waiting.clear()
        for finalizer in waiting:
            if finalizer.at_exit:
                finalizer.run()


_FINALIZERS: Final = _Finalizers()
_RUN: Final = operator.methodcaller("run")


def finalize(
    owner: object,
    function: Callable[..., object],
    *arguments: Any,
    keeping: object = None,
    at_exit: bool = False,
) -> None:
    """Call ``function(*arguments)``, a C function, when `owner` dies; `keeping` is kept alive until then.

    It is called before the ``__del__`` of anything that dies with `owner`, and in no order among the
    finalizers of `owner`. At the end of the process it is called only if `at_exit` says so: threads may use
    code and memory until the very end.
    """
    if _FINALIZERS.ending:
        return
    finalizer = _Finalizer(owner, _RUN)
    finalizer.run, finalizer.keeping = functools.partial(function, *arguments), keeping
    finalizer.at_exit = at_exit
    finalizer.forgotten = forgotten_with(owner, _FINALIZERS.waiting, id(finalizer))
    _FINALIZERS.waiting[id(finalizer)] = finalizer
