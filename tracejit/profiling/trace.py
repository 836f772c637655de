"""Profiles as traces that browsers show."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.records import record


@record
class Event:
    """An event with a duration: `begin` and `duration` in nanoseconds, `begin` since the profile began."""

    name: str
    category: str
    begin: int
    duration: int
    thread: int
    thread_name: str
    what: dict[str, Any]


def write_trace(events: Sequence[Event], dropped: int = 0) -> str:
    """The text of a trace file."""
    pid = os.getpid()
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    names = {event.thread: event.thread_name for event in events}
    rows: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": program}},
        *(
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": name}}
            for thread, name in names.items()
        ),
    ]
    for event in sorted(events, key=lambda event: (event.begin, -event.duration)):
        rows.append(
            {
                "ph": "X", "name": event.name, "cat": event.category, "pid": pid, "tid": event.thread,
                "ts": event.begin / 1e3, "dur": event.duration / 1e3, "args": event.what,
            }
        )  # fmt: skip
    other = {"dropped events": dropped} if dropped else {}
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ns", "otherData": other})
