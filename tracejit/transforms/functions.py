"""What ``grad``, ``vmap`` and their kin return: functions that know what they are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, Final, TypeVar, cast

from ..sending import Sendable

#: A transform: it keeps its own signature, by which type checkers find that of its results.
Make = TypeVar("Make", bound=Callable[..., Callable[..., Any]])
_TRANSFORMS: Final[dict[str, Callable[..., Callable[..., Any]]]] = {}


class TransformedFunction(Sendable):
    """The function that the transform of a name makes of a function, and of options."""

    # An instance's own ``__call__``, found through the class: what the transform made, no frame around it.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(self, transform: str, *args: Any, **options: Any) -> None:
        self.__call__ = _TRANSFORMS[transform](*args, **options)
        functools.update_wrapper(self, args[0] if args else options["fun"])
        self.transform = transform
        self._arguments = (transform, *args), options

    def of(self, fun: Callable[..., Any]) -> TransformedFunction:
        """The same transform of another function."""
        (transform, *args), options = self._arguments
        if args:
            return TransformedFunction(transform, fun, *args[1:], **options)
        return TransformedFunction(transform, **{**options, "fun": fun})

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.transform} of {getattr(self, '__qualname__', self.__wrapped__)}>"  # type: ignore[attr-defined]

    def _making(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self._arguments


def transform(make: Make) -> Make:
    """`make`, which makes a function of its first argument, ``fun``, and of options; its results pickle."""
    _TRANSFORMS[make.__name__] = make

    @functools.wraps(make)
    def call(*args: Any, **kwargs: Any) -> Callable[..., Any]:
        return TransformedFunction(make.__name__, *args, **kwargs)

    return cast(Make, call)
