"""``f.view(*args)`` and ``tracejit view``."""

from __future__ import annotations

import json
import os
import re
import webbrowser

import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError
from tracejit.tools.cli import main
from tracejit.tools.viewer.page import page_of

PROGRAM = """
import numpy as np
import tracejit as tj

def loss(w, x):
    return (tj.tanh(x @ w) ** 2).sum()

def example():
    return np.ones(3), np.ones((5, 3))

def fails(x):
    raise ValueError("boom")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "prog.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail(f"opened {address}"))
    return tmp_path


def test_the_object_shows_and_saves_itself(tmp_path):
    shown = tj.jit(lambda x: tj.exp(x).sum()).view(tj.ones(10))
    path = shown.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == shown.html
    assert shown.html.startswith("<!doctype html>")
    assert "2 ops" in repr(shown)
    assert shown._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_the_page_needs_nothing_from_outside():
    text = page_of({"title": "f"})
    assert set(re.findall(r"https?://[^\s\"'<`]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<img|@import|url\((?!#)|fetch\(|src=", text)


def test_nothing_in_the_source_ends_the_script():
    def awkward(x):
        return tj.exp(x)  # </script><script>alert(1)</script><!-- & "quotes"

    text = tj.jit(awkward).view(tj.ones(3)).html
    assert text.count("</script>") == 2
    assert "alert(1)" in text


def test_open_shows_the_file(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(webbrowser, "open", seen.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tj.jit(lambda x: x + 1).view(tj.ones(3)).open()
    assert seen == [path.as_uri()]
    assert path.parent == tmp_path


def test_captures_and_static_arguments():
    scale = tj.tensor(3.0)

    @tj.jit(static_argnames="power")
    def f(x, power):
        return x**power * scale

    assert f.view(tj.ones(3), power=2).document["timing"]["problem"] == ""


def test_view_on_the_command_line(folder, capsys):
    assert (
        main(["view", "prog.py:loss", "--args-from", "prog.py:example", "-o", "out.html", "--no-open"]) == 0
    )
    assert capsys.readouterr().out == "out.html\n"
    assert "prog.py:loss" in (folder / "out.html").read_text()


def test_types_gradients_and_json(folder, capsys):
    arguments = ["--arg", "f64[3]", "--arg", "f64[5,3]", "--grad", "--json"]
    assert main(["view", "prog.py:loss", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    assert any(op[3] for op in document["ops"])
    assert not list(folder.glob("*.html"))


def test_text_files_are_shown_too(folder, capsys):
    (folder / "f.tir").write_text("func @f(%x: f64[3]) -> f64[3] {\n  %0: f64[3] = exp(%x)\n  return %0\n}\n")
    assert main(["view", "f.tir", "--json", "--no-timing"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [op[0] for op in document["ops"]] == ["exp"]


def test_it_opens_the_browser_unless_told_otherwise(folder, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(webbrowser, "open", seen.append)
    assert main(["view", "prog.py:loss", "--args-from", "prog.py:example", "-o", "out.html"]) == 0
    assert seen == [(folder / "out.html").as_uri()]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["prog.py:loss", "--args-from", "prog.py:example", "-o", "none/x.html"],
            2,
            "cannot write none/x.html",
        ),
        (["prog.py:loss", "--args-from", "prog.py:example", "-o", "."], 2, "cannot write ."),
        (["none.py:loss"], 2, "there is no file none.py"),
        (["prog.py:fails", "--arg", "f64[3]", "-o", "x.html"], 1, "could not be traced, at"),
        (["prog.py:loss", "--arg", "f64["], 2, "is not a type"),
    ],
)
def test_bad_input_is_one_line(folder, capsys, arguments, code, message):
    assert main(["view", *arguments]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("tracejit view: ")
    assert message in said.err
    assert said.err.count("\n") == 1
    assert sorted(os.listdir(folder)) in (["prog.py"], ["__pycache__", "prog.py"])


def test_a_huge_function_is_one_line(folder, capsys, monkeypatch):
    monkeypatch.setattr("tracejit.tools.viewer.document.MAX_OPS", 2)
    assert main(["view", "prog.py:loss", "--args-from", "prog.py:example", "-o", "x.html"]) == 1
    assert "prog.py:loss has 8 ops, and the page can show 2" in capsys.readouterr().err
    with pytest.raises(TracejitError, match="the page can show 2"):
        tj.jit(lambda x: x * 2 + 1 - x).view(tj.ones(3))
