"""Files of text, and of Functions in the IR's: reading, checking, writing; errors name the line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol, TypeVar

from ...base.errors import ParseError, VerificationError
from ...ir.graph import Function
from ...ir.text.lexer import line_of
from ...ir.text.parser import Document, parse_document
from ...ir.verifier import verify
from .errors import TargetError, UsageError, error_in_text

#: The end of the names of files of Functions.
SUFFIX: Final = ".tir"

T = TypeVar("T")


class Named(Protocol):
    """A part of a file that has a name: a Function or a kernel."""

    @property
    def name(self) -> str:
        """The name, without the ``@``."""


Part = TypeVar("Part", bound=Named)


def read_text(path: str) -> str:
    """The text of a file, or of standard input for ``-``. Raises UsageError where there is none."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise TargetError(f"{shown(path)} is not text: {error}") from None


def shown(path: str) -> str:
    """The name of the file `path` in messages."""
    return "<stdin>" if path == "-" else path


def write_text(path: str | None, text: str) -> None:
    """Write `text` to a file, or to standard output where `path` is None or ``-``."""
    if path in (None, "-"):
        sys.stdout.write(text)
    else:
        Path(str(path)).write_text(text, encoding="utf-8")


def parsed(parse: Callable[[str], T], text: str, path: str) -> T:
    """The result of `parse` for `text`, which is that of `path`. Raises TargetError with file, line and
    column, and a caret."""
    try:
        return parse(text)
    except ParseError as error:
        raise error_in_text(shown(path), error.line, error.column, error.problem, error.caret) from error


def error_at(text: str, path: str, offset: int, problem: str) -> TargetError:
    """The error for the line of `text` on which something begins at `offset`."""
    start = text.rfind("\n", 0, offset) + 1
    source = text[start:].split("\n", 1)[0].rstrip("\r")
    column = offset - start
    marks = "^" * max(1, len(source.split(";")[0].rstrip()) - column)
    return error_in_text(
        shown(path), line_of(text, offset), column + 1, problem, f"  {source}\n  {' ' * column}{marks}"
    )


def named(parts: Sequence[Part], path: str, name: str, kind: str) -> Part:
    """The part of the file `path` called `name`; the only one where that is empty. Raises UsageError."""
    names = {part.name: part for part in parts}
    if name and name not in names:
        raise UsageError(f"{shown(path)} has no {kind} {name!r}; it has {', '.join(names) or 'none'}")
    if not name and len(parts) != 1:
        which = f"name one as {path}:NAME: {', '.join(names)}" if names else "there is none"
        raise UsageError(f"{shown(path)}: expected one {kind}; {which}")
    return names[name] if name else parts[0]


def split_target(target: str, suffix: str) -> tuple[str, str]:
    """``file.tir:name`` as file and name, for the suffix ``.tir``; the name is empty where there is none."""
    place, _, name = target.rpartition(":")
    return (place, name) if place.endswith(suffix) else (target, "")


# -- Functions -------------------------------------------------------------------------------------


def is_document(target: str) -> bool:
    """Whether `target` names a ``.tir`` file, or a function of one, or standard input."""
    return target == "-" or split_target(target, SUFFIX)[0].endswith(SUFFIX)


def valid_functions(text: str, path: str) -> Document:
    """The document `text`, which is that of `path`. Raises TargetError with file and line where it is
    malformed or not valid."""
    document = parsed(parse_document, text, path)
    for function in document.functions:
        try:
            verify(function)
        except VerificationError as error:
            anchor = error.instruction if error.instruction in document.places else (function, "func")
            raise error_at(text, path, document.places[anchor], error.problem) from error
    return document


def function_of(target: str) -> tuple[Function, str]:
    """The valid Function that ``file.tir`` or ``file.tir:name`` names, and the file. Raises UsageError and
    TargetError."""
    path, name = split_target(target, SUFFIX)
    return named(valid_functions(read_text(path), path).functions, path, name, "function"), path
