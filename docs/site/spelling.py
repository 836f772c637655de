"""The spelling of documents and docstrings, by codespell; ``words.txt`` has words that it does not know."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    *("docs", "examples", "benchmarks", "base", "ir", "codegen", "runtime", "tracejit"),
)


def misspelled() -> Iterator[str]:
    """A line for each word that is misspelled, with its file and what was meant."""
    command = [
        sys.executable,
        "-m",
        "codespell_lib",
        "--builtin",
        "clear,rare",
        "--skip",
        "*.svg,*.png,*.txt,*.npz",
    ]
    command += ["--ignore-words", str(Path(__file__).with_name("words.txt"))]
    process = subprocess.run(
        [*command, *(name for name in READ if (ROOT / name).exists())],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if process.stderr:
        yield process.stderr.strip()
    yield from process.stdout.splitlines()
