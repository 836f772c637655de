"""Plain calls of reductions and views go to their native functions at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

from .errors import checked, checks_itself

F = TypeVar("F", bound=Callable[..., Any])
_ABSENT: Final = object()


class _Eager(Protocol):
    """An eager function: what runs, and the builtin function of NumPy's that gives its arguments."""

    run: Callable[..., Any]
    builtin: Any


def plain_calls(eager: _Eager) -> Callable[[F], F]:
    """Decorator: ``f(x)`` and ``f(x, axis)``, as positional arguments or by name, call ``eager.run``.

    So does ``f(x, axis, keepdims=...)`` where that has the argument. All other calls go to the function,
    which is `checked`: a wrapper that takes any arguments would cost each plain call a tenth of a
    microsecond.
    """

    def decorate(function: F) -> F:
        general = checked(function.__name__, function)

        def otherwise(x: Any, axis: Any, others: Any, options: dict[str, Any]) -> Any:
            if others:
                return general(x, axis, *others, **options)
            if axis is not None:
                options["axis"] = axis
            return general(**options) if x is _ABSENT else general(x, **options)

        def reduction(
            x: Any = _ABSENT, axis: Any = None, *others: Any, keepdims: Any = False, **options: Any
        ) -> Any:
            if x is _ABSENT or others or options:
                if keepdims is not False:
                    options["keepdims"] = keepdims
                return otherwise(x, axis, others, options)
            return eager.run(x, axis, None, None, keepdims)

        def index(x: Any = _ABSENT, axis: Any = None, *others: Any, **options: Any) -> Any:
            if x is _ABSENT or others or options:
                return otherwise(x, axis, others, options)
            return eager.run(x, axis)

        keeps_axes = "keepdims" in eager.builtin.arguments
        direct = functools.update_wrapper(reduction if keeps_axes else index, function)
        return checks_itself(cast(F, direct))

    return decorate


def plain_call_of(kind: type, direct: Callable[[Any], Any], name: str) -> Callable[[F], F]:
    """Decorator: ``f(x)`` with `x` of `kind`, and nothing else, is ``direct(x)``, whose errors are complete.

    All other calls go to the function, which is `checked` as `name`.
    """

    def decorate(function: F) -> F:
        general = checked(name, function)

        def call(*arguments: Any, **options: Any) -> Any:
            if len(arguments) == 1 and not options and type(arguments[0]) is kind:
                return direct(arguments[0])
            return general(*arguments, **options)

        return checks_itself(cast(F, functools.update_wrapper(call, function)))

    return decorate
