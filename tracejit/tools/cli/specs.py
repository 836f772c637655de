"""Argument specs such as ``f32[128,64]`` and ``{w: f64[3], b: f64[]}``, and which parameter each one is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...base.errors import ParseError
from ...ir.dtypes import BY_NAME
from ...ir.text.parser import parse_type
from .errors import UsageError


class Call:
    """A call of the user's function: the values of its arguments by their parameters, constants apart.

    Attributes:
        names: the names of the arguments that are not static, in the order of the parameters.
        values: what stands for them.
    """

    def __init__(
        self, label: str, fn: Callable[..., Any], static: dict[str, Any], passed: frozenset[str]
    ) -> None:
        self.label, self.fn, self.static, self.passed = label, fn, static, passed
        self.names: list[str] = []
        self.values: list[Any] = []
        #: Number of the arguments that follow the named parameters, for ``*args``.
        self.extra = 0

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional arguments and those by name."""
        return self._placed(self.values, self.static)

    def flat(self) -> Callable[..., Any]:
        """The function of `values` alone, which are positional: the user's, with what is static bound."""
        name = getattr(self.fn, "__name__", self.label.rpartition(":")[2].rpartition(".")[2])
        target = f"{name if name.isidentifier() else 'function'}_"
        while target in self.names:
            target += "_"
        constants = {key: f"{target}{key}" for key in self.static}
        args, kwargs = self._placed(self.names, constants)
        passed = ", ".join([*args, *(f"{key}={value}" for key, value in kwargs.items())])
        parameters = f"{', '.join(self.names)}, /" if self.names else ""
        code = compile(f"lambda {parameters}: {target}({passed})", __file__, "eval")
        # it belongs to no module of this package, so that it is followed to the user's function
        scope = {target: self.fn, **{constants[key]: value for key, value in self.static.items()}}
        function: Callable[..., Any] = eval(code, scope)
        function.__name__ = name
        return function

    def _placed(self, given: Sequence[Any], static: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """`given`, one for each of the `names`, and `static` as positional arguments and those by name."""
        count = len(given) - self.extra
        values = {**static, **dict(zip(self.names, given[:count], strict=False))}
        positional: list[Any] = []
        for parameter in self.parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += given[count:]
            elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                break
            elif parameter.name not in values:
                break  # it has a default, and what follows goes by name
            else:
                positional.append(values.pop(parameter.name))
        return tuple(positional), values

    def bind(self, positional: Sequence[Any], named: dict[str, Any]) -> None:
        """Find the parameters of the arguments. Raises UsageError where they do not fit."""
        self.parameters = self._parameters(len(positional))
        waiting, missing = list(positional), list[str]()
        values = self.values
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
        self.names += [f"arg{len(values) + i}" for i in range(self.extra)]
        values += waiting

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


#: Stand-ins for Python numbers whose value does not matter.
_NUMBERS = {"float": 1.0, "int": 1, "bool": True}
_WORDS = {**_NUMBERS, "true": True, "false": False, "none": None, "True": True, "False": False, "None": None}
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9]*\s*\[[^\[\]{}():]*\]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?)")
_CLOSING = {"{": "}", "[": "]", "(": ")"}


def parse_spec(text: str) -> Any:
    """Parse the type of an argument into its stand-in: TensorTypes and Python numbers in containers.

    Example:
        >>> parse_spec("{w: f64[3], b: float}")
        {'w': TensorType(dtype=dtype('float64'), shape=(3,)), 'b': 1.0}

    Raises UsageError.
    """
    reader = _Reader(text)
    value = reader.spec()
    reader.skip()
    if reader.position < len(text):
        reader.fail("expected the end")
    return value


def parse_argnums(text: str) -> tuple[int, ...]:
    """``0,2`` as numbers of arguments."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise UsageError(f"--grad: expected numbers of arguments such as 0 or 0,2, got {text!r}") from None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def fail(self, what: str) -> NoReturn:
        at = f" at column {self.position + 1}" if self.position else ""
        raise UsageError(
            f"--arg {self.text!r} is not a type: {what}{at}. Types are f32[128,64], i64[], float, int, bool, "
            "{w: f64[3], b: f64[]}, [f64[3], float], (f64[3], f64[])"
        )

    def skip(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1

    def take(self, pattern: re.Pattern[str]) -> str | None:
        self.skip()
        match = pattern.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return match.group()

    def accept(self, character: str) -> bool:
        self.skip()
        if self.text.startswith(character, self.position):
            self.position += 1
            return True
        return False

    def spec(self) -> Any:
        self.skip()
        start = self.position
        opening = self.text[start : start + 1]
        if opening in _CLOSING:
            self.position += 1
            return self._dict() if opening == "{" else self._sequence(opening)
        word = self.take(_TYPE)
        if word is not None:
            try:
                return parse_type(word)
            except ParseError as error:
                self.position = start
                self.fail(error.problem)
        number = self.take(_NUMBER)
        if number is not None:
            return int(number) if number.lstrip("+-").isdigit() else float(number)
        word = self.take(_WORD)
        if word in _WORDS:
            return _WORDS[word]
        self.position = start
        if word in BY_NAME and self.text.startswith("[", self.position + len(word)):
            self.fail(f"the bracket after {word} is not closed")
        if word in BY_NAME:
            self.fail(f"{word} needs a shape: {word}[3], or {word}[] for a scalar")
        self.fail(f"there is no type {word!r}" if word else "expected a type")

    def _dict(self) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        while not self.accept("}"):
            if entries and not self.accept(","):
                self.fail("expected , or }")
            key = self.take(_WORD)
            if key is None or not self.accept(":"):
                self.fail("expected a name and a colon")
            assert key is not None
            if key in entries:
                self.fail(f"{key} is there twice")
            entries[key] = self.spec()
        return entries

    def _sequence(self, opening: str) -> Any:
        items: list[Any] = []
        while not self.accept(_CLOSING[opening]):
            if items and not self.accept(","):
                self.fail(f"expected , or {_CLOSING[opening]}")
            if items and self.accept(_CLOSING[opening]):  # (f64[3],)
                break
            items.append(self.spec())
        return items if opening == "[" else tuple(items)
