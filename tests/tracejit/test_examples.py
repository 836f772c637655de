"""Every example runs as it stands, with warnings as errors. What is right, each asserts itself."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
#: Programs, and folders of which ``run.py`` is the program.
_EXAMPLES = sorted([*(_ROOT / "examples").glob("*.py"), *(_ROOT / "examples").glob("*/run.py")])
#: An example takes below a second on an idle machine.
_SECONDS = 20


def _name(path: Path) -> str:
    return path.parent.name if path.stem == "run" else path.stem


def test_there_are_examples() -> None:
    assert {
        "autograd_tutorial.py",
        "digits_mlp.py",
        "gravity.py",
        "hmc.py",
        "lotka_volterra.py",
        "train_cnn.py",
    } <= {path.name for path in _EXAMPLES}


@pytest.mark.parametrize("path", _EXAMPLES, ids=_name)
def test_runs(path: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert ran.stdout
    left = [one.name for one in tmp_path.iterdir() if one.name != "lotka_volterra.png"]
    assert left == [], "an example leaves no files behind but the picture that its docstring names"


@pytest.mark.parametrize("path", _EXAMPLES, ids=_name)
def test_says_what_it_shows_and_checks_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert "Shows:" in (ast.get_docstring(tree) or "")
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert len(text.splitlines()) <= 160
