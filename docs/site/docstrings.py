"""Docstrings as reStructuredText: links to documents, and stars and bars that are no markup."""

from __future__ import annotations

import re
from typing import Any

_DOCUMENT = re.compile(r"(?<![\w/`])docs/([\w-]+)\.md(#[\w-]+)?")
_LITERAL = re.compile(r"(``.+?``(?!`)|`[^`]+`)", re.DOTALL)


def process(app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Sphinx's hook: `lines` are changed in place."""
    paragraphs = "\n".join(lines).split("\n\n")
    lines[:] = "\n\n".join(map(prose, paragraphs)).split("\n")


def prose(paragraph: str) -> str:
    """A paragraph in which only text between backticks is markup; examples stay as they are."""
    if ">>>" in paragraph:
        return paragraph
    parts = _LITERAL.split(paragraph)
    for number in range(0, len(parts), 2):
        text = parts[number].replace("*", r"\*").replace("|", r"\|")
        parts[number] = _DOCUMENT.sub(r":doc:`\1 </\1>`", text)
    for number in range(1, len(parts), 2):  # what follows a literal directly would be part of it
        if parts[number + 1][:1].isalnum():
            parts[number + 1] = r"\ " + parts[number + 1]
        if parts[number - 1][-1:].isalnum():
            parts[number - 1] += r"\ "
    return "".join(parts)
