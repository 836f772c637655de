"""mypy says of programs that users write what `programs.py` has behind their lines."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("programs.py")


def expected(text: str) -> dict[int, tuple[str, set[str]]]:
    """The comments behind the lines: by line, ``E`` or ``T``, and the codes or the type."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(r"  # ([ET]): (.*)$", line)
        if match is not None:
            found[number] = match[1], set(match[2].split(", ") if match[1] == "E" else [match[2]])
    return found


def said(output: str) -> dict[int, tuple[str, set[str]]]:
    """Mypy's output for the lines, in the same form."""
    codes: dict[int, set[str]] = defaultdict(set)
    types = {}
    for line in output.splitlines():
        if match := re.match(r".*programs\.py:(\d+): error: .* \[([\w-]+)\]$", line):
            codes[int(match[1])].add(match[2])
        elif match := re.match(r'.*programs\.py:(\d+): note: Revealed type is "(.*)"$', line):
            types[int(match[1])] = "T", {match[2].replace("builtins.", "")}
    return types | {number: ("E", found) for number, found in codes.items()}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is in the extra dev")
def test_mypy_says_what_stands_behind_the_lines() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--show-error-codes", str(PROGRAMS.relative_to(ROOT))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1, process.stdout + process.stderr
    wanted, got = expected(PROGRAMS.read_text()), said(process.stdout)
    differing = {
        number: (wanted.get(number), got.get(number))
        for number in wanted.keys() | got.keys()
        if wanted.get(number) != got.get(number)
    }
    assert not differing, f"line: (expected, said) {differing}\n{process.stdout}"


def test_there_are_programs_of_both_kinds() -> None:
    kinds = [kind for kind, _ in expected(PROGRAMS.read_text()).values()]
    assert kinds.count("E") > 20
    assert kinds.count("T") > 25
