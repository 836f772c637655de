"""``tracejit cache``: show the place and size of the compile cache on disk, or empty it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ....runtime.cache.store import CACHE


def add_parser(commands: Any) -> None:
    """Add ``cache`` to the command line."""
    parser = commands.add_parser(
        "cache",
        epilog="examples:\n  tracejit cache info\n  tracejit cache info --json\n  tracejit cache clear",
        help="print where compiled code is kept and how much, or remove it",
    )
    parser.add_argument("action", choices=("info", "clear"), help="print what there is, or remove it")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")


def run(options: argparse.Namespace) -> int:
    """Print what there is, or what was removed."""
    if options.action == "clear":
        report: dict[str, Any] = {"folder": CACHE.folder, "removed": CACHE.clear()}
        lines = [f"removed {report['removed']} entries from {report['folder']}"]
    else:
        info = CACHE.info()
        report = {
            "folder": info.folder, "enabled": info.enabled, "problem": info.problem, "entries": info.entries,
            "bytes": info.nbytes, "limit": info.limit,
        }  # fmt: skip
        lines = [
            f"folder   {info.folder}",
            f"in use   {'yes' if info.enabled else 'no: ' + info.problem}",
            f"entries  {info.entries}",
            f"size     {info.nbytes / 1e6:.1f} MB of at most {info.limit / 1e6:.0f} MB",
        ]
    print(json.dumps(report) if options.json else "\n".join(lines))
    return 0
