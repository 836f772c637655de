"""Tokens of the text form, and how names and strings are quoted in it."""

from __future__ import annotations

import re
from typing import Final, NoReturn

from ...base.errors import ParseError
from ...base.records import record

_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
# Patterns are compiled when they are used, and `re` keeps them: most programs print and read no text.
_TOKEN: Final = rf"""(?P<space>[ \t\r\n]+)
      | (?P<value>%(?:[\w.]+|{_QUOTED}))
      | (?P<punctuation>[(){{}}\[\],:=])
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<arrow>->)
      | (?P<number>-?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|inf\b))
      | (?P<location>\#[^\n]*?:[0-9]{{1,9}}(?=[ \t\r]*(?:;|\n|\Z)))
      | (?P<comment>;[^\n]*)
      | (?P<function>@(?:[\w.<>]+|{_QUOTED}))
      | (?P<string>{_QUOTED})"""
_PLAIN: Final = {"%": r"[\w.]+", "@": r"[\w.<>]+"}
_ESCAPED: Final = r'[\\"\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]'
_ESCAPE: Final = r'\\(?:([nrt"\\])|u\{([0-9a-f]{1,6})\}|)'
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_BY_CHARACTER: Final = {character: letter for letter, character in _LETTERS.items()}


@record
class Token:
    """A piece of the text; `kind` is the name of its group in the lexer's pattern, or ``end``."""

    kind: str
    text: str
    offset: int


def tokenize(text: str) -> tuple[list[Token], list[Token]]:
    """The tokens of `text`, closed by one of kind ``end``, and its comments. Raises ParseError."""
    tokens: list[Token] = []
    comments: list[Token] = []
    offset, match_at = 0, re.compile(_TOKEN, re.VERBOSE).match
    while offset < len(text):
        match = match_at(text, offset)
        if match is None:
            fail(text, offset, _unexpected(text, offset))
        kind = match.lastgroup
        if kind == "comment":
            comments.append(Token(kind, match.group(), offset))
        elif kind != "space":
            tokens.append(Token(kind or "", match.group(), offset))
        offset = match.end()
    tokens.append(Token("end", "the end of the text", len(text)))
    return tokens, comments


def fail(text: str, offset: int, problem: str) -> NoReturn:
    """Raise ParseError for the place `offset` in `text`."""
    line = text.count("\n", 0, offset) + 1
    start = text.rfind("\n", 0, offset) + 1
    source = text[start:].split("\n", 1)[0].rstrip("\r")
    raise ParseError(problem, line, offset - start + 1, source)


def line_of(text: str, offset: int) -> int:
    """The line, from 1, of the place `offset` in `text`."""
    return text.count("\n", 0, offset) + 1


def _unexpected(text: str, offset: int) -> str:
    character = text[offset]
    if character == "#":
        return "expected a location, # FILE:LINE; comments begin with ;"
    if character == '"':
        return "the string has no end on its line"
    if character in "%@":
        return f"expected a name after {character}"
    return f"unexpected character {character!r}"


# -- names and strings -----------------------------------------------------------------------------


def quote(text: str) -> str:
    """`text` in quotes, on one line."""
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


def unquote(quoted: str) -> str:
    """Undo `quote`. Raises ValueError for an unknown escape."""
    return re.sub(_ESCAPE, _unescape, quoted[1:-1])


def sigil_name(sigil: str, name: str) -> str:
    """`name` after ``%`` or ``@``, in quotes where it has other characters than names have."""
    return sigil + (name if re.fullmatch(_PLAIN[sigil], name) else quote(name))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    letter = _BY_CHARACTER.get(character)
    return f"\\{letter}" if letter else f"\\u{{{ord(character):x}}}"


def _unescape(match: re.Match[str]) -> str:
    letter, code = match.groups()
    if letter:
        return _LETTERS[letter]
    if code and int(code, 16) < 0x110000:
        return chr(int(code, 16))
    raise ValueError('unknown escape: expected \\n, \\r, \\t, \\", \\\\ or \\u{HEX}')
