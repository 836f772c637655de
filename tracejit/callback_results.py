"""Results of callbacks, kept while a call of a function with paths runs one program after the other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .state import STATE


class KeptResults:
    """Results of callbacks in one call of a function with paths, of which several programs may run.

    Paths have their first callbacks in common, and a path is computed after its decisions. So what a callback
    gave in one program is its result in the next, at the same inputs.
    """

    def __init__(self) -> None:
        #: Outcomes by callback and number of its earlier calls: the inputs, and the results or an error.
        self._outcomes: dict[Any, tuple[Any, Any]] = {}
        self._counts: Counter[Any] = Counter()

    def begin(self) -> None:
        """Begin the callbacks of the next program."""
        self._counts.clear()

    def clear(self) -> None:
        """Forget all, as the call ends."""
        self._outcomes.clear()

    def call(
        self, callback: Any, run: Callable[[Sequence[Any]], tuple[Any, ...]], arrays: Sequence[Any]
    ) -> tuple[Any, ...]:
        """``run(arrays)``, or the kept result of an earlier program."""
        key = callback, self._counts[callback]
        self._counts[callback] += 1
        inputs = [(array.dtype, array.shape, array.tobytes()) for array in arrays]
        before, outcome = self._outcomes.get(key, (None, None))
        if before != inputs:
            try:
                with without_kept_results():
                    outcome = tuple([np.array(result) for result in run(arrays)])
            except Exception as error:
                outcome = error
            self._outcomes[key] = inputs, outcome
        if isinstance(outcome, Exception):
            raise outcome
        results: tuple[Any, ...] = outcome
        return results


@contextmanager
def without_kept_results() -> Iterator[None]:
    """Run the user's function without kept results, since no other program repeats it."""
    kept, STATE.callback_results = STATE.callback_results, None
    try:
        yield
    finally:
        STATE.callback_results = kept


class _Quiet(threading.local):
    """Whether a function is being computed again, so that what it does happened before."""

    on: bool = False


QUIET = _Quiet()


@contextmanager
def quiet() -> Iterator[None]:
    """Switch callbacks off inside the ``with`` block, whose code is computed again."""
    before, QUIET.on = QUIET.on, True
    try:
        yield
    finally:
        QUIET.on = before
