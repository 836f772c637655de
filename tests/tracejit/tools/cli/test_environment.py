"""``TRACEJIT_DUMP``: what any program compiles, written down."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracejit.ir.text.parser import parse_function
from tracejit.tools.dumping import file_name

_ROOT = Path(__file__).parents[4]
PROGRAM = """
import tracejit as tj
def loss(x):
    return tj.exp(x).sum()
f = tj.jit(loss)
x = tj.ones(3, requires_grad=True)
f(x).backward()
print(float(f(x)), f(x))
"""


def run(folder, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRACEJIT_DUMP")}
    environment |= {"PYTHONPATH": str(_ROOT), **variables}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_files(tmp_path):
    plain = run(tmp_path)
    done = run(tmp_path, TRACEJIT_DUMP="optimized,after:dce, llvm,svg", TRACEJIT_DUMP_DIR="a/b")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == plain.stdout
    names = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    functions = ["001-loss", "002-loss_backward"]
    stages = ["after-dce.tir", "llvm.ll", "optimized.tir", "svg.svg"]
    assert names == [f"{function}-{stage}" for function in functions for stage in stages]
    text = (tmp_path / "a/b/001-loss-optimized.tir").read_text()
    assert text.startswith("tir 1\n")
    assert parse_function(text).name == "loss"
    assert "define i32 @main" in (tmp_path / "a/b/002-loss_backward-llvm.ll").read_text()


def test_standard_error(tmp_path):
    done = run(tmp_path, TRACEJIT_DUMP="loops")
    assert done.stderr.startswith("; ---- 001 @loss, loops\nrow nest k0: ")
    assert "; ---- 002 @loss_backward, loops\n" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_all(tmp_path):
    assert run(tmp_path, TRACEJIT_DUMP="all", TRACEJIT_DUMP_DIR=".").returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"001-loss-trace.tir", "001-loss-after-dce-2.tir", "001-loss-asm.s", "001-loss-dot.dot"} <= names


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (
            {"TRACEJIT_DUMP": "nope"},
            "TRACEJIT_DUMP: there is no stage 'nope'; expected some of trace, after:PASS",
        ),
        (
            {"TRACEJIT_DUMP": "after:nope"},
            "there is no stage 'after:nope'; the passes are after:reroll-loops",
        ),
        ({"TRACEJIT_DUMP": "trace", "TRACEJIT_DUMP_DIR": "file"}, "TRACEJIT_DUMP_DIR=file: File exists"),
        (
            {"TRACEJIT_DUMP": "trace", "TRACEJIT_DUMP_DIR": "file/a"},
            "TRACEJIT_DUMP_DIR=file/a: Not a directory",
        ),
    ],
    ids=["stage", "pass", "file", "below a file"],
)
def test_errors(tmp_path, variables, message):
    (tmp_path / "file").write_text("")
    done = run(tmp_path, **variables)
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1]


def test_file_names():
    assert file_name("001", "f.<locals>.g h", stage="after:dce:2") == "001-f._locals_.g_h-after-dce-2.tir"
    assert file_name("07", stage="asm") == "07-asm.s"
