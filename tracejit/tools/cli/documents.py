"""Files of text: reading, checking, writing. Errors name the line.

A `Form` is that of files of Functions, or of kernels (`kernels.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from ...base.errors import ParseError, VerificationError
from ...ir.graph import Function
from ...ir.text.lexer import line_of
from ...ir.text.parser import Document, parse_document
from ...ir.verifier import verify
from .errors import TargetError, UsageError, error_in_text

T = TypeVar("T")
Doc = TypeVar("Doc")


class Named(Protocol):
    """A part of a file that has a name: a Function or a kernel."""

    @property
    def name(self) -> str:
        """The name, without the ``@``."""


Part = TypeVar("Part", bound=Named)


class Fault(NamedTuple):
    """The place in a document where it is not valid, and why."""

    offset: int
    problem: str
    error: Exception


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


def split_target(target: str, suffix: str) -> tuple[str, str]:
    """``file.tir:name`` as file and name, for the suffix ``.tir``; the name is empty where there is none."""
    place, _, name = target.rpartition(":")
    return (place, name) if place.endswith(suffix) else (target, "")


class Form(Generic[Doc, Part]):
    """A form of text in which files hold parts that have names, such as Functions.

    Attributes:
        suffix: the end of files' names.
        kind: the word for a part.
        parts: the parts of a document.
    """

    def __init__(
        self,
        suffix: str,
        kind: str,
        parse: Callable[[str], Doc],
        parts: Callable[[Doc], Sequence[Part]],
        check: Callable[[Doc, Part], Fault | None],
    ) -> None:
        self.suffix, self.kind, self.parts = suffix, kind, parts
        self._parse, self._check = parse, check

    def holds(self, target: str) -> bool:
        """Whether `target` names a file of this form, or a part of one, as ``file.tir:name``."""
        return self.file_of(target).endswith(self.suffix)

    def file_of(self, target: str) -> str:
        """The file of a target."""
        return split_target(target, self.suffix)[0]

    def valid(self, text: str, path: str) -> Doc:
        """The document `text`, which is that of `path`. Raises TargetError with file and line where it is
        malformed or not valid."""
        document = parsed(self._parse, text, path)
        for part in self.parts(document):
            fault = self._check(document, part)
            if fault is not None:
                raise error_at(text, path, fault.offset, fault.problem) from fault.error
        return document

    def part_of(self, target: str) -> Part:
        """The valid part that ``file.tir`` or ``file.tir:name`` names; of a file with one part, that. Raises
        UsageError and TargetError."""
        path, name = split_target(target, self.suffix)
        parts = self.parts(self.valid(read_text(path), path))
        names = {part.name: part for part in parts}
        if name and name not in names:
            raise UsageError(
                f"{shown(path)} has no {self.kind} {name!r}; it has {', '.join(names) or 'none'}"
            )
        if not name and len(parts) != 1:
            which = f"name one as {path}:NAME: {', '.join(names)}" if names else "there is none"
            raise UsageError(f"{shown(path)}: expected one {self.kind}; {which}")
        return names[name] if name else parts[0]


def _fault_of_function(document: Document, function: Function) -> Fault | None:
    try:
        verify(function)
    except VerificationError as error:
        anchor = error.instruction if error.instruction in document.places else (function, "func")
        return Fault(document.places[anchor], error.problem, error)
    return None


#: Files of Functions.
FUNCTIONS: Final = Form[Document, Function](
    ".tir", "function", parse_document, lambda document: document.functions, _fault_of_function
)


def is_document(target: str) -> bool:
    """Whether `target` names a file of Functions, or a function of one, or standard input."""
    return target == "-" or FUNCTIONS.holds(target)
