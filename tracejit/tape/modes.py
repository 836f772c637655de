"""Gradient modes: whether operations are recorded. Semantics: ``torch.no_grad`` and its relatives."""

from __future__ import annotations

import abc
import functools
import inspect
import reprlib
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar, overload

from ..base.errors import GradientError
from ..state import STATE

F = TypeVar("F", bound=Callable[..., Any])


class Mode(abc.ABC):
    """A thread-local setting that is made on entry and put back on exit; decorates functions, too."""

    def __enter__(self) -> Any:
        self.__dict__.setdefault("_outer", []).append(self._switch())
        return None

    def __exit__(self, *exc: object) -> None:
        self._restore(self.__dict__["_outer"].pop())

    @abc.abstractmethod
    def _switch(self) -> Any:
        """Make the setting; what it was before."""

    @abc.abstractmethod
    def _restore(self, outer: Any) -> None:
        """Put back what `_switch` said was there before."""

    def __call__(self, fn: F) -> F:
        if inspect.isclass(fn) or not callable(fn):
            raise GradientError(f"{type(self).__name__} decorates functions, got {reprlib.repr(fn)}")
        if inspect.isgeneratorfunction(fn):
            return _around_generator(self, fn)  # type: ignore[return-value]

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            outer = self._switch()
            try:
                return fn(*args, **kwargs)
            finally:
                self._restore(outer)

        return wrapped  # type: ignore[return-value]


def _around_generator(mode: Mode, fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` with the setting made whenever its body runs, and put back while it is suspended."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = fn(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            outer = mode._switch()
            try:
                value = step()
            except StopIteration as end:
                return end.value
            finally:
                mode._restore(outer)
            try:
                sent = yield value
                step = functools.partial(generator.send, sent)
            except GeneratorExit:
                outer = mode._switch()
                try:
                    generator.close()
                finally:
                    mode._restore(outer)
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)

    return wrapped


class _Recording(Mode):
    """A mode that says whether operations are recorded."""

    _recording: bool

    @overload
    def __new__(cls, fn: None = None) -> Self: ...
    @overload
    def __new__(cls, fn: F) -> F: ...  # type: ignore[misc]  # a function, as a decorator gives one
    def __new__(cls, fn: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if fn is None else mode(fn)  # a decorator without parentheses

    def _switch(self) -> tuple[bool, bool]:
        outer = STATE.recording, STATE.blocked
        STATE.recording, STATE.blocked = self._recording, not self._recording
        return outer

    def _restore(self, outer: tuple[bool, bool]) -> None:
        STATE.recording, STATE.blocked = outer


class no_grad(_Recording):
    """Operations inside are not recorded.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(2, requires_grad=True)
        >>> with tj.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False

    Semantics: ``torch.no_grad``.
    """

    _recording = False


class enable_grad(_Recording):
    """Operations inside are recorded, within ``no_grad`` too.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(2, requires_grad=True)
        >>> with tj.no_grad(), tj.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True

    Semantics: ``torch.enable_grad``.
    """

    _recording = True


class set_grad_enabled(_Recording):
    """Switch recording on or off: at once when called, and back again as a context manager.

    Example:
        >>> import tracejit as tj
        >>> with tj.set_grad_enabled(False):
        ...     print(tj.is_grad_enabled())
        False

    Semantics: ``torch.set_grad_enabled``.
    """

    def __new__(cls, mode: bool) -> Any:
        return Mode.__new__(cls)

    def __init__(self, mode: bool) -> None:
        self._recording = bool(mode)
        self._called: Any = self._switch()

    def __enter__(self) -> None:
        super().__enter__()
        if self._called is not None:  # what is put back is what held before the call
            self.__dict__["_outer"][-1], self._called = self._called, None

    def __call__(self, fn: F) -> F:
        # a decorator changes nothing until the function runs
        if self._called is not None:
            self._restore(self._called)
            self._called = None
        return super().__call__(fn)


class untaped(Mode):
    """The tape is off, as in ``no_grad``, but what is traced inside can be differentiated as IR."""

    def _switch(self) -> tuple[bool, bool]:
        outer = STATE.recording, STATE.blocked
        STATE.recording, STATE.blocked = False, False
        return outer

    def _restore(self, outer: tuple[bool, bool]) -> None:
        STATE.recording, STATE.blocked = outer


class inference_mode(Mode):
    """Operations inside are not recorded, nor do ``enable_grad`` blocks outside of it matter.

    As ``no_grad``, which costs no more here: tensors made inside are ordinary tensors, and may take part in
    recorded computations later. ``inference_mode(False)`` records again.

    Example:
        >>> import tracejit as tj
        >>> x = tj.ones(2, requires_grad=True)
        >>> with tj.inference_mode():
        ...     print((x * 2).requires_grad, tj.is_inference_mode_enabled())
        False True

    Semantics: ``torch.inference_mode``, whose tensors cannot be used in autograd afterwards.
    """

    def __new__(cls, mode: Any = True) -> Any:
        instance = super().__new__(cls)
        if callable(mode):  # a decorator without parentheses
            instance._mode = True
            return instance(mode)
        return instance

    def __init__(self, mode: bool = True) -> None:
        self._mode = bool(mode)

    def _switch(self) -> tuple[bool, bool, bool]:
        outer = STATE.recording, STATE.blocked, STATE.inference
        STATE.recording, STATE.blocked, STATE.inference = not self._mode, self._mode, self._mode
        return outer

    def _restore(self, outer: tuple[bool, bool, bool]) -> None:
        STATE.recording, STATE.blocked, STATE.inference = outer


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread.

    Example:
        >>> import tracejit as tj
        >>> with tj.no_grad():
        ...     tj.is_grad_enabled()
        False
    """
    return STATE.recording


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode.

    Example:
        >>> import tracejit as tj
        >>> with tj.inference_mode():
        ...     tj.is_inference_mode_enabled()
        True
    """
    return STATE.inference
