"""Every example runs as it stands, with warnings as errors. What is right, each asserts itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ..forked import forked
from ..rotation import share_of

_ROOT = Path(__file__).parents[2]
#: Programs, and folders of which ``run.py`` is the program.
_EXAMPLES = sorted([*(_ROOT / "examples").glob("*.py"), *(_ROOT / "examples").glob("*/run.py")])


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


#: Runs an example in an empty folder: what it prints is printed, and what it tells of is an error.
_RUN = """
import contextlib, io, os, runpy, sys, warnings
warnings.resetwarnings()
warnings.simplefilter("error")
os.chdir({folder!r})
sys.path.insert(0, os.path.dirname({path!r}))
told = io.StringIO()
with contextlib.redirect_stderr(told):
    runpy.run_path({path!r}, run_name="__main__")
assert told.getvalue() == "", told.getvalue()
"""


@pytest.mark.parametrize("path", share_of(_EXAMPLES, 2), ids=_name)
def test_runs(path: Path, tmp_path: Path) -> None:
    assert forked(_RUN.format(path=str(path), folder=str(tmp_path)))
    left = [path.name for path in tmp_path.iterdir() if path.name != "lotka_volterra.png"]
    assert left == [], "an example leaves no files behind but the picture that its docstring names"


@pytest.mark.parametrize("path", _EXAMPLES, ids=_name)
def test_says_what_it_shows_and_checks_itself(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert "Shows:" in (ast.get_docstring(tree) or "")
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    assert len(text.splitlines()) <= 160
