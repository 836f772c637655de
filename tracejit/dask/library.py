"""dask, imported when it is needed, and what all of its tasks that run jitted functions share."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from typing import Any, Final

from ..ir.errors import TracejitError
from ..ir.process.locks import ForkLock
from ..ir.process.progress import current_progress
from ..runtime.threads import num_threads, set_num_threads


def dask_module(name: str) -> Any:
    """The module of dask's with this name. Raises TracejitError where dask is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise TracejitError(
            f"tracejit.dask needs {name}, which is not installed: pip install 'tracejit[dask]'"
        ) from error


def is_dask_array(value: Any) -> bool:
    """Whether `value` is an array in blocks."""
    return isinstance(value, dask_module("dask.array").Array)


def current_client() -> Any:
    """The client whose workers compute, None where dask does so in this process."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.Client.current()
    except ValueError:  # what it raises where there is none
        return None


@contextlib.contextmanager
def tasks_shown(what: str) -> Iterator[None]:
    """A progress bar of the tasks that dask's schedulers of this machine run within, where somebody asked for
    bars. (A client's are shown by ``distributed.progress``.)"""
    shown = current_progress()
    if shown is None:
        yield
        return
    bars: list[Any] = []

    def start(dsk: Any, state: Any) -> None:
        waiting = sum(len(state[kind]) for kind in ("ready", "waiting", "running"))
        bars.append(shown.counter(waiting, what))

    with dask_module("dask.callbacks").Callback(start_state=start, posttask=lambda *_: bars[-1].update()):
        try:
            yield
        finally:
            for bar in bars:
                bar.close()


class _OneThread:
    """Context manager: native code of this process keeps to its caller's thread, as dask runs a task in each
    of its own."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._tasks, self._before = 0, 1

    def __enter__(self) -> None:
        with self._lock:
            self._tasks += 1
            if self._tasks == 1:
                self._before = num_threads()
                set_num_threads(1)

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._tasks -= 1
            if self._tasks == 0:
                set_num_threads(self._before)


ONE_THREAD: Final = _OneThread()
