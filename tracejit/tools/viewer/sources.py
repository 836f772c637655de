"""The user's files behind the ops of a function: the lines shown, and the place of each op in them."""

from __future__ import annotations

import linecache
import os
from collections.abc import Sequence
from typing import Any, Final

from ...ir.graph import Instruction, Location

#: Lines kept before the first and after the last line that an op comes from, in long files.
AROUND: Final = 40
#: Files with more lines are cut.
WHOLE: Final = 400


class Sources:
    """The files behind `ops`, numbered by how many ops come from them."""

    def __init__(self, ops: Sequence[Instruction]) -> None:
        lines: dict[str, list[int]] = {}
        for op in ops:
            if op.location is not None and op.location.file:
                lines.setdefault(op.location.file, []).append(op.location.line)
        self._files: dict[str, int] = {}
        self.files: list[dict[str, Any]] = []
        for file in sorted(lines, key=lambda line: -len(lines[line])):
            self._files[file] = len(self.files)
            self.files.append(self._excerpt(file, min(lines[file]), max(lines[file])))

    @staticmethod
    def _excerpt(file: str, first: int, last: int) -> dict[str, Any]:
        text = [line.rstrip("\n") for line in linecache.getlines(file)]
        start, stop = 1, len(text)
        if len(text) > WHOLE:
            start, stop = max(1, first - AROUND), min(len(text), last + AROUND)
        shown = text[start - 1 : stop]
        if not shown:  # a notebook cell or a prompt that Python does not keep
            start, shown = first, ["(the source of this line is not available)"]
        return {"name": os.path.basename(file), "first": start, "lines": shown}

    def number(self, name: str) -> int:
        """The number of the file called `name`; -1 for none of the user's."""
        names = [file["name"] for file in self.files]
        return names.index(name) if name in names else -1

    def place(self, location: Location | None) -> tuple[int, int]:
        """The file's number and the line; (-1, 0) for nothing of the user's."""
        if location is None or not location.file:
            return -1, 0
        return self._files.get(location.file, -1), location.line
