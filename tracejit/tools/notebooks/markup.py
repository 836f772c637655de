"""Pieces of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_CELL = "padding:1px 8px;font-family:monospace;white-space:pre"


def table(rows: Sequence[Sequence[str]], *, head: bool) -> str:
    """A table of texts; with `head`, the first row names the columns. Columns of words begin at their left,
    all others end at their right."""
    sides = ["left" if any(cell[:1].isalpha() or "@" in cell for cell in column[head:]) else "right"
             for column in zip(*rows, strict=True)]  # fmt: skip
    lines = []
    for number, row in enumerate(rows):
        tag = "th" if head and number == 0 else "td"
        cells = [
            f'<{tag} style="{_CELL};text-align:{side}">{escape(cell)}</{tag}>'
            for cell, side in zip(row, sides, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<table style="border-collapse:collapse;margin:4px 0">{"".join(lines)}</table>'


def text_block(text: str) -> str:
    """Text in lines as they are, which scrolls where it is long."""
    return f'<pre style="margin:4px 0;max-height:32em;overflow:auto">{escape(text)}</pre>'


def folded(title: str, inside: str, *, opened: bool = False) -> str:
    """What a click on `title` shows and hides."""
    is_open = " open" if opened else ""
    return f'<details{is_open}><summary style="cursor:pointer">{escape(title)}</summary>{inside}</details>'
