"""Explanations, profiles and stages of compilation as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..profiling import tables
from .markup import folded, table, text_block

if TYPE_CHECKING:
    from ...jitted.explaining import Explanation
    from ...jitted.lowered import Lowered
    from ..profiling.profiles import Profile

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
