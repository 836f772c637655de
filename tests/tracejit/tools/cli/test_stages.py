"""``tracejit dump``: stages of transforms and passes, differences, files, other machines, and arguments."""

from __future__ import annotations

import json

import pytest

from tracejit.ir.text.parser import parse_function
from tracejit.tools.cli.stages import STAGES

LOSS = ["train.py:loss", "--arg", "f64[3]", "--arg", "f64[5,3]"]
EXAMPLE = ["train.py:loss", "--args-from", "train.py:example"]


def types(text):
    function = parse_function(text)
    return [f"{p.hint}: {p.type}" for p in function.params], [str(r.type) for r in function.results]


def test_transforms_as_stages(cli):
    assert types(cli("dump", *LOSS, "--stage", "grad").out) == (["w: f64[3]", "x: f64[5,3]"], ["f64[3]"])
    assert types(cli("dump", *LOSS, "--stage", "vmap").out) == (["w: f64[8,3]", "x: f64[8,5,3]"], ["f64[8]"])
    params = ["w: f64[3]", "x: f64[5,3]", "w_tangent: f64[3]", "x_tangent: f64[5,3]"]
    assert types(cli("dump", *LOSS, "--stage", "jvp").out) == (params, ["f64[]", "f64[]"])


def test_transforms_as_options(cli):
    def results(*options):
        return types(cli("dump", *LOSS, *options).out)[1]

    assert results("--grad") == ["f64[3]"]
    assert results("--grad", "1") == ["f64[5,3]"]
    assert results("--grad", "0,1") == ["f64[3]", "f64[5,3]"]
    assert results("--vmap") == ["f64[8]"]
    assert results("--vmap", "32", "--grad") == ["f64[32,3]"]
    assert results("--grad", "1", "--stage", "grad") == ["f64[5,3]"]
    assert results("--grad", "1", "--vmap", "2", "--stage", "vmap") == ["f64[2,5,3]"]


def test_transforms_of_a_text(cli):
    assert types(cli("dump", "good.tir", "--stage", "trace").out) == (["x: f64[3]"], ["f64[]"])
    assert types(cli("dump", "good.tir", "--grad").out) == (["x: f64[3]"], ["f64[3]"])
    assert types(cli("dump", "good.tir", "--vmap", "4").out) == (["x: f64[4,3]"], ["f64[4]"])
    assert types(cli("dump", "good.tir", "--stage", "jvp").out)[1] == ["f64[]", "f64[]"]
    assert cli("dump", "two.tir:two").out.startswith("tir 1\n\nfunc @two(%x: f64[])")


def test_passes(cli):
    before = cli("dump", *LOSS, "--grad", "--stage", "after:decompose").out
    after = cli("dump", *LOSS, "--grad", "--stage", "after:dce").out
    again = cli("dump", *LOSS, "--grad", "--stage", "after:dce:2").out
    assert len(before.splitlines()) > len(after.splitlines()) > len(again.splitlines())
    last = cli("dump", *LOSS, "--grad", "--stage", "after:read-joins").out
    assert last == cli("dump", *LOSS, "--grad", "--stage", "optimized").out
    assert cli("dump", *LOSS, "--grad", "--stage", "after:dce:1").out == after


def test_a_diff_keeps_the_names_of_values(cli):
    done = cli("dump", "good.tir", "--diff", "trace", "optimized")
    assert done.code == 0
    changed = [line for line in done.out.splitlines() if line[0] in "+-"]
    assert changed == ["--- trace", "+++ optimized", "-  %1: f64[3] = neg(%x)"]
    assert cli("dump", "good.tir", "--diff", "optimized", "optimized").out == ""
    assert "+nest" in (text := cli("dump", "good.tir", "--diff", "fused", "loops").out) or "+row nest" in text


def test_several_stages(cli):
    done = cli("dump", *LOSS, "--stage", "fused,loops", "--stage", "asm")
    lines = done.out.splitlines()
    assert [line for line in lines if " ---- " in line] == ["; ---- fused", "; ---- loops", "# ---- asm"]
    assert lines[1].startswith("func @loss(")


def test_json(cli):
    document = json.loads(cli("dump", *LOSS, "--stage", "trace,loops", "--json").out)
    assert list(document) == ["trace", "loops"]
    assert document["trace"] == cli("dump", *LOSS, "--stage", "trace").out


def test_all_stages_as_files(cli):
    done = cli("dump", *LOSS, "--all", "-o", "made/here")
    assert (done.code, done.err) == (0, "")
    files = done.out.splitlines()
    assert sorted(files) == sorted(f"made/here/{path.name}" for path in (cli.folder / "made/here").iterdir())
    stages = [name.split("/")[-1].split("-", 1)[1].rsplit(".")[0] for name in files]
    assert [stage for stage in stages if not stage.startswith("after")] == [
        stage for stage in STAGES if stage != "after:PASS"
    ]
    assert "after-dce-2" in stages
    optimized = next(name for name in files if name.endswith("optimized.tir"))
    assert (cli.folder / optimized).read_text() == cli("dump", *LOSS).out


