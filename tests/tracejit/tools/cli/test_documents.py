"""``tracejit opt``, ``verify`` and ``fmt``: the tools for files of the IR's text."""

from __future__ import annotations

import io
import json
import sys

import pytest

from tracejit.ir.passes import PIPELINE
from tracejit.ir.text.parser import parse_function, parse_functions
from tracejit.ir.text.printer import print_functions
from tracejit.ir.verifier import verify

OPTIMIZED = """tir 1

func @square(%x: f64[3]) -> f64[] {
  %y: f64[3]  = mul(%x, %x)
  %sum: f64[] = sum(%y) {axes=[0]}
  return %sum
}
"""


def test_opt_keeps_names(cli):
    done = cli("opt", "good.tir", "--passes", "simplify,cse,dce")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("tir 1\n\nfunc @square(%x: f64[3]) -> f64[] {\n")
    assert "%sum" in done.out
    assert "%unused" not in done.out
    verify(parse_function(done.out))
    assert cli("opt", "good.tir", "--passes", "dce").out == OPTIMIZED


def test_opt_of_standard_input(cli, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO((cli.folder / "good.tir").read_text()))
    assert cli("opt", "--passes=dce").out == OPTIMIZED
    monkeypatch.setattr(sys, "stdin", io.StringIO("func @f( -> "))
    done = cli("opt", "-")
    assert done.code == 1
    assert done.err.startswith("tracejit opt: <stdin>:1:10: expected a value such as %x, found '->'\n")


def test_opt_writes_a_file(cli):
    assert cli("opt", "good.tir", "--passes=dce", "-o", "out.tir").out == ""
    assert (cli.folder / "out.tir").read_text() == OPTIMIZED


def test_opt_runs_the_whole_pipeline_unless_told(cli):
    done = cli("opt", "good.tir", "--verify-each")
    assert "fusion(%x) {domain=[3], axes=[0], levels=" in done.out
    assert cli("opt", "good.tir", "--passes", "optimize,fuse").out == done.out
    assert "fusion" not in cli("opt", "good.tir", "--passes", "optimize").out
    assert cli("opt", "good.tir", "--passes", "none").out == cli("opt", "good.tir", "--passes", "").out


def test_opt_times_and_prints_each_pass(cli):
    done = cli("opt", "good.tir", "--passes", "simplify,dce", "--time", "--print-after-all")
    assert parse_function(done.out).name == "square"
    lines = done.err.splitlines()
    assert "; ---- @square after simplify" in lines
    assert "; ---- @square after dce" in lines
    rows = [line.split() for line in lines if line.endswith("@square") and "->" in line]
    assert [row[-2] for row in rows] == ["simplify", "dce"]
    assert rows[1][2:5] == ["3", "->", "2"]
    assert lines[-1].split()[-1] == "total"


def test_opt_as_json(cli):
    document = json.loads(cli("opt", "good.tir", "--passes", "dce,cse", "--json").out)
    assert document["text"] == OPTIMIZED
    assert [entry["pass"] for entry in document["passes"]] == ["dce", "cse"]
    assert document["passes"][0]["ops_before"] == 3
    assert document["passes"][0]["ops_after"] == 2
    assert document["passes"][0]["milliseconds"] >= 0


def test_opt_of_several_functions(cli):
    assert [function.name for function in parse_functions(cli("opt", "two.tir").out)] == ["one", "two"]


def test_verify_each_names_the_pass_that_broke_the_function(cli, monkeypatch):
    function = parse_function(FILE := (cli.folder / "invalid.tir").read_text())
    assert FILE
    broken = type(PIPELINE[0])("dce", lambda _: function)
    monkeypatch.setitem(sys.modules["tracejit.tools.cli.commands.opt"]._PASSES, "dce", broken)
    done = cli("opt", "good.tir", "--passes", "cse,dce", "--verify-each")
    assert done.code == 1
    assert done.err.splitlines()[0] == (
        "tracejit opt: after dce: @f in sin: result has type f64[4], expected f64[3]"
    )
    assert "^^^^" in done.err
    monkeypatch.setenv("TRACEJIT_VERIFY", "0")
    assert cli("opt", "good.tir", "--passes", "cse,dce").code == 0
    assert cli("opt", "good.tir", "--passes", "cse,dce", "--verify-each").code == 1


