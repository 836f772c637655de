"""``tracejit repro`` and ``tracejit reduce``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.cli import main

BROKEN = """\
import numpy as np
import tracejit as tj

tj.register_op("wobble", inputs="x", elementwise=True)
tj.register_kernel("wobble", "numpy", lambda x: np.where(x > 1, x * x, x))
tj.register_kernel("wobble", "llvm", lambda b, x: b.mul(x, 1.0))
offset = tj.tensor([1.0, 2.0, 3.0])

def model(x):
    return tj.exp(tj.ops.wobble(x * 2.0) + offset).sum()

def fine(x):
    return tj.exp(x)

def calling(x):
    return tj.pure_callback(np.sin, tj.TensorType(tj.float64, ()), x)

def arguments():
    return np.array([0.1, 5.0, 0.3])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(argv: list[str]) -> int:
    """A command, as if in a process of its own: what it registers is gone afterwards."""
    with tj.extend.isolated():
        return main(argv)


def ops(name: str) -> list[str]:
    return re.findall(r" = (\w+)\(", Path(name).read_text())


Capture = pytest.CaptureFixture[str]


def test_from_a_function_to_a_small_file(folder: Path, capsys: Capture) -> None:
    assert run(["repro", "broken.py:model", "--args-from", "broken.py:arguments", "-o", "wrong"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("differs: result 0 (f64[]): native ")
    assert lines[1] == "wrong.tir, wrong.npz: 1 instruction, 1 parameter, 1 result"
    text = (folder / "wrong.tir").read_text()
    assert "; differs: result 0" in text
    assert "; tracejit reduce wrong.tir --inputs wrong.npz --setup broken.py" in text
    assert ops("wrong.tir") == ["wobble"]
    assert np.load("wrong.npz")["arr_0"].size == 1


def test_as_it_is_and_then_smaller(folder: Path, capsys: Capture) -> None:
    assert run(["repro", "broken.py:model", "--args-from", "broken.py:arguments", "--no-reduce"]) == 1
    assert len(ops("repro.tir")) > 3
    assert np.load("repro.npz")["arr_1"].tolist() == [1.0, 2.0, 3.0], "what it closes over is an argument"
    command = ["reduce", "repro.tir", "--inputs", "repro.npz", "--setup", "broken.py"]
    assert run(command) == 0
    assert "repro-small.tir, repro-small.npz: 1 instruction" in capsys.readouterr().out
    assert ops("repro-small.tir") == ["wobble"]
    (folder / "check.sh").write_text("#!/bin/sh\ngrep -q 'exp(' $1\n")
    (folder / "check.sh").chmod(0o755)
    assert run([*command, "--if", "./check.sh", "-o", "exp"]) == 0
    assert ops("exp.tir") == ["exp"]
    assert run([*command, "--if", "grep -q sum( {tir}", "-o", "sum"]) == 0
    assert ops("sum.tir") == ["sum"]


def test_agreement(folder: Path, capsys: Capture) -> None:
    assert run(["repro", "broken.py:fine", "--arg", "f64[3]", "--seeds", "2"]) == 0
    assert capsys.readouterr().out == "interpreter and native code agree on 2 sets of arguments\n"
    assert not (folder / "repro.tir").exists()


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["repro", "broken.py:calling", "--arg", "f64[]"], 1, "calls a Python function (pure_callback at"),
        (["repro", "broken.py:none"], 2, "broken.py has no 'none'"),
        (["repro", "broken.py:fine", "--arg", "f64[3]", "--seeds", "0"], 2, "--seeds: expected a positive"),
        (["repro", "fine.tir", "--setup", "nothere.py"], 2, "there is no file nothere.py"),
        (["repro", "fine.tir", "--setup", "bad.py"], 1, "--setup bad.py failed, at"),
        (["reduce", "broken.py:fine", "--inputs", "x.npz"], 2, "expected a .tir file; `tracejit repro`"),
        (["reduce", "fine.tir", "--inputs", "x.npz"], 2, "there is no file x.npz"),
        (["reduce", "fine.tir", "--inputs", "fine.npz"], 1, "nothing is wrong with it: agrees"),
        (["reduce", "fine.tir", "--inputs", "fine.npz", "--if", "false"], 1, "does not hold for fine.tir"),
        (["reduce", "fine.tir", "--inputs", "fine.npz", "--if", "./none"], 2, "'./none' cannot be run"),
        (["reduce", "fine.tir", "--inputs", "fine.npz", "--if", ""], 2, "--if: expected a command"),
    ],
)
def test_bad_input_is_one_line(
    argv: list[str], code: int, message: str, folder: Path, capsys: Capture
) -> None:
    (folder / "fine.tir").write_text(
        "func @f(%x: f64[2]) -> f64[2] {\n  %0: f64[2] = exp(%x)\n  return %0\n}\n"
    )
    (folder / "bad.py").write_text("raise ValueError('not today')\n")
    np.savez("fine.npz", np.ones(2))
    assert run(argv) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tracejit {argv[0]}: ")
    assert message in line


def test_an_unwritable_folder(folder: Path, capsys: Capture) -> None:
    argv = ["repro", "broken.py:model", "--args-from", "broken.py:arguments", "--no-reduce", "-o", "no/x"]
    assert run(argv) == 2
    assert "no/x.tir cannot be written" in capsys.readouterr().err
