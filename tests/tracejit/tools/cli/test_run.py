"""``tracejit run``: inputs, the interpreter, native code, and both compared."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tracejit.tools.cli.commands.run import difference


@pytest.mark.parametrize("how", [[], ["--native"], ["--compare"]], ids=str)
@pytest.mark.parametrize("file", ["x.npz", "position.npz", "x.npy"])
def test_run(cli, arrays, how, file):
    done = cli("run", "good.tir", "--inputs", file, *how)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "result 0: f64[] 14."
    assert ("native agrees" in done.out) == (how == ["--compare"])


def test_random_inputs_follow_the_seed(cli):
    first, again, other = (cli("run", "good.tir", "--random", seed).out for seed in (1, 1, 2))
    assert first == again != other


def test_results_to_a_file(cli, arrays):
    assert cli("run", "good.tir", "--inputs", "x.npz", "-o", "out.npz").code == 0
    with np.load(cli.folder / "out.npz") as results:
        assert results["result0"] == 14.0


def test_as_json(cli, arrays):
    document = json.loads(cli("run", "good.tir", "--inputs", "x.npz", "--compare", "--json").out)
    assert document["function"] == "square"
    (result,) = document["results"]
    assert result["type"] == "f64[]"
    assert result["values"] == 14.0
    assert result["comparison"]["differs"] is False
    (cli.folder / "nan.tir").write_text(
        "func @f() -> f64[1] {%0: f64[1] = full() {value=nan, shape=[1], dtype=f64} return %0}"
    )
    assert json.loads(cli("run", "nan.tir", "--json").out)["results"][0]["values"] == ["nan"]


def test_python_targets(cli):
    done = cli(
        "run", "train.py:loss", "--arg", "f64[3]", "--arg", "f64[2,3]", "--grad", "--random", "0", "--compare"
    )
    assert done.code == 0
    assert done.out.startswith("result 0: f64[3] [")


def test_arguments_that_have_values_are_the_inputs(cli):
    done = cli("run", "train.py:loss", "--args-from", "train.py:example", "--compare")
    assert done.code == 0
    assert float(done.out.split()[3]) == pytest.approx(5 * np.tanh(3.0) ** 2, abs=1e-7)
    assert cli("run", "train.py:jitted", "--arg", "2.5").out == "result 0: f64[] 3.5\n"
    closure = "import tracejit as tj\nW = tj.ones(3)\ndef f(x):\n    return x @ W\n"
    (cli.folder / "closes.py").write_text(closure + "def make():\n    return tj.arange(3.0)\n")
    assert cli("run", "closes.py:f", "--args-from", "closes.py:make").out == "result 0: f64[] 3.\n"
    assert cli("run", "closes.py:f", "--arg", "f64[3]").code == 2


def test_a_difference_is_exit_code_1(cli, monkeypatch):
    monkeypatch.setattr(
        "tracejit.tools.cli.commands.run.Executable", lambda function: lambda inputs: [np.array(3.0)]
    )
    done = cli("run", "good.tir", "--random", "0", "--compare")
    assert done.code == 1
    assert "native DIFFERS: largest difference" in done.out
    assert cli("run", "good.tir", "--random", "0", "--compare", "--rtol", "1e3").code == 0


def test_difference():
    nan, inf = float("nan"), float("inf")
    cases = [
        ([1.0, 2.0], [1.0, 2.0], False),
        ([1.0, 2.0], [1.0, 2.0 + 1e-12], False),
        ([1.0, 2.0], [1.0, 2.001], True),
        ([nan, inf, -inf], [nan, inf, -inf], False),
        ([nan, 1.0], [1.0, 1.0], True),
        ([1.0, 1.0], [1.0, nan], True),
        ([inf, 1.0], [-inf, 1.0], True),
        ([inf, 1.0], [1.0, 1.0], True),
        ([], [], False),
    ]
    for want, got, differs in cases:
        assert difference(np.array(want), np.array(got))["differs"] is differs, (want, got)
    assert difference(np.array([1, 2]), np.array([1, 3])) == {
        "largest": 1.0,
        "allowed": 0.0,
        "at": [1],
        "differs": True,
    }
    assert not difference(np.array([True]), np.array([True]))["differs"]


ERRORS = {
    "no inputs": (["good.tir"], 2, "@square has 1 parameters: give --inputs or --random"),
    "missing": (["good.tir", "--inputs", "no.npz"], 2, "there is no file no.npz"),
    "dtype": (["good.tir", "--inputs", "wrong.npz"], 1, "wrong.npz: array 'x' must be f64[3], is i64[3]"),
    "broken": (["good.tir", "--inputs", "broken.npz"], 1, "broken.npz is not a .npz or .npy file of arrays"),
    "no array": (["two.tir:two", "--inputs", "position.npz"], 1, "array 'x' must be f64[], is f64[3]"),
    "several": (
        ["two.tir", "--random", "0"],
        2,
        "two.tir: expected one function; name one as two.tir:NAME: one, two",
    ),
    "no function": (
        ["two.tir:three", "--random", "0"],
        2,
        "two.tir has no function 'three'; it has one, two",
    ),
    "invalid": (["invalid.tir", "--random", "0"], 1, "invalid.tir:2:3: @f in sin: result has type f64[4]"),
    "types": (
        ["good.tir", "--arg", "f64[3]", "--random", "0"],
        2,
        "good.tir has its arguments' types: leave --arg",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(cli, arrays, name):
    args, code, message = ERRORS[name]
    done = cli("run", *args)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("tracejit run: ")
    assert message in done.err.splitlines()[0]


def test_errors_of_the_program(cli):
    text = """func @f(%x: f64[3]) -> f64[] {
      %0: i64[] = full() {value=7, shape=[], dtype=i64}
      %1: f64[] = gather(%x, %0)
      return %1
    }"""
    (cli.folder / "out.tir").write_text(text)
    for how, who in ([], "the interpreter"), (["--native"], "native code"):
        done = cli("run", "out.tir", "--random", "0", *how)
        assert done.code == 1
        assert re.match(f"tracejit run: out.tir: {who} raised (IndexError|OutOfBoundsError): ", done.err)
        assert len(done.err.splitlines()) == 1


def test_inputs_of_another_path_are_refused(cli):
    np.savez(cli.folder / "other.npz", x=-np.ones(5))
    (cli.folder / "made.py").write_text("import numpy as np\ndef make(): return np.ones(5)\n")
    target = ["train.py:branch", "--args-from", "made.py:make"]
    assert cli("run", *target).out == "result 0: f64[5] [2. 2. 2. 2. 2.]\n"
    other = cli("run", *target, "--inputs", "other.npz")
    assert other.code == 1
    assert "took another path" in other.err
    assert "train.py:22" in other.err
