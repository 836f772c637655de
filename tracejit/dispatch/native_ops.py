"""Native functions of eager ops: linked in the background once a program runs many of them.

Eager functions ask here for their native forms (`when_linked`), and let their calls be `counted` meanwhile.
After `_CALLS` of all of them a thread in the background links the native code (`runtime.native.eager`), which
takes some milliseconds where the disk cache has it and a tenth of a second where it is compiled, and the
functions change over. Native functions give what does not suit them back to Python functions, so nothing
depends on when that happens. Where there can be no native code, `problem` says why, and ``tracejit doctor``
reports it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import TracejitError
from ..base.loading import load_module
from ..base.process.forking import FORKS
from ..base.process.locks import ForkLock
from ..base.records import record
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..codegen.native.entry.table import EntryLayout
    from ..runtime.native.eager import NativeOps

_SLOTS: Final = ("_data", "_grad", "_node", "_requires_grad", "_memory", "_aliases", "_hooks")


def entry_layout_of_tensors() -> EntryLayout | None:
    """The memory layout of Tensors for native code; None if this interpreter does not allow native access."""
    layout: EntryLayout | None = load_module("..runtime.native.entry", __package__).entry_layout(
        Tensor, _SLOTS
    )
    return layout


#: A program that runs fewer eager ops is over before native code could help it.
_CALLS: Final = 1000


@record(eq=False, frozen=False)
class _Progress:
    calls: int = 0
    asked: bool = False
    done: bool = False
    natives: NativeOps | None = None
    problem: str = ""


_LINKS: Final[list[Callable[[NativeOps | None], None]]] = []
_PROGRESS: Final = _Progress()
_LOCK: Final = ForkLock()


def when_linked(link: Callable[[NativeOps | None], None]) -> None:
    """Call ``link(natives)`` once there is native code, or ``link(None)`` where there can be none."""
    with _LOCK:
        _LINKS.append(link)
        if _PROGRESS.done:
            link(_PROGRESS.natives)


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose calls bring native code nearer."""

    def call(*arguments: Any) -> Any:
        _PROGRESS.calls += 1
        if _PROGRESS.calls >= _CALLS and not _PROGRESS.asked:
            _load_in_background()
        return function(*arguments)

    return call


def _load_in_background() -> None:
    _PROGRESS.asked = True
    try:
        # a fork waits for it: a child would have some of the ops changed over, and not the thread
        FORKS.threads.begin(load)
    except RuntimeError as error:  # the interpreter is shutting down, or there are too many threads
        _PROGRESS.problem = str(error)


def _ask_again_in_child() -> None:
    _PROGRESS.asked = _PROGRESS.done


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ask_again_in_child)


def load() -> str:
    """Change all eager functions over to native ones now. Returns why that is impossible, empty if it is
    done."""
    with _LOCK:
        if not _PROGRESS.done:
            _PROGRESS.asked = True
            try:
                _PROGRESS.problem = _link()
            except (TracejitError, OSError, ImportError, AttributeError) as error:
                _PROGRESS.problem = f"{type(error).__name__}: {error}"
            for link in _LINKS:
                link(_PROGRESS.natives)
            _PROGRESS.done = True
        return _PROGRESS.problem


def _link() -> str:
    layout = entry_layout_of_tensors()
    if layout is None:
        return "this interpreter has no native call entries"
    runtime = load_module("..runtime.native.eager", __package__)  # nothing that a short program needs
    if problem := runtime.eager_problem():
        return str(problem)
    _PROGRESS.natives = runtime.NativeOps(layout)
    return ""
