"""Gradient modes: whether operations are recorded. Thread-local; context managers and decorators.

Semantics: ``torch.no_grad`` and its relatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .state import STATE

F = TypeVar("F", bound=Callable[..., Any])


class _Mode:
    """Sets recording on entry and puts it back on exit."""

    _recording: bool

    def __enter__(self) -> None:
        if not hasattr(self, "_outer"):
            self._outer: list[tuple[bool, bool]] = []
        self._outer.append((STATE.recording, STATE.blocked))
        _switch(self._recording)

    def __exit__(self, *exc: object) -> None:
        STATE.recording, STATE.blocked = self._outer.pop()

    def __call__(self, fn: F) -> F:
        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)._again(self):
                return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    def _again(self) -> _Mode:
        copy = object.__new__(type(self))
        copy._recording = self._recording
        return copy


def _switch(recording: bool) -> None:
    STATE.recording, STATE.blocked = recording, not recording


class no_grad(_Mode):
    """Operations inside are not recorded.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(2, requires_grad=True)
        >>> with tj.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    _recording = False


class enable_grad(_Mode):
    """Operations inside are recorded, within ``no_grad`` too.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(2, requires_grad=True)
        >>> with tj.no_grad(), tj.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    _recording = True


class set_grad_enabled(_Mode):
    """Switch recording on or off: at once when called, and back again as a context manager.

    Example:
        >>> import tracejit as tj
        >>> with tj.set_grad_enabled(False):
        ...     print(tj.is_grad_enabled())
        False
    """

    def __init__(self, mode: bool) -> None:
        self._recording = bool(mode)
        self._outer = [(STATE.recording, STATE.blocked)]
        self._entered = False
        _switch(self._recording)

    def __enter__(self) -> None:
        if self._entered:
            self._outer.append((STATE.recording, STATE.blocked))
        self._entered = True
        _switch(self._recording)

    def __call__(self, fn: F) -> F:
        # a decorator changes nothing until the function runs
        STATE.recording, STATE.blocked = self._outer.pop()
        return super().__call__(fn)

    def _again(self) -> _Mode:
        copy = object.__new__(type(self))
        copy._recording, copy._outer, copy._entered = self._recording, [], True
        return copy


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    return STATE.recording