def test_all_says_which_stages_there_are_not(cli):
    done = cli("dump", "train.py:counts", "--arg", "i64[3]", "--all")
    assert done.code == 0
    assert (cli.folder / "counts").is_dir()
    assert [line.split(": ")[1] for line in done.err.splitlines()] == ["no stage grad", "no stage jvp"]
    document = json.loads(cli("dump", "train.py:counts", "--arg", "i64[3]", "--all", "--json").out)
    assert list(document["skipped"]) == ["grad", "jvp"]
    assert document["written"][0] == {"stage": "trace", "file": "counts/00-trace.tir"}


def test_a_file_instead_of_standard_output(cli):
    assert cli("dump", *LOSS, "-o", "out.tir").out == ""
    assert (cli.folder / "out.tir").read_text() == cli("dump", *LOSS).out


# -- arguments --------------------------------------------------------------------------------------


def test_what_the_users_code_prints_is_not_the_answer(cli):
    (cli.folder / "talks.py").write_text(
        "print('imported')\ndef f(x):\n    print('traced')\n    return x\n"
        "def leaves(x): raise SystemExit(5)\ndef make():\n    print('made')\n    return 1.5\n"
    )
    done = cli("dump", "talks.py:f", "--arg", "f64[]")
    assert done.out.startswith("tir 1\n")
    assert done.err == "imported\ntraced\n"
    assert "made" not in cli("dump", "talks.py:f", "--args-from", "talks.py:make").out
    done = cli("dump", "talks.py:leaves", "--arg", "f64[]")
    assert done.code == 1
    assert "talks.py:5: SystemExit: 5" in done.err


def test_objects_with_call(cli):
    (cli.folder / "odd.py").write_text(
        "import functools\nclass Net:\n    def __call__(self, x): return x * 2\nnet = Net()\n"
        "def f(x, n=2, /, *, m=3): return x * n * m\npart = functools.partial(f, m=4)\n"
    )
    assert cli("dump", "odd.py:net", "--arg", "f64[3]").out.startswith(
        "tir 1\n\nfunc @f(%x: f64[3]) -> f64[3]"
    )
    assert "func @f(%x: f64[3]" in cli("dump", "odd.py:part", "--arg", "f64[3]").out
    assert "value=5" in cli("dump", "odd.py:f", "--arg", "i64[3]", "--arg", "n=int", "--static", "m=5").out


def test_containers(cli):
    spec = "{w: f64[3], b: f64[]}"
    assert types(cli("dump", "train.py:mlp", "--arg", spec, "--arg", "f64[3]").out)[0] == [
        "p_b: f64[]",
        "p_w: f64[3]",
        "x: f64[3]",
    ]
    assert types(cli("dump", "train.py:many", "--arg", "f64[2]", "--arg", "f64[2]").out)[1] == ["f64[2]"]


def test_arguments_by_name(cli):
    arguments = ["--arg", "x=f64[5,3]", "--arg", "w=f64[3]"]
    assert cli("dump", "train.py:loss", *arguments).out == cli("dump", *LOSS).out
    assert (
        cli("dump", "train.py:loss", "--arg", "x=f64[5,3]", "--arg", "f64[3]").out == cli("dump", *LOSS).out
    )


def test_static_arguments(cli):
    train = ["train.py:modal", "--arg", "f64[3]", "--static", "mode=train"]
    assert types(cli("dump", *train).out)[0] == ["x: f64[3]", "number0: f64[]"]  # the default is read
    assert types(cli("dump", *train, "--arg", "scale=float").out)[0] == ["x: f64[3]", "scale: f64[]"]
    assert cli("dump", *train, "--static", "scale=2.5").out == cli("dump", *train).out
    assert "mul" in cli("dump", *train, "--static", "scale=2").out
    assert "mul" not in cli("dump", "train.py:modal", "--arg", "f64[3]", "--static", "mode='test'").out


def test_arguments_from_a_function(cli):
    assert cli("dump", *EXAMPLE).out == cli("dump", *LOSS).out
    (cli.folder / "made.py").write_text(
        "import numpy as np\ndef make(): return np.ones(5)\ndef fail(): return 1 / 0\n"
    )
    assert cli("dump", "train.py:branch", "--args-from", "made.py:make").code == 0
    failed = cli("dump", "train.py:branch", "--args-from", "made.py:fail")
    assert failed.code == 1
    assert failed.err.startswith("tracejit dump: --args-from made.py:fail failed, at ")
    assert failed.err.endswith("made.py:3: ZeroDivisionError: division by zero\n")


