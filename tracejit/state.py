"""The thread-local state of the package: the active trace, and whether gradients are recorded."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Final

#: The treatment of matrices for which linear algebra has no result: an error, or NaN for each of them.
LINALG_RAISE: Final = sys.intern("raise")
LINALG_NAN: Final = sys.intern("nan")


class _State(threading.local):
    #: The innermost trace of this thread, a `tracing.tracer.Tracer`; None when operations run eagerly.
    tracer: Any = None
    #: Whether operations on tensors that require gradients are recorded.
    recording: bool = True
    #: Whether the user has switched recording off: results of operations that are traced now are constants
    #: to any later gradient of the trace.
    blocked: bool = False
    #: The innermost pair of hooks on saved values, (pack, unpack).
    saved_hooks: tuple[Callable[[Any], Any], Callable[[Any], Any]] | None = None
    #: Whether anomaly detection looks for NaN; None where there is no anomaly detection.
    anomaly: bool | None = None
    #: The innermost backward pass that runs in this thread.
    walk: Any = None
    #: The innermost transform that runs its function in this thread, as messages call it: "grad of loss".
    differentiating: str | None = None
    #: Intervals of time, whose retirements of leaves do not count while a function is run again: see
    #: `tape.liveness`.
    revived: tuple[tuple[int, int], ...] = ()
    #: The backend that eager operations of this thread go to, None for the process's choice.
    backend: Any = None
    #: Whether inference mode is on.
    inference: bool = False
    #: `LINALG_RAISE` or `LINALG_NAN`; `linalg.failures` asks.
    linalg: str = LINALG_RAISE
    #: Number of times that the setting was read: what was traced meanwhile depends on it.
    linalg_asked: int = 0
    #: Errors of texts that want the values of traced tensors, kept until the traced function ends: one that
    #: raises runs again as Python, which has the text. None where such an error is raised at once.
    unformatted: list[Exception] | None = None
    #: The `callback_results.KeptResults` of the innermost call that tries paths, None where there is no call.
    callback_results: Any = None


STATE = _State()
