"""Explanations, profiles and stages of compilation as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from ...profiling import tables

if TYPE_CHECKING:
    from ...jitted.explaining import Explanation
    from ...jitted.lowered import Lowered
    from ...profiling.profiles import Profile

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
    """A section `inside` that a click on `title` shows and hides."""
    is_open = " open" if opened else ""
    return f'<details{is_open}><summary style="cursor:pointer">{escape(title)}</summary>{inside}</details>'


#: Stages that every reader can read; code of a machine is asked for by `Lowered.as_text`.
_STAGES: Final = ("trace", "optimized", "fused", "loops")
#: Rows of a profile's tables.
_LIMIT: Final = 20


def explanation_html(explanation: Explanation) -> str:
    """A row for each signature, and the whole text behind a click."""
    rows = [("", "arguments", "compiled because", "ms", "native entry", "paths", "calls of Python")]
    for number, report in enumerate(explanation.signatures):
        programs = [*report.programs, *(program for path in report.paths for program in path.programs)]
        rows.append(
            (
                f"[{number}]", ", ".join([f"{name}: {type_}" for name, type_ in report.arguments]),
                report.reason, f"{report.milliseconds:.0f}", "yes" if report.native_entry else "no",
                str(len(report.paths) or ""), str(sum(len(p.host_calls) for p in programs) or ""),
            )
        )  # fmt: skip
    first = str(explanation).split("\n", 1)[0]
    return table(rows, head=True) + folded(first, text_block(str(explanation)), opened=len(rows) == 2)


def profile_html(profile: Profile) -> str:
    """The tables of a profile and its summary."""
    parts = []
    for rows, rest in tables.sections(profile, _LIMIT):
        parts.append(table(rows, head=True) + (text_block(rest) if rest else ""))
    return "".join(parts) + text_block(tables.summary(profile))


def lowered_html(lowered: Lowered) -> str:
    """The stages from the trace to loop nests, the optimized one open."""
    return "".join(
        [folded(stage, text_block(lowered.as_text(stage)), opened=stage == "optimized") for stage in _STAGES]
    )