ERRORS = {
    "stage": ([*LOSS, "--stage", "nope"], "there is no stage 'nope'; expected one of trace, grad, jvp, vmap"),
    "pass": (
        [*LOSS, "--stage", "after:nope"],
        "there is no stage 'after:nope'; the passes are after:reroll-loops",
    ),
    "stages": ([*LOSS, "--stage", "asm", "--all"], "--stage, --all, --diff and --times exclude each other"),
    "argnums": ([*LOSS, "--grad", "x"], "--grad: expected numbers of arguments such as 0 or 0,2, got 'x'"),
    "argnums or a target": (["--grad", *LOSS], "got 'train.py:loss'; put TARGET before --grad"),
    "size": ([*LOSS, "--vmap", "0"], "--vmap: expected a positive number of examples, got '0'"),
    "size or a target": (["--vmap", *LOSS], "got 'train.py:loss'; put TARGET before --vmap"),
    "static": ([*LOSS, "--static", "mode"], "--static: expected NAME=VALUE, got 'mode'"),
    "no parameter": ([*LOSS, "--static", "mode=1"], "train.py:loss has no parameter 'mode'; it has w, x"),
    "no parameter of that name": (
        ["train.py:loss", "--arg", "y=f64[3]"],
        "has no parameter 'y'; it has w, x",
    ),
    "twice": (["train.py:loss", "--arg", "x=int", "--arg", "x=int"], "--arg x=... is there twice"),
    "both": (["train.py:loss", "--arg", "x=int", "--static", "x=1"], "x is given by --arg and by --static"),
    "two sources": ([*EXAMPLE, "--arg", "int"], "--arg and --args-from both give the arguments"),
    "no function": (
        ["train.py:loss", "--args-from", "train.py:nope"],
        "train.py has no 'nope'; it has branch, ",
    ),
    "target": (
        [*LOSS, "--target", "pdp11"],
        "--target: there is no target 'pdp11': 'pdp11' is not a recognized",
    ),
    "file of functions": (["two.tir"], "two.tir: expected one function; name one as two.tir:NAME: one, two"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_usage_errors(cli, name):
    args, message = ERRORS[name]
    done = cli("dump", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err.splitlines()[-1]
    if not done.err.startswith("usage: "):
        assert len(done.err.splitlines()) == 1


def test_a_gradient_that_there_is_not(cli):
    done = cli("dump", *LOSS, "--grad", "7")
    assert done.code == 1
    assert "grad of loss: argnums 7, but it was called with 2 arguments" in done.err


def test_an_unwritable_folder(cli):
    (cli.folder / "file").write_text("")
    done = cli("dump", *LOSS, "--all", "-o", "file")
    assert (done.code, done.err) == (1, "tracejit dump: file: File exists\n")
    done = cli("dump", *LOSS, "--all", "-o", "file/below")
    assert (done.code, done.err) == (1, "tracejit dump: file/below: Not a directory\n")


# -- machines ---------------------------------------------------------------------------------------

MACHINES = {
    "x86-64": "xmm",
    "x86-64-v3": "ymm",
    "znver4": "zmm",
    "x86-64-v3,+avx512f": "zmm",
    "aarch64": ".2d",
    "arm64-apple-darwin": ".2d",
    "aarch64:neoverse-n1": ".2d",
}


@pytest.mark.parametrize("machine", MACHINES)
def test_code_of_other_machines(cli, machine):
    target = ["train.py:many", "--arg", "f64[1000]", "--arg", "f64[1000]", "--target", machine]
    assert MACHINES[machine] in cli("dump", *target, "--stage", "asm").out
    wide = {"xmm": "<2 x double>", ".2d": "<2 x double>", "ymm": "<4 x double>", "zmm": "<8 x double>"}
    assert wide[MACHINES[machine]] in cli("dump", *target, "--stage", "llvm-opt").out


# -- colours ----------------------------------------------------------------------------------------


def test_colours(cli, monkeypatch):
    plain = cli("dump", *LOSS).out
    assert "\x1b[" not in plain
    for stage in ("trace", "loops", "llvm", "asm"):
        painted = cli("dump", *LOSS, "--stage", stage, "--color", "always").out
        assert "\x1b[" in painted
        for code in ("0", "2", "1;33", "1;34", "36", "32", "35", "33", "31", "1"):
            painted = painted.replace(f"\x1b[{code}m", "")
        assert painted == cli("dump", *LOSS, "--stage", stage).out
    assert "\x1b[31m-" in cli("dump", "good.tir", "--diff", "trace", "optimized", "--color=always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in cli("dump", *LOSS).out
    assert cli("dump", *LOSS, "--color", "never").out == plain
    assert cli("dump", *LOSS, "-o", "out.tir").code == 0
    assert (cli.folder / "out.tir").read_text() == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli("dump", *LOSS).out == plain
