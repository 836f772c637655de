"""Argument specs: ``f32[128,64]``, ``float``, ``{w: f64[3], b: f64[]}``, ``[f64[2], 3]``."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ...ir.dtypes import BY_NAME
from ...ir.errors import ParseError
from ...ir.text.parser import parse_type
from .errors import UsageError

#: What stands for a Python number whose value does not matter.
_NUMBERS = {"float": 1.0, "int": 1, "bool": True}
_WORDS = {**_NUMBERS, "true": True, "false": False, "none": None, "True": True, "False": False, "None": None}
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9]*\s*\[[^\[\]{}():]*\]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?)")
_CLOSING = {"{": "}", "[": "]", "(": ")"}


def parse_spec(text: str) -> Any:
    """What stands for an argument of the type `text`: TensorTypes and Python numbers in containers.

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
