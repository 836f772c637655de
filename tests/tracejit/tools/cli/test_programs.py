"""``tracejit profile`` and ``tracejit explain`` on whole programs, and ``explain`` on a function."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracejit.tools.cli import main

PROGRAM = """\
import sys
import tracejit as tj

@tj.jit
def model(x, w):
    return tj.tanh(x @ w)

def inner():
    f = tj.jit(lambda x: x + 1.0)
    f(tj.ones(3))
    f(tj.ones(4))

if __name__ == "__main__":
    print("arguments", sys.argv[1:])
    model(tj.ones((4, 3)), tj.ones((3, 2)))
    inner()
    print(float(tj.exp(tj.ones(5)).sum()))
    if "fail" in sys.argv:
        raise ValueError("the program's own")
    if "interrupt" in sys.argv:
        raise KeyboardInterrupt
    if "exit" in sys.argv:
        sys.exit(7)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


Capture = pytest.CaptureFixture[str]


def test_profile_of_a_program(script: str, capsys: Capture) -> None:
    assert main(["profile", script, "--epochs", "3", "-x"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "arguments ['--epochs', '3', '-x']"
    assert lines[3].split()[:2] == ["compiled", "calls"]
    text = "\n".join(lines)
    assert "@model" in text
    assert "program.py:6" in text
    assert "k0 contraction" in text
    assert "f64[5]" in text
    assert " ms: compiled functions" in text


def test_profile_as_json_and_trace(script: str, tmp_path: Path, capsys: Capture) -> None:
    trace = tmp_path / "trace.json"
    assert main(["profile", "--json", "--trace", str(trace), script]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    assert sorted(function["name"] for function in data["functions"]) == ["lambda", "lambda", "model"]
    assert "arguments []" in captured.err
    assert {event["cat"] for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"} == {
        "function", "kernel", "eager", "compile",
    }  # fmt: skip


def test_a_module(script: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "-m", "program", "a"]) == 0
    assert capsys.readouterr().out.startswith("arguments ['a']")
    assert main(["profile", "-m", "nosuchmodule"]) == 2
    assert "there is no module nosuchmodule" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["profile", "explain"])
def test_programs_that_fail(command: str, script: str, capsys: Capture) -> None:
    assert main([command, script, "fail"]) == 1
    captured = capsys.readouterr()
    assert "@model" in captured.out or "model: 1 signature" in captured.out, "what ran until then"
    lines = captured.err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{script}", line 19, in <module>'
    assert lines[-1] == "ValueError: the program's own"
    assert main([command, script, "exit"]) == 1
    assert capsys.readouterr().err == ""
    assert main([command, script, "interrupt"]) == 130
    captured = capsys.readouterr()
    assert captured.err == "interrupted\n"
    assert "model" in captured.out, "what ran until then"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["profile", "nothere.py"], "tracejit profile: there is no file nothere.py"),
        (["explain", "nothere.py"], "tracejit explain: there is no file nothere.py"),
        (["profile", "--limit", "0", "x.py"], "tracejit profile: --limit: expected a positive number, got 0"),
    ],
)
def test_bad_input_is_one_line(argv: list[str], message: str, capsys: Capture) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.splitlines() == [message]


def test_explain_of_a_program(script: str, capsys: Capture) -> None:
    assert main(["explain", script, "--epochs", "3"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("arguments ['--epochs', '3']")
    assert "2 jitted functions ran, 3 signatures, compiled again 1 times" in text
    assert "model: 1 signature compiled" in text
    assert "  [1] (x: f64[4]): argument x changed from f64[3] to f64[4]" in text, "kept alive"
    assert main(["explain", script, "--", "--grad"]) == 0
    assert capsys.readouterr().out.startswith("arguments ['--grad']")


def test_explain_as_json(script: str, capsys: Capture) -> None:
    assert main(["explain", "--json", script]) == 0
    model, inner = json.loads(capsys.readouterr().out)
    assert (model["name"], model["where"]) == ("model", "program.py:4")
    assert [signature["reason"] for signature in inner["signatures"]] == [
        "first call",
        "argument x changed from f64[3] to f64[4]",
    ]


def test_explain_of_a_function(script: str, capsys: Capture) -> None:
    assert main(["explain", f"{script}:model", "--arg", "f64[4,3]", "--arg", "f64[3,2]"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0] == "model: 1 signature compiled"
    assert "(x: f64[4,3], w: f64[3,2]): first call" in text
    assert main(["explain", f"{script}:model", "--arg", "f64[4,3]", "--arg", "f64[4,2]"]) == 1
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "program.py:6" in error
    assert main(["explain", f"{script}:model", "--arg", "f64[4,3]", "--arg", "f64[3,2]", "--unknown"]) == 2
    assert "unrecognized arguments: --unknown" in capsys.readouterr().err
