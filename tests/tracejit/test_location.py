"""Lines of the user's program are those that Python's frames name, at a cost that no code object's length
adds to."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tracejit.location import user_location

from ..support import processor_seconds, ratio

SOURCES = {
    "lines": "\n".join(f"    note(({i}))" for i in range(300)),
    "one expression": "    [\n" + "".join(f"        note({i}),\n\n" for i in range(40)) + "    ]",
    "branches": """
    for i in range(3):
        if i % 2:
            note(
                i)
        else:
            with open(__file__):
                note(i); note(-i)
    try:
        note(1) / 0
    except ZeroDivisionError:
        note(2)
    finally:
        (lambda: note(
            3))()""",
}


@pytest.mark.parametrize("name", SOURCES)
def test_lines_are_those_of_frames(name: str) -> None:
    seen: list[tuple[int, int]] = []

    def note(value: int) -> int:
        location = user_location(skipped=1)
        assert location is not None
        seen.append((location.line, sys._getframe(1).f_lineno))
        return value

    scope: dict[str, Any] = {"note": note, "__file__": __file__}
    exec(compile("\n\ndef f():\n" + SOURCES[name], "/home/user/program.py", "exec"), scope)
    for _ in range(2):  # the second time, what the first one has noted
        scope["f"]()
    assert len({line for line, _ in seen}) > 4
    assert all(line == own for line, own in seen)


def test_long_functions_take_no_longer_for_each_line() -> None:
    def seconds(lines: int) -> float:
        scope: dict[str, Any] = {"note": user_location}
        source = "def f():\n" + "    note()\n" * lines
        exec(compile(source, "/home/user/program.py", "exec"), scope)
        return processor_seconds(scope["f"])

    # 20 times is linear, 400 times quadratic
    assert ratio(lambda: seconds(40_000), lambda: seconds(2_000), 160) < 160