def test_verify(cli):
    done = cli("verify", "good.tir", "two.tir")
    assert (done.code, done.err) == (0, "")
    assert done.out == "good.tir: valid, 1 function\ntwo.tir: valid, 2 functions\n"
    assert cli("verify", "-q", "good.tir").out == ""


def test_verify_shows_what_is_wrong_and_goes_on(cli):
    done = cli("verify", "malformed.tir", "good.tir", "invalid.tir", "missing.tir", "binary.tir")
    assert done.code == 1
    assert done.out == "good.tir: valid, 1 function\n"
    lines = done.err.splitlines()
    assert lines[:6] == [
        "tracejit verify: malformed.tir:2:16: there is no op named 'sine'; did you mean sin?",
        "    %0: f64[3] = sine(%x)",
        "                 ^",
        "tracejit verify: invalid.tir:2:3: @f in sin: result has type f64[4], expected f64[3]",
        "    %0: f64[4] = sin(%x)",
        "    ^^^^^^^^^^^^^^^^^^^^",
    ]
    assert lines[6] == "tracejit verify: there is no file missing.tir"
    assert lines[7].startswith("tracejit verify: binary.tir is not text: ")
    assert len(lines) == 8


def test_verify_as_json(cli):
    done = cli("verify", "--json", "good.tir", "malformed.tir")
    assert (done.code, done.err) == (1, "")
    good, malformed = json.loads(done.out)
    assert good == {"file": "good.tir", "valid": True, "functions": ["square"]}
    assert malformed["line"] == 2
    assert malformed["column"] == 16
    assert malformed["problem"] == "there is no op named 'sine'; did you mean sin?"


def test_fmt(cli):
    path = cli.folder / "a.tir"
    path.write_text("func @f(%x:f64[]) -> f64[]{ return %x ; kept\n}")
    check = cli("fmt", "--check", "a.tir", "good.tir")
    assert check.code == 1
    assert "a.tir would change" in check.out.splitlines()
    diff = cli("fmt", "--diff", "a.tir")
    assert diff.code == 1
    assert "+  return %x  ; kept" in diff.out.splitlines()
    assert "\x1b[" not in diff.out
    assert cli("fmt", "a.tir").code == 0
    assert path.read_text() == "tir 1\n\nfunc @f(%x: f64[]) -> f64[] {\n  return %x  ; kept\n}\n"
    assert cli("fmt", "--check", "a.tir").code == 0
    assert cli("fmt", "--diff", "a.tir").out == ""


def test_fmt_of_standard_input(cli, monkeypatch):
    text = (cli.folder / "two.tir").read_text()
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    formatted = cli("fmt").out
    assert print_functions(parse_functions(formatted)) == print_functions(parse_functions(text))


@pytest.mark.parametrize("command", ["fmt", "opt", "verify"])
def test_errors_are_a_line_and_a_caret(cli, command):
    done = cli(command, "malformed.tir")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        f"tracejit {command}: malformed.tir:2:16: there is no op named 'sine'; did you mean sin?\n"
        "    %0: f64[3] = sine(%x)\n"
        "                 ^\n"
    )


@pytest.mark.parametrize("command", ["fmt", "opt", "run", "dump"])
def test_a_missing_file(cli, command):
    done = cli(command, "missing.tir")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"tracejit {command}: there is no file missing.tir\n"


def test_an_unknown_pass(cli):
    done = cli("opt", "good.tir", "--passes", "dce,nope")
    assert done.code == 2
    assert done.err.startswith("tracejit opt: there is no pass 'nope'; expected one of reroll-loops, ")
    assert len(done.err.splitlines()) == 1


def test_an_unwritable_folder(cli):
    done = cli("opt", "good.tir", "-o", "no/such/folder/out.tir")
    assert done.code == 1
    assert done.err == "tracejit opt: no/such/folder/out.tir: No such file or directory\n"
