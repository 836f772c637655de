"""Writer of the data files that ``base.number_tables`` reads."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence


def block(name: str, words: Sequence[str], rows: Sequence[Sequence[float]], comment: str = "") -> str:
    """The text of one table."""
    lines = textwrap.wrap(comment, 108, initial_indent="# ", subsequent_indent="# ")
    lines.append(" ".join([name, *words]))
    for row in rows:
        numbers = " ".join(repr(float(number)) for number in row)
        lines += textwrap.wrap(numbers, 108, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"
