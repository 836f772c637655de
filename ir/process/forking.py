"""What ``os.fork`` waits for, so that a child inherits nothing that another thread was in the middle of.

A child has one thread. A lock that another thread of its parent held is held for ever there, and what that
thread was doing is half done. Most of our locks are `locks.ForkLock`s, which are free in a child. A fork
waits for the rest, in this order, so that none of it waits for what the forking thread has taken already:

1. threads that are over soon (`wait_for`);
2. LLVM: what it does at the moment, with its lock (`LLVM_LOCK`) or beside it (`at_work`);
3. imports of our modules, LLVM's and NumPy's. Each module has a lock while it is imported, which Python does
   not renew in a child: there an import of the same module would never end;
4. locks of others, such as llvmlite's own (`hold`).

An import that another thread begins in the moment between that and the fork is forgotten in the child, which
imports the module afresh.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

#: LLVM's global context is shared, so one thread compiles at a time. It is defined here since a fork may come
#: while the module that uses it is being imported.
LLVM_LOCK: Final = threading.RLock()
#: Top-level packages for whose imports a fork waits. Not all: an import of the user's may run for ever.
_PACKAGES: Final = ("tracejit", "llvmlite", "numpy")
#: How long it does: an import may itself wait for the thread that forks.
_IMPORT_SECONDS: Final = 10.0
#: Where Python keeps the locks of modules that are being imported: weak references by name.
_MODULE_LOCKS: Final[dict[str, Any]] = getattr(
    importlib.import_module("importlib._bootstrap"), "_module_locks", {}
)


class _Forks:
    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._others: list[Callable[[], contextlib.AbstractContextManager[Any]]] = []
        self._held = threading.local()
        #: How many threads are at work beside the lock.
        self._working, self._changed = 0, threading.Condition()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before, after_in_parent=self._release, after_in_child=self._after_in_child
            )

    def wait_for(self, thread: threading.Thread) -> None:
        """Let forks wait until `thread` has ended."""
        self._threads = [other for other in self._threads if other.is_alive()]
        self._threads.append(thread)

    def hold(self, lock: Callable[[], contextlib.AbstractContextManager[Any]]) -> None:
        """Let forks be within ``lock()``."""
        self._others.append(lock)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Let forks wait for what is done within. To be entered with LLVM_LOCK, so that none has begun."""
        with self._changed:
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    def _before(self) -> None:
        held = self._held.stack = contextlib.ExitStack()
        for thread in self._threads:
            if thread is not threading.current_thread() and thread.is_alive():
                thread.join()
        held.enter_context(LLVM_LOCK)
        with self._changed:
            self._changed.wait_for(lambda: not self._working)
        deadline = time.monotonic() + _IMPORT_SECONDS
        while any(_imports_of_others()) and time.monotonic() < deadline:
            time.sleep(0.001)
        for lock in self._others:
            held.enter_context(lock())

    def _release(self) -> None:
        self._held.stack.close()

    def _after_in_child(self) -> None:
        self._release()
        for name in list(_imports_of_others()):
            _MODULE_LOCKS.pop(name, None)
            specification = getattr(sys.modules.get(name), "__spec__", None)
            if getattr(specification, "_initializing", False):
                del sys.modules[name]


def _imports_of_others() -> Iterator[str]:
    """The modules of ours that other threads are importing."""
    me = threading.get_ident()
    for name, reference in list(_MODULE_LOCKS.items()):
        if name.partition(".")[0] in _PACKAGES:
            lock = reference()
            # without an owner it is about to be taken
            if lock is not None and lock.owner != me:
                yield name


FORKS: Final = _Forks()
