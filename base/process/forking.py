"""Fork safety: ``os.fork`` waits for the work of other threads, so that a child inherits none half done.

A child has one thread. A lock that another thread of its parent held is held for ever there, and what that
thread was doing is half done. Most of our locks are `locks.ForkLock`s, which are free in a child. A fork
waits for the rest, in this order, so that none of it waits for what the forking thread has taken already:

1. threads of ours that are over soon;
2. LLVM: what it does at the moment, with its lock (`LLVM_LOCK`) or beside it (`at_work`);
3. imports of our modules, LLVM's and NumPy's. Each module has a lock while it is imported, which Python does
   not renew in a child: there an import of the same module would never end;
4. llvmlite's own lock.

An import that another thread is in the middle of all the same, of anybody's module, is forgotten in the
child, which imports the module afresh: it may begin between that and the fork, and a fork does not wait for
imports of other packages, which may run for ever.

The handler of a signal may raise anywhere in the main thread's Python code. `threading.Thread.start` waits,
and `threading.Condition` is entered, in such code: after an exception there a lock stays taken or a thread is
lost. So threads are begun, and waited for, by calls into C alone.

They are here, and not where LLVM is called, since a fork may come while that module is being imported.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

#: LLVM's global context is shared, so one thread compiles at a time.
LLVM_LOCK: Final = threading.RLock()


def lock_of_llvmlite() -> Any:
    """The lock that llvmlite takes for each call, also where threads drop code; None before it is loaded."""
    library: Any = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    return None if library is None else library._lock


def free_lock_of_llvmlite() -> None:
    """Give llvmlite's lock back where this thread has kept it. To be called in none of its calls.

    llvmlite takes and gives it back in Python. Where the handler of a signal raises in between, which it also
    may in a ``__del__`` of llvmlite's, this thread has the lock for ever and others never compile again.
    """
    lock = lock_of_llvmlite()
    if lock is not None and not LLVM_LOCK._is_owned():  # type: ignore[attr-defined]
        while lock._lock._is_owned():
            lock._lock.release()


#: Stands for the identifier of a thread that is about to run.
_NOT_YET: Final = 0


class Ongoing:
    """Work in progress in threads, which other threads can wait for."""

    def __init__(self) -> None:
        self._ends: dict[_thread.LockType, int] = {}

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note the work of this thread within the ``with`` block, so that `wait` waits for it."""
        end = _thread.allocate_lock()
        end.acquire()
        self._ends[end] = _thread.get_ident()
        try:
            yield
        finally:
            self._over(end)

    def begin(self, work: Callable[[], object]) -> None:
        """Run `work` in a thread of its own, which `wait` waits for. Raises RuntimeError if no thread can be
        started."""
        end = _thread.allocate_lock()
        end.acquire()
        # noted and begun with no point between where the handler of a signal runs
        self._ends[end] = _NOT_YET
        try:
            _thread.start_new_thread(self._run, (work, end))
        except RuntimeError:
            self._over(end)
            raise

    def _run(self, work: Callable[[], object], end: _thread.LockType) -> None:
        self._ends[end] = _thread.get_ident()
        try:
            work()
        finally:
            self._over(end)

    def _over(self, end: _thread.LockType) -> None:
        self._ends.pop(end, None)
        end.release()

    def wait(self) -> None:
        """Wait until the work in progress of other threads has ended."""
        for end, thread in list(self._ends.items()):
            if thread != _thread.get_ident():
                end.acquire()
                end.release()

    def forget(self) -> None:
        """Drop the work of other threads, which a forked child does not have."""
        self._ends = {end: thread for end, thread in self._ends.items() if thread == _thread.get_ident()}


#: Top-level packages for whose imports a fork waits.
_PACKAGES: Final = ("tracejit", "llvmlite", "numpy")
#: Seconds for which it waits: an import may itself wait for the thread that forks.
_IMPORT_SECONDS: Final = 10.0
#: Python's dict of the locks of modules that are being imported: weak references by name.
_MODULE_LOCKS: Final[dict[str, Any]] = getattr(
    importlib.import_module("importlib._bootstrap"), "_module_locks", {}
)


class _Forks:
    def __init__(self) -> None:
        #: Threads that are over soon. The end of the process waits for them, too: LLVM's memory goes with it.
        self.threads = Ongoing()
        self._beside_the_lock = Ongoing()
        self._held = threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before, after_in_parent=self._release, after_in_child=self._after_in_child
            )
        atexit.register(self.threads.wait)

    def at_work(self) -> contextlib.AbstractContextManager[None]:
        """Note work within the ``with`` block that forks wait for. Enter it with LLVM_LOCK, so that no fork
        has begun."""
        return self._beside_the_lock.noted()

    def _before(self) -> None:
        held = self._held.stack = contextlib.ExitStack()
        free_lock_of_llvmlite()
        self.threads.wait()
        held.enter_context(LLVM_LOCK)
        self._beside_the_lock.wait()
        deadline = time.monotonic() + _IMPORT_SECONDS
        while any(map(_is_waited_for, _imports_of_others())) and time.monotonic() < deadline:
            time.sleep(0.001)
        if (lock := lock_of_llvmlite()) is not None:
            held.enter_context(lock)

    def _release(self) -> None:
        self._held.stack.close()

    def _after_in_child(self) -> None:
        self._release()
        self.threads.forget()
        self._beside_the_lock.forget()
        for name in list(_imports_of_others()):
            _MODULE_LOCKS.pop(name, None)
            specification = getattr(sys.modules.get(name), "__spec__", None)
            if getattr(specification, "_initializing", False):
                del sys.modules[name]


def _imports_of_others() -> Iterator[str]:
    """The modules that other threads are importing."""
    me = threading.get_ident()
    for name, reference in list(_MODULE_LOCKS.items()):
        lock = reference()
        # without an owner it is about to be taken
        if lock is not None and lock.owner != me:
            yield name


def _is_waited_for(name: str) -> bool:
    return name.partition(".")[0] in _PACKAGES


FORKS: Final = _Forks()
