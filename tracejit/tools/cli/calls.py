"""Calls of a user's function by a flat list of arguments: which parameter each of them is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .errors import UsageError


class Call:
    """A call of the user's function by a flat list of the arguments that are not static."""

    def __init__(
        self, label: str, fn: Callable[..., Any], static: dict[str, Any], passed: tuple[str, ...]
    ) -> None:
        self.label, self.fn, self.static, self.passed = label, fn, static, passed
        self.names: list[str] = []
        #: How many of the arguments follow the named parameters, for ``*args``.
        self.extra = 0

    def __call__(self, *args: Any) -> Any:
        count = len(args) - self.extra
        values = {**self.static, **dict(zip(self.names, args[:count], strict=True))}
        positional: list[Any] = []
        for parameter in self.parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += args[count:]
            elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                break
            elif parameter.name not in values:
                break  # it has a default, and what follows goes by name
            else:
                positional.append(values.pop(parameter.name))
        return self.fn(*positional, **values)

    def bind(self, positional: Sequence[Any], named: dict[str, Any]) -> tuple[list[str], list[Any]]:
        """The names and values of the arguments in the order of the parameters. Raises UsageError."""
        self.parameters = self._parameters(len(positional))
        waiting, missing = list(positional), list[str]()
        values: list[Any] = []
        takes_names = any(parameter.kind is parameter.VAR_KEYWORD for parameter in self.parameters)
        order = [
            parameter.name
            for parameter in self.parameters
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        for name in [*named, *self.static]:
            if name not in order and not takes_names:
                raise UsageError(
                    f"{self.label} has no parameter {name!r}; it has {', '.join(order) or 'none'}"
                )
        for parameter in self.parameters:
            if parameter.name in self.static or parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                continue
            if parameter.name in named:
                self.names.append(parameter.name)
                values.append(named[parameter.name])
            elif (
                waiting and parameter.name not in self.passed and parameter.kind is not parameter.KEYWORD_ONLY
            ):
                self.names.append(parameter.name)
                values.append(waiting.pop(0))
            elif parameter.default is parameter.empty:
                missing.append(parameter.name)
        self._check_missing(missing)
        for name in named:
            if name not in order:
                self.names.append(name)
                values.append(named[name])
        if waiting and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in self.parameters):
            count = len(order)
            raise UsageError(
                f"{self.label} takes {count} argument{'s' * (count != 1)} ({', '.join(order)}), "
                f"not {len(values) + len(waiting)}"
            )
        self.extra = len(waiting)
        extra = [f"arg{len(values) + i}" for i in range(self.extra)]
        return [*self.names, *extra], [*values, *waiting]

    def _check_missing(self, names: list[str]) -> None:
        """Raise UsageError where arguments are not given."""
        if names and names[0] in self.passed:
            raise UsageError(f"{self.label}: {names[0]} is static: give it with --static {names[0]}=VALUE")
        if len(names) == 1:
            raise UsageError(f"{self.label}: no type for {names[0]}: give it with --arg {names[0]}=TYPE")
        if names:
            raise UsageError(
                f"{self.label}: no types for {', '.join(names)}: give each with --arg, such as "
                f"--arg 'f64[3]', in order or by name, --arg {names[0]}='f64[3]'"
            )

    def _parameters(self, count: int) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(self.fn).parameters.values())
        except (TypeError, ValueError):  # a builtin that does not tell
            kind = inspect.Parameter.POSITIONAL_ONLY
            return [inspect.Parameter(f"arg{i}", kind) for i in range(count)]
