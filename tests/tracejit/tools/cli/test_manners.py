"""Behaviour that all commands share: help with examples, exit codes, one line of error, completion."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tj
from tracejit.tools.cli import COMMANDS, main
from tracejit.tools.cli.errors import INTERNAL


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(cli, command):
    done = cli(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: tracejit {command}")
    assert f"tracejit {command}" in done.out.split("examples:")[1]
    assert max(map(len, done.out.splitlines())) <= 120


def test_alone_it_says_what_can_be_done(cli):
    done = cli()
    assert (done.code, done.err) == (0, "")
    named = re.findall(r"^  tracejit (\w+)", done.out, re.MULTILINE)
    assert len(named) > 3
    assert set(named) <= set(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dmup",), "there is no command 'dmup' (did you mean dump?); tracejit --help lists all"),
        (("xyzzy",), "there is no command 'xyzzy'; tracejit --help lists all"),
        (("verify", "--quite"), "unrecognized arguments: --quite (did you mean --quiet?)"),
        (("verify", "--jumble"), "unrecognized arguments: --jumble"),
    ],
)
def test_near_misses(cli, arguments, message):
    done = cli(*arguments)
    assert done.code == 2
    assert done.err.splitlines()[-1] == f"tracejit: error: {message}"


def test_help_of_all(cli):
    done = cli("--help")
    assert done.code == 0
    for command in COMMANDS:
        assert re.search(rf"^    {command}( |$)", done.out, re.MULTILINE)
    assert "exit codes:" in done.out
    assert "examples:" in done.out


def test_every_command_is_documented():
    table = (Path(__file__).parents[4] / "docs" / "cli.md").read_text(encoding="utf-8").split("\n## ")[0]
    for command in COMMANDS:
        assert f"`{command}`" in table, command


def test_version(cli):
    assert cli("--version").out == f"tracejit {tj.__version__}\n"


def test_only_the_command_that_runs_is_loaded():
    code = """import sys
from tracejit.tools.cli import main
assert main(["verify", "-q"]) == 0
loaded = {name.split(".")[4] for name in sys.modules if name.startswith("tracejit.tools.cli.commands.")}
assert "verify" in loaded
assert not loaded & {"dump", "opt", "run", "fmt", "doctor", "demo", "completion"}, loaded
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bug_of_ours_is_said_to_be_one(cli, monkeypatch):
    def broken(options):
        raise KeyError("surprise")

    monkeypatch.setattr("tracejit.tools.cli.commands.opt.run", broken)
    done = cli("opt", "good.tir")
    assert done.code == INTERNAL
    assert done.err == (
        "tracejit opt: a bug in tracejit: KeyError: 'surprise' (--traceback shows where; please report it)\n"
    )
    assert "in broken\n" in cli("--traceback", "opt", "good.tir").err


def test_memory_that_there_is_not(cli):
    (cli.folder / "huge.tir").write_text("func @f(%x: f64[1000000,1000000,1000]) -> () { return }")
    done = cli("run", "huge.tir", "--random", "0")
    assert done.code == 1
    assert done.err.startswith("tracejit run: not enough memory: ")
    assert len(done.err.splitlines()) == 1


def test_an_interrupt(cli, monkeypatch):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tracejit.tools.cli.commands.opt.run", interrupted)
    assert cli("opt", "good.tir").code == 130


def test_completion_without_shtab(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    done = cli("completion", "bash")
    assert done.code == 2
    assert done.err.endswith(
        "shtab writes the scripts, and is not there: pip install 'tracejit[completion]'\n"
    )
    assert cli("completion", "tcsh").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli, shell):
    pytest.importorskip("shtab")
    done = cli("completion", shell)
    assert (done.code, done.err) == (0, "")
    for word in (
        "dump",
        "verify",
        "--print-after-all" if shell != "fish" else "print-after-all",
        "after:simplify",
    ):
        assert word in done.out
    if shutil.which(shell):
        syntax = ["-n"] if shell != "fish" else ["--no-execute"]
        subprocess.run([shell, *syntax], input=done.out, text=True, check=True, timeout=600)


def test_completion_in_bash(cli):
    """Completions that bash offers at some places of a command line."""
    pytest.importorskip("shtab")
    script = cli("completion", "bash").out
    name = next(line.split()[-2] for line in script.splitlines() if line.startswith("complete "))
    for words, expected, unwanted in (
        (["tracejit", "do"], "doctor", "dump"),
        (["tracejit", "opt", "--pas"], "--passes", "--time"),
        (["tracejit", "dump", "--stage", "llvm-"], "llvm-opt", "asm"),
        (["tracejit", "run", "go"], "good.tir", "two.tir"),
    ):
        quoted = " ".join(f"'{word}'" for word in words)
        code = (
            f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; "
            f"_shtab_tracejit tracejit '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        assert name
        done = subprocess.run(["bash"], input=code, capture_output=True, text=True, check=True, timeout=600)
        offered = done.stdout.split()
        assert expected in offered, (words, offered, done.stderr)
        assert unwanted not in offered


def test_main_is_a_function_of_its_arguments(capsys):
    assert main(["verify", "-q", "/dev/null"]) == 0
    assert capsys.readouterr().out == ""
