"""The command line, through subprocesses and through ``main``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.text.parser import parse_function
from tracejit.jitted.lowered import STAGES
from tracejit.tools.cli import main

_ROOT = Path(__file__).parents[4]
FILES = {
    "train.py": """
import tracejit as tj

NUMBER = 3

def loss(x, s):
    return (x * x * s).sum()

@tj.jit
def jitted(x):
    return x + 1

class Model:
    @staticmethod
    def apply(x):
        return x * 2

def branch(x):
    if x:
        return x
    return -x

def fails(x):
    raise ValueError("boom")

def text(x):
    return object()

def product(a, b):
    return a @ b

def number(x):
    return x.numpy()
""",
    "broken.py": "import no_such_module_at_all\n",
    "invalid.py": "def f(:\n",
    "raises.py": "raise RuntimeError('at import')\n",
    "leaves.py": "import sys\nsys.exit(3)\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder, *args):
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "tracejit", *args],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_dump_through_a_subprocess(folder):
    done = run(folder, "dump", "train.py:loss", "--arg", "f64[3]", "--arg", "float")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("tir 1\n\nfunc @loss(%x: f64[3], %s: f64[]) -> f64[] {")
    assert "# train.py:7" in done.stdout
    assert parse_function(done.stdout).name == "loss"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("gradient", [[], ["--grad"]], ids=["value", "gradient"])
def test_dump_every_stage(folder, capsys, stage, gradient):
    args = ["dump", "train.py:loss", "--arg", "f32[64]", "--arg", "float", "--stage", stage, *gradient]
    assert main(args) == 0
    out, err = capsys.readouterr()
    assert err == ""
    landmark = {
        "loops": "nest k0",
        "operations": "@k0(",
        "llvm": "define",
        "llvm-opt": "define",
        "asm": ".text",
    }.get(stage, "func @loss(")
    assert landmark in out
    if landmark.startswith("func"):
        function = parse_function(out)
        assert str(function.results[0].type) == ("f32[64]" if gradient else "f32[]")


def test_dump_pictures(folder, capsys):
    args = ["dump", "train.py:loss", "--arg", "f32[64]", "--arg", "float", "--stage"]
    assert main([*args, "dot"]) == 0
    dot = capsys.readouterr().out
    assert dot.startswith('digraph "func @loss" {\n')
    assert "subgraph cluster_0 {" in dot
    assert main([*args, "svg"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    titles = [element.text for element in root.iter() if element.get("class") == "title"]
    assert titles[:2] == ["%x", "%s"]
    assert titles[-1] == "result"


@pytest.mark.parametrize("target", ["train:loss", "train.py:loss", "./train.py:loss"])
def test_dump_modules_and_files(folder, capsys, target):
    assert main(["dump", target, "--arg", "f64[3]", "--arg", "int"]) == 0
    assert "func @loss(%x: f64[3], %s: i64[]) -> f64[]" in capsys.readouterr().out


def test_dump_jitted_functions_and_attributes(folder, capsys):
    assert main(["dump", "train.py:jitted", "--arg", "i32[3]"]) == 0
    assert "func @jitted(%x: i32[3]) -> i32[3]" in capsys.readouterr().out
    assert main(["dump", "train.py:Model.apply", "--arg", "bool"]) == 0
    assert "func @apply(%x: bool[]) -> i64[]" in capsys.readouterr().out


ERRORS = {
    "missing file": (["nofile.py:f"], "no file nofile.py"),
    "missing function": (["train.py:nothing"], "train.py has no 'nothing'; it has .*fails, jitted, loss"),
    "missing module": (["nomodule:f"], "there is no module nomodule"),
    "no function named": (["train.py"], "which function of train.py.*train.py:loss"),
    "nothing named": (["train"], "expected FILE.py:FUNCTION, package.module:FUNCTION or FILE.tir"),
    "no types": (
        ["train.py:loss"],
        "no types for x, s: give each with --arg, such as --arg 'f64.3.', in order",
    ),
    "no file named": ([":loss"], "expected FILE.py:FUNCTION"),
    "import error": (["broken.py:f"], "broken.py could not be imported.*no_such_module_at_all"),
    "import error of a module": (["broken:f"], "broken could not be imported.*no_such_module_at_all"),
    "syntax error": (["invalid.py:f"], "invalid.py could not be imported: SyntaxError"),
    "syntax error of a module": (["invalid:f"], "invalid could not be imported: SyntaxError"),
    "exception at import": (
        ["raises.py:f"],
        "raises.py could not be imported, at .*raises.py:1: RuntimeError: at import",
    ),
    "exception at import of a module": (
        ["raises:f"],
        "raises could not be imported, at .*raises.py:1: RuntimeError: at import",
    ),
    "exit at import": (["leaves.py:f"], "leaves.py could not be imported"),
    "not a function": (["train.py:NUMBER"], "is of type int, not a function"),
    "malformed type": (["train.py:jitted", "--arg", "f64[3"], r"--arg 'f64\[3' is not a type"),
    "unknown dtype": (["train.py:jitted", "--arg", "q8[3]"], r"--arg 'q8\[3\]' is not a type"),
    "negative size": (["train.py:jitted", "--arg", "f64[-3]"], r"--arg 'f64\[-3\]' is not a type"),
    "missing argument": (
        ["train.py:loss", "--arg", "f64[3]"],
        "no type for s: give it with --arg s=TYPE",
    ),
    "too many arguments": (
        ["train.py:jitted", *["--arg", "f64[3]"] * 2],
        r"jitted takes 1 argument \(x\), not 2",
    ),
    "traced number": (["train.py:number", "--arg", "f64[3]"], r"numpy\(\).*train\.py:33"),
    "exception": (["train.py:fails", "--arg", "float"], "traced, at .*train.py:24: ValueError: boom"),
    "result": (["train.py:text", "--arg", "float"], "result value has type object"),
    "shapes": (
        ["train.py:product", "--arg", "f64[2,3]", "--arg", "f64[2,3]"],
        r"matmul: .*\(2, 3\) and \(2, 3\)",
    ),
    "gradient of integers": (
        ["train.py:loss", "--arg", "i64[3]", "--arg", "int", "--grad"],
        "floating inputs",
    ),
    "gradient of an array": (
        ["train.py:jitted", "--arg", "f64[3]", "--grad"],
        r"floating scalar, got f64\[3\]",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_one_line_on_stderr(folder, capsys, name):
    args, message = ERRORS[name]
    assert main(["dump", *args]) != 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tracejit dump: ")
    assert "Traceback" not in err
    assert re.search(message, err), err
    assert len(err.splitlines()) == 1


def test_shape_errors_name_the_users_line(folder, capsys):
    assert main(["dump", "train.py:product", "--arg", "f64[2,3]", "--arg", "f64[2,3]"]) != 0
    assert "train.py:30" in capsys.readouterr().err


def test_errors_through_a_subprocess(folder):
    done = run(folder, "dump", "train.py:fails", "--arg", "float")
    assert done.returncode not in (0, None)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("order", [["--traceback", "dump"], ["dump", "--traceback"]], ids=" ".join)
def test_traceback(folder, capsys, order):
    assert main([*order, "train.py:fails", "--arg", "float"]) != 0
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert 'raise ValueError("boom")' in err
    assert err.splitlines()[-1].startswith("tracejit dump: ")


@pytest.mark.parametrize(
    "args",
    [
        ["--traceback"],
        ["nonsense"],
        ["dump"],
        ["dump", "train.py:loss", "--bogus"],
    ],
    ids=" ".join,
)
def test_usage_errors(folder, capsys, args):
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    assert "usage: tracejit" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--help"], ["dump", "--help"], ["doctor", "--help"]], ids=" ".join)
def test_help(capsys, args):
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 0
    assert "usage: tracejit" in capsys.readouterr().out


def test_a_closed_pipe_is_no_traceback(folder):
    code = "import sys; sys.stdin.read(1)"
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    command = [
        sys.executable,
        "-m",
        "tracejit",
        "dump",
        "train.py:loss",
        "--arg",
        "f32[4096]",
        "--arg",
        "float",
        "--stage",
        "asm",
    ]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as writer:
        subprocess.run([sys.executable, "-c", code], stdin=writer.stdout, check=True, timeout=600)
        writer.stdout.close()
        err = writer.stderr.read().decode()
        writer.wait(60)
    assert "Traceback" not in err


def test_doctor(capsys):
    assert main(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for word in (
        "tracejit",
        "python",
        "numpy",
        "llvmlite",
        "cpu",
        "threads",
        "products",
        "special",
        "cache",
        "works",
    ):
        assert word in out
    assert tj.__version__ in out
    assert np.__version__ in out


def test_doctor_says_where_special_functions_are_not_native(capsys, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert main(["doctor"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("special functions")]
    assert "NumPy" in line
    assert "riscv64" in line


def test_doctor_json_through_a_subprocess(tmp_path):
    done = run(tmp_path, "doctor", "--json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
    report = json.loads(done.stdout)
    assert report["tracejit"] == tj.__version__
    assert report["numpy"] == np.__version__
    assert report["compiling"].startswith("works")
