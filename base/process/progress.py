"""Progress bars for long operations: off unless asked for, shown by tqdm or anything with its interface.

Loops that may take long go over ``with_progress(items, what)``, which is `items` itself where nobody asked.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from ..errors import ArgumentError, TracejitError
from ..records import record

T = TypeVar("T")

#: Makes a bar: ``tqdm.tqdm``, or anything with its arguments ``iterable, desc, total, delay, leave``.
Bar = Callable[..., Any]


@record(eq=False)
class Progress:
    """Makes bars, each of which appears after `delay` seconds and goes away when its loop ends."""

    bar: Bar
    delay: float

    def __call__(self, items: Iterable[T], what: str = "") -> Iterable[T]:
        """`items`, with a bar that is called `what`."""
        shown: Iterable[T] = self.bar(items, desc=what, delay=self.delay, leave=False)
        return shown

    def counter(self, total: int, what: str) -> Any:
        """A bar that its owner moves by ``update()`` and ends by ``close()``."""
        return self.bar(total=total, desc=what, delay=self.delay, leave=False)


def tqdm_bar() -> Bar:
    """tqdm's bar for this terminal or notebook. Raises TracejitError where tqdm is not installed."""
    try:
        bar: Bar = importlib.import_module("tqdm.auto").tqdm
    except ImportError as error:
        raise TracejitError(
            "progress bars need tqdm, which is not installed: pip install 'tracejit[progress]'"
        ) from error
    return bar


#: Seconds before a bar appears: what is shorter shows none.
DELAY: Final = 0.5


def _initial() -> Progress | None:
    text = os.environ.get("TRACEJIT_PROGRESS", "")
    if text not in ("", "0", "1"):
        raise TracejitError(f"TRACEJIT_PROGRESS must be 0 or 1, got {text!r}")
    return Progress(tqdm_bar(), DELAY) if text == "1" else None


#: Setting of threads in no ``with`` block.
_INITIAL: Final = _initial()
_CURRENT: Final[ContextVar[Progress | None]] = ContextVar("progress", default=_INITIAL)


def current_progress() -> Progress | None:
    """The factory of progress bars in this thread, or None where there are none."""
    return _CURRENT.get()


def with_progress(items: Sequence[T], what: str) -> Iterable[T]:
    """`items` to loop over, with a bar that is called `what` where somebody asked for bars and there are
    several items."""
    shown = _CURRENT.get()
    return items if shown is None or len(items) < 2 else shown(items, what)


@contextmanager
def progress(*, delay: float = DELAY, bar: Bar | None = None) -> Iterator[Progress]:
    """Show progress bars inside the ``with`` block, in this thread: of compilations, of ``view``, of sums
    over dask's blocks, and of the optimizers of ``tracejit.compat.autograd``.

    A bar appears after `delay` seconds, so that short work shows none. The bars are tqdm's (``pip install
    'tracejit[progress]'``), or `bar` makes them: ``tqdm.rich.tqdm``, or another callable with its arguments.
    What the block gets shows bars of loops of one's own: docs/progress.md. ``TRACEJIT_PROGRESS=1`` in the
    environment shows bars in all threads.

    Example:
        >>> import tracejit as tj
        >>> def lines(items, desc, **options):
        ...     for number, item in enumerate(items):
        ...         print(f"{desc}: {number}")
        ...         yield item
        >>> with tj.progress(bar=lines) as shown:
        ...     squares = [n * n for n in shown(range(2), "squares")]
        squares: 0
        squares: 1

    Raises TracejitError where tqdm is not installed, and no `bar` is there.
    """
    if bar is not None and not callable(bar):
        raise ArgumentError(f"progress: bar must be a function that makes a bar, got {bar!r}")
    if not isinstance(delay, (int, float)) or not delay >= 0:
        raise ArgumentError(f"progress: delay must be a number of seconds, got {delay!r}")
    shown = Progress(bar or tqdm_bar(), delay)
    token = _CURRENT.set(shown)
    try:
        yield shown
    finally:
        _CURRENT.reset(token)


@contextmanager
def no_progress() -> Iterator[None]:
    """Suppress progress bars inside the ``with`` block, for work that nobody waits for."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)
