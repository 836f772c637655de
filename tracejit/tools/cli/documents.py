"""Files of the IR's text: reading, checking and writing them, with errors that name their line."""

from __future__ import annotations

import sys
from pathlib import Path

from ...base.errors import ParseError, VerificationError
from ...ir.graph import Function
from ...ir.text.parser import Document, parse_document
from ...ir.verifier import verify
from .errors import TargetError, UsageError, error_in_text


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


def parse_text(text: str, path: str) -> Document:
    """`text`, which is that of `path`. Raises TargetError with file, line and column, and a caret."""
    try:
        return parse_document(text)
    except ParseError as error:
        raise error_in_text(shown(path), error.line, error.column, error.problem, error.caret) from error


def read_document(path: str) -> Document:
    """The document in a file. Raises UsageError or TargetError."""
    return parse_text(read_text(path), path)


def check(document: Document, path: str) -> None:
    """Verify the Functions of a document. Raises TargetError with file and line."""
    for function in document.functions:
        try:
            verify(function)
        except VerificationError as error:
            where = error.instruction if error.instruction in document.places else (function, "func")
            line = document.line(where)
            source = document.text.split("\n")[line - 1].rstrip("\r")
            body = source.split(";")[0].rstrip()
            column = len(body) - len(body.lstrip())
            marks = "^" * max(1, len(body) - column)
            detail = f"  {source}\n  {source[:column]}{marks}"
            raise error_in_text(shown(path), line, column + 1, error.problem, detail) from error


def select(document: Document, path: str, name: str) -> Function:
    """The Function called `name`; the only one where that is empty. Raises UsageError."""
    functions = {function.name: function for function in document.functions}
    if name and name not in functions:
        raise UsageError(f"{shown(path)} has no function {name!r}; it has {', '.join(functions) or 'none'}")
    if not name and len(functions) != 1:
        which = f"name one as {path}:NAME: {', '.join(functions)}" if functions else "there is none"
        raise UsageError(f"{shown(path)}: expected one function; {which}")
    return functions[name] if name else document.functions[0]


def is_document(target: str) -> bool:
    """Whether `target` names a ``.tir`` file, or a function of one, or standard input."""
    return target == "-" or target.endswith(".tir") or target.rpartition(":")[0].endswith(".tir")


def split_target(target: str) -> tuple[str, str]:
    """``file.tir:name`` as file and name; the name is empty where there is none."""
    place, _, name = target.rpartition(":")
    return (place, name) if place.endswith(".tir") else (target, "")


def write_text(path: str | None, text: str) -> None:
    """Write `text` to a file, or to standard output where `path` is None or ``-``."""
    if path in (None, "-"):
        sys.stdout.write(text)
    else:
        Path(str(path)).write_text(text, encoding="utf-8")
