"""docs/profiling.md and docs/debugging.md: their programs run, and what they name is there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import tracejit as tj
from tracejit.profiling import FunctionProfile, NestProfile, Profile
from tracejit.tools.cli import COMMANDS, main

DOCS = Path(__file__).parents[4] / "docs"


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def masked(line: str) -> list[str]:
    """The words of a line, without numbers."""
    return [re.sub(r"\d+(\.\d+)?", "N", word) for word in line.split() if not re.fullmatch(r"[\d.]+", word)]


def test_the_programs_of_profiling() -> None:
    text = text_of("profiling.md")
    programs = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL)
    for (program, shown), name in zip(programs, ("model.py", "why.py"), strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, name, "exec"), {})
        printed_lines = [masked(line) for line in printed.getvalue().splitlines()]
        for line in shown.splitlines():
            assert line == "..." or masked(line) in printed_lines, line


def test_names_of_profiling() -> None:
    with tj.profile() as profile:
        tj.jit(lambda x: tj.exp(x))(tj.ones(3))
    (function,) = profile.functions
    assert isinstance(profile, Profile)
    assert isinstance(function, FunctionProfile)
    (nest,) = function.nests
    assert isinstance(nest, NestProfile)
    for name in ("runs", "milliseconds", "cost", "gflops", "gbytes"):
        assert f"`{name}`" in text_of("profiling.md")
        assert hasattr(nest, name)


@pytest.mark.parametrize("name", ["profiling.md", "debugging.md"])
def test_commands_and_options_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_of(name)
    quoted = re.findall(r"`(tracejit .*?)`", text) + re.findall(r"^(tracejit .*)$", text, re.MULTILINE)
    matches = re.findall(r"^tracejit (\w+)(.*)", "\n".join(quoted), re.MULTILINE)
    assert matches
    for command, rest in matches:
        assert command in COMMANDS, command
        with pytest.raises(SystemExit):
            main([command, "--help"])
        options = set(re.findall(r"--[\w-]+", rest)) - {"--epochs"}  # the program's own
        assert options <= set(re.findall(r"--[\w-]+", capsys.readouterr().out)), command


def test_switches_of_debugging() -> None:
    text = text_of("debugging.md")
    for name, value in (("every_op", True), ("inf", False), ("nan", False)):
        assert f"{name}={value}" in text
        tj.debug.check_nans(**{name: value})
    for variable in ("TRACEJIT_CHECK_NANS=1", "TRACEJIT_CHECK=1"):
        assert variable in text


def test_the_breakpoint_of_debugging() -> None:
    (program,) = [
        example
        for example in re.findall(r"```python\n(.*?)```", text_of("debugging.md"), re.DOTALL)
        if "def stop" in example
    ]
    stops: list[Any] = []
    names = {"tj": tj, "hidden": tj.ones(3), "breakpoint": lambda: stops.append(1)}
    exec(compile(program, "debugging.md", "exec"), names)
    assert stops == [1]
