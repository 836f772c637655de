"""Tables of numbers that are data files: text that reads well in a diff, and gives back each float exactly.

A line that is not indented begins a table: its name, then what it is. Lines indented by two spaces begin a
row of numbers, more deeply indented ones go on with it. ``#`` begins a comment. For example:

    # e^r = 1 + r + r^2 P(r)
    EXP f32
      0.4999999701976776 0.1666666716337204
    # log gamma(1 + t) / t
    LGAMMA from -0.5 to 0.5
      -0.5772156649015329 0.8224670334241131

A table is one row, or with the word ``rows`` several, or with ``number`` one number. Tables of one name for
``f32`` and ``f64`` are a dictionary by dtype.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final

_DTYPES: Final = ("f32", "f64")
Row = tuple[float, ...]


class Tables:
    """The tables of a data file as attributes. The file is read when the first of them is asked for."""

    def __init__(self, file: str, on_interval: Callable[[float, float, Row], Any] | None = None) -> None:
        """Tables in `file`; ``on_interval(low, high, row)`` makes those that say from where to where they
        serve."""
        self._file, self._on_interval = file, on_interval

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in vars(self):
            vars(self).update(self._read())
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"there is no table {name} in {os.path.basename(self._file)}") from None

    def _read(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for name, words, rows in blocks_of(self._text()):
            dtype = words[0] if words and words[0] in _DTYPES else ""
            value = self._value(words[1:] if dtype else words, rows)
            if dtype:
                tables.setdefault(name, {})[dtype] = value
            else:
                tables[name] = value
        return tables

    def _text(self) -> str:
        with open(self._file, encoding="utf-8") as file:
            return file.read()

    def _value(self, words: Sequence[str], rows: Sequence[Row]) -> Any:
        if words and words[0] == "from" and self._on_interval is not None:
            return self._on_interval(float(words[1]), float(words[3]), rows[0])
        if words == ["rows"]:
            return tuple(rows)
        return rows[0][0] if words == ["number"] else rows[0]


def blocks_of(text: str) -> list[tuple[str, list[str], list[Row]]]:
    """The name, the words behind it and the rows of each table in the `text` of a file."""
    blocks: list[tuple[str, list[str], list[list[str]]]] = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, *words = line.split()
            blocks.append((name, words, []))
        elif line.startswith("   "):
            blocks[-1][2][-1] += line.split()
        else:
            blocks[-1][2].append(line.split())
    return [(name, words, [tuple(map(float, row)) for row in rows]) for name, words, rows in blocks]
