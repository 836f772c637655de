"""Formatter of IR text: the printer's layout with the author's names and comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from . import VERSION
from .lexer import Token
from .parser import parse_document
from .printer import Names, lines_of

_Anchor = TypeVar("_Anchor")


def format_text(text: str) -> str:
    """`text` in its one layout. What it means, its names and its comments stay; formatting twice changes
    nothing more.

    Example:
        >>> print(format_text("func @f(%x:f64[])->f64[]{ ; half\\n%y:f64[]=neg( %x)\\n return %y}"), end="")
        tir 1
        <BLANKLINE>
        func @f(%x: f64[]) -> f64[] {  ; half
          %y: f64[] = neg(%x)
          return %y
        }

    Raises ParseError.
    """
    document = parse_document(text)
    before, behind, last = placed_comments(text, document.places, document.comments)
    names = Names(document.names)
    blocks: list[list[str]] = []
    if last.get("first"):
        blocks.append(last["first"])
    blocks.append([f"tir {VERSION}"])
    for function in document.functions:
        block: list[str] = []
        for line, anchor in lines_of(function, names=names):
            indent = " " * (len(line) - len(line.lstrip()))
            if anchor == (function, "end") and before.get(anchor):
                indent += "  "
            block += [indent + text for text in before.get(anchor, ())]
            block.append("  ".join([line, *behind.get(anchor, ())]))
        blocks.append(block)
    if last.get("last"):
        blocks.append(last["last"])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def placed_comments(
    text: str, places: Mapping[_Anchor, int], comments: Sequence[Token]
) -> tuple[dict[_Anchor, list[str]], dict[_Anchor, list[str]], dict[str, list[str]]]:
    """The comments before a line, those at the end of one, and those before and after all; `places`
    are the offsets in `text` at which what is printed as a line begins."""
    ordered = sorted(((offset, anchor) for anchor, offset in places.items()), key=lambda place: place[0])
    start = _after_version(text)
    before: dict[_Anchor, list[str]] = {}
    behind: dict[_Anchor, list[str]] = {}
    outside: dict[str, list[str]] = {"first": [], "last": []}
    position = 0
    for comment in comments:
        words = comment.text.rstrip()
        while position < len(ordered) and ordered[position][0] < comment.offset:
            position += 1
        line = text[text.rfind("\n", 0, comment.offset) + 1 : comment.offset]
        if comment.offset < start or (start and not position and line.strip()):
            outside["first"].append(words)
        elif position and line.strip():
            behind.setdefault(ordered[position - 1][1], []).append(words)
        elif position < len(ordered):
            before.setdefault(ordered[position][1], []).append(words)
        else:
            outside["last"].append(words)
    return before, behind, outside


def _after_version(text: str) -> int:
    """The offset of the end of the line that states the version, or 0 if there is none."""
    offset = 0
    for line in text.split("\n"):
        words = line.split(";")[0].split()
        offset += len(line) + 1
        if words:
            return offset if words[0] == "tir" else 0
    return 0
