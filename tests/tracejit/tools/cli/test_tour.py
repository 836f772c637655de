"""docs/tour.md and docs/cli.md show what the commands print; ``TRACEJIT_UPDATE_TOUR=1`` writes them anew.

Commands stand in blocks of the language ``console``, after ``$``; below them is their output.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tracejit.codegen.llvm.loading import llvm_binding
from tracejit.tools.cli import main

_ROOT = Path(__file__).parents[4]
DOCS = _ROOT / "docs"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def output_of(command: str, capsys) -> str:
    """The output of a command: tracejit runs in this process, and the commands behind a pipe in a shell."""
    own, pipe, rest = command.partition(" | ")
    text = ""
    if own.startswith("tracejit "):
        code = main(shlex.split(own)[1:])
        text, errors = capsys.readouterr()
        assert (code == 0) == (errors == ""), command
        text += errors
        assert "test_tour" not in text, command
        if not pipe:
            return text
    else:
        rest = command
    done = subprocess.run(
        ["bash", "-c", rest], input=text, capture_output=True, text=True, check=True, timeout=600,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    return done.stdout


def depends_on_llvm(block: str) -> bool:
    return "--stage asm" in block or "grad.s" in block or "llvm-opt" in block


def remade(document: str, capsys, *, same_llvm: bool) -> str:
    """The document with the output of its commands as it is now."""

    def block(match: re.Match[str]) -> str:
        lines = []
        for line in match[1].splitlines(keepends=True):
            if line.startswith("$ "):
                lines += [line, output_of(line[2:].strip(), capsys)]
        text = "".join(lines)
        return match[0] if depends_on_llvm(text) and not same_llvm else f"```console\n{text}```"

    return _BLOCK.sub(block, document)


@pytest.mark.parametrize("name", ["tour.md", "cli.md"])
def test_a_document_is_what_the_commands_print(name, tmp_path, monkeypatch, capsys):
    shutil.copy(_ROOT / "examples" / "cross_entropy.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    document = (DOCS / name).read_text(encoding="utf-8")
    (version,) = re.findall(r"made by LLVM (\d+)", (DOCS / "tour.md").read_text(encoding="utf-8"))
    current = llvm_binding().llvm_version_info[0]
    current_text = remade(document, capsys, same_llvm=int(version) == current)
    if os.environ.get("TRACEJIT_UPDATE_TOUR") == "1":
        (DOCS / name).write_text(current_text, encoding="utf-8")
    else:
        assert current_text == document, f"{name} is stale: TRACEJIT_UPDATE_TOUR=1 writes it anew"


def test_the_tour_follows_the_function_from_python_to_assembly():
    document = (DOCS / "tour.md").read_text(encoding="utf-8")
    for word in (
        "def cross_entropy",
        "func @cross_entropy",
        "fusion(",
        "row nest k0",
        "define",
        "vfmadd",
        "native agrees",
    ):
        assert word in document, word


def test_a_stale_tour_fails(tmp_path, monkeypatch, capsys):
    """The runner itself: output that changed is seen, and commands that fail."""
    monkeypatch.chdir(tmp_path)
    block = "```console\n$ echo one\none\n$ printf 'a\\nb\\n' | head -1\na\n```"
    assert remade(block, capsys, same_llvm=True) == block
    assert remade(block.replace("\na\n", "\nold\n"), capsys, same_llvm=True) == block
    asm = "```console\n$ echo --stage asm\nold\n```"
    assert remade(asm, capsys, same_llvm=False) == asm
    assert remade(asm, capsys, same_llvm=True) != asm
