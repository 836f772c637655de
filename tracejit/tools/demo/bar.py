"""A progress bar of one line, for terminals alone."""

from __future__ import annotations

import sys
from typing import TextIO

_CELLS = 28


class Bar:
    """Redraws its line with every `advance`, and ends it in `close`.

    The default stream is stderr, so that what the program prints on stdout can be piped. Nothing is written
    to a stream that is not a terminal.
    """

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._width = 0

    def advance(self, note: str = "") -> None:
        """Advance the bar by one of the total; `note` stands behind it."""
        self._done += 1
        if not self._shown:
            return
        filled = _CELLS * self._done // self._total
        cells = "#" * filled + "." * (_CELLS - filled)
        line = f"{self._label} [{cells}] {self._done}/{self._total}  {note}".rstrip()
        # spaces cover what a longer line left behind; an escape sequence would not work everywhere
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def close(self) -> None:
        """Leave the finished bar as it stands and go to the next line."""
        if self._shown and self._done:
            self._stream.write("\n")
            self._stream.flush()
