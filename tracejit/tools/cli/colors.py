"""Colours for terminals. Text that is piped or written to a file has none, unless it is asked for."""

from __future__ import annotations

import argparse
import os
import re
from typing import IO, Final

_CODES: Final = {
    "comment": "2",  # dim
    "value": "36",
    "function": "1;33",
    "keyword": "1;34",
    "type": "32",
    "string": "35",
    "number": "35",
    "label": "33",
    "added": "32",
    "removed": "31",
    "place": "36",
    "heading": "1",
}

_TYPE = r"(?:bool|[iu](?:8|16|32|64)|f(?:32|64))\[[0-9, ]*\]"
_PATTERNS: Final = {
    "tir": re.compile(
        rf"""(?P<comment>;[^\n]*|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<value>%[\w.]+)
        |(?P<function>@[\w.<>]+)|(?P<type>{_TYPE})|(?P<keyword>\b(?:func|return|tir)\b|\b\w+(?=\())""",
        re.VERBOSE,
    ),
    "loops": re.compile(
        rf"""(?P<comment>;[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<type>{_TYPE})|(?P<keyword>\b(?:nest|for
        |reduce|stage|fold|each|row|lanes|kernel|step|tasks|unrolled|interleaved|while|if|else|load|store|alloc
        |call|fail|unless|poll|fence|index|holds|where)\b)|(?P<value>%[\w.]+)|(?P<function>@[\w.<>]+)""",
        re.VERBOSE,
    ),
    "llvm": re.compile(
        r"""(?P<comment>;[^\n]*)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<label>^[\w.]+:)
        |(?P<value>%[\w.]+)|(?P<function>@[\w.]+)|(?P<type>\b(?:i[0-9]+|float|double|ptr|void)\b)
        |(?P<keyword>\b(?:define|declare|internal|call|br|ret|load|store|phi|select|getelementptr)\b)""",
        re.VERBOSE | re.MULTILINE,
    ),
    "asm": re.compile(
        r"""(?P<comment>\#[^\n]*|//[^\n]*|^\s+\.[^\n]*)|(?P<label>^[\w.$]+:)|(?P<keyword>^\t[a-z][\w.]*)
        |(?P<value>%[a-z]\w*|\b[xwvqdsr][0-9]+(?:\.\w+)?\b)|(?P<number>\$-?\w+)""",
        re.VERBOSE | re.MULTILINE,
    ),
    "diff": re.compile(
        r"""(?P<heading>^(?:---|\+\+\+)[^\n]*)|(?P<place>^@@[^\n]*)|(?P<added>^\+[^\n]*)
        |(?P<removed>^-[^\n]*)""",
        re.VERBOSE | re.MULTILINE,
    ),
}


def wants_color(choice: str, stream: IO[str]) -> bool:
    """Whether to colour what goes to `stream`: `choice` is ``always``, ``never`` or ``auto``.

    ``auto`` means for terminals; the variables NO_COLOR and FORCE_COLOR, where they are not empty, say
    otherwise (https://no-color.org, https://force-color.org).
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def colored(text: str, language: str) -> str:
    """`text` with escape codes for a terminal: `language` is tir, loops, llvm, asm, diff; or it stays plain.

    Example:
        >>> colored("-old", "diff")
        '\\x1b[31m-old\\x1b[0m'
    """
    pattern = _PATTERNS.get(language)
    return pattern.sub(_painted, text) if pattern else text


def painted(text: str, kind: str) -> str:
    """`text` as one piece of the kind ``added``, ``removed``, ``heading``, ..."""
    return f"\x1b[{_CODES[kind]}m{text}\x1b[0m"


def _painted(match: re.Match[str]) -> str:
    return painted(match.group(), match.lastgroup or "comment")


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command takes."""
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="default: on a terminal"
    )
    parser.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show Python's traceback of an error",
    )
