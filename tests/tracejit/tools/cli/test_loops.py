"""``tracejit opt``, ``fmt``, ``verify`` and ``run`` of kernels in the loop form, and ``dump --times``."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

from tracejit.codegen.loops.parser import parse_kernels

KERNELS = """; two kernels
kernel @scale(n >= 1, b0: f64[n], b1: out f64[n]) { for i in 0:n { %x: f64 = load b0[i]
%y: f64 = mul(%x,2.0:f64) store b1[i], %y } } ; twice
kernel @rows(b0: f64[12], b1: out f64[12]) {
  for i in 0:3 {
    for j in 0:4 {
      %x: f64 = load b0[4*i + j]
      store b1[3*j + i], %x
    }
  }
}
"""
SCALED = """; vectorize(i, 4)
; normalize()
kernel @scale(n >= 1, b0: f64[n], b1: out f64[n]) {
  for i in 0:n step 4 {
    for l in 0:min(-i + n, 4) lanes 4 {
      %x: f64 = load b0[i + l]
      %y: f64 = mul(%x, 2.0:f64)
      store b1[i + l], %y
    }
  }
}
"""


@pytest.fixture
def loops(cli):
    (cli.folder / "two.loops").write_text(KERNELS)
    (cli.folder / "wrong.loops").write_text(KERNELS.replace("out f64[12]", "out f64[11]"))
    (cli.folder / "malformed.loops").write_text(KERNELS.replace("mul(", "times("))
    (cli.folder / "place.loops").write_text(
        "kernel @add(b0: f64[4], b1: out f64[4]) {\n  for i in 0:4 {\n    %x: f64 = load b0[i]\n"
        "    %y: f64 = load b1[i]\n    %z: f64 = add(%x, %y)\n    store b1[i], %z\n  }\n}\n"
    )
    return cli


def test_fmt(loops, monkeypatch):
    assert loops("fmt", "--check", "two.loops").out == "two.loops would change\n"
    assert "+  for i in 0:n {\n" in loops("fmt", "--diff", "two.loops").out
    assert loops("fmt", "two.loops").code == 0
    text = (loops.folder / "two.loops").read_text()
    assert text.startswith("; two kernels\nkernel @scale(")
    assert "    %y: f64 = mul(%x, 2.0:f64)\n" in text
    assert "}  ; twice\n" in text
    assert loops("fmt", "--check", "two.loops").code == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(KERNELS))
    assert loops("fmt").out == text
    assert loops("fmt", "malformed.loops").err.startswith(
        "tracejit fmt: malformed.loops:3:11: there is no op"
    )


def test_verify(loops, monkeypatch):
    done = loops("verify", "two.loops", "good.tir")
    assert done.out == "two.loops: valid, 2 kernels\ngood.tir: valid, 1 function\n"
    done = loops("verify", "wrong.loops", "malformed.loops")
    assert done.code == 1
    assert done.err.splitlines() == [
        "tracejit verify: wrong.loops:8:7: @rows: b1[i + 3*j] may be behind the buffer, which has 11",
        "        store b1[3*j + i], %x",
        "        ^^^^^^^^^^^^^^^^^^^^^",
        "tracejit verify: malformed.loops:3:11: there is no op named 'times'",
        "  %y: f64 = times(%x,2.0:f64) store b1[i], %y } } ; twice",
        "            ^",
    ]
    (report,) = json.loads(loops("verify", "--json", "two.loops").out)
    assert report == {"file": "two.loops", "valid": True, "kernels": ["scale", "rows"]}
    (report,) = json.loads(loops("verify", "--json", "wrong.loops").out)
    assert (report["line"], report["column"]) == (8, 7)
    monkeypatch.setattr(sys, "stdin", io.StringIO(KERNELS))
    assert loops("verify").out == "<stdin>: valid, 2 kernels\n"


def test_opt_schedules_every_kernel(loops, monkeypatch):
    done = loops("opt", "two.loops", "--passes", "vectorize(i, 4), normalize()", "--verify-each")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(SCALED)
    first = loops("opt", "two.loops", "--passes", "vectorize(i, 4)").out
    monkeypatch.setattr(sys, "stdin", io.StringIO(first))
    assert loops("opt", "--passes", "normalize()").out == done.out
    again = loops("opt", "two.loops", "--passes", "none").out
    assert again == loops("opt", "two.loops", "--passes", "").out
    assert "lanes" not in again


def test_opt_shows_what_passes_change(loops):
    diff = loops("opt", "two.loops", "--passes", "vectorize(i, 4)", "--diff").out
    assert diff.startswith("--- @scale\n+++ @scale after passes\n")
    assert "-  for i in 0:n {\n" in diff
    assert "+  for i in 0:n step 4 {\n" in diff
    done = loops("opt", "two.loops", "--passes", "vectorize(i, 4) normalize()", "--print-after-all", "--time")
    lines = done.err.splitlines()
    assert lines[0] == "; ---- @scale after vectorize(i, 4)"
    assert "; ---- @rows after normalize()" in lines
    rows = [line.split() for line in lines if line.endswith(("@scale", "@rows")) and "->" in line]
    assert [row[2] + row[4] for row in rows] == ["45", "55", "45", "54"]
    done = json.loads(loops("opt", "two.loops", "--passes", "vectorize(i, 4)", "--json").out)
    assert [(step["kernel"], step["pass"]) for step in done["passes"]] == [
        ("scale", "vectorize(i, 4)"), ("rows", "vectorize(i, 4)"),
    ]  # fmt: skip
    assert done["passes"][0]["statements_after"] == 5


def test_opt_of_functions_has_a_diff_too(loops):
    diff = loops("opt", "good.tir", "--passes", "dce", "--diff").out
    changed = [line for line in diff.splitlines() if line[:2] in ("- ", "+ ")]
    assert changed == ["-  %unused: f64[3] = neg(%x)"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "kernels in the loop form are scheduled by the passes you name"),
        (("--passes", "vectorise(i, 8)"), 2, "there is no pass 'vectorise'"),
        (("--passes", "peel(i)"), 2, "expected peel(index, group: number), got peel(i)"),
        (("--passes", "simplify,dce"), 2, "expected a pass and its arguments, found 'simplify,dce'"),
        (("--passes", "peel(i, 4)"), 1, "two.loops:2:53: @scale: peel(i, 4): the loop over i has no end"),
        (
            ("--passes", "vectorize(k, 4)"),
            1,
            "two.loops:2:1: @scale: vectorize(k, 4): there is no loop over k",
        ),
    ],
)
def test_opt_says_what_does_not_apply(loops, arguments, code, message):
    done = loops("opt", "two.loops", *arguments)
    assert done.code == code
    assert message in done.err.splitlines()[0]


def test_verify_each_names_the_step(loops, monkeypatch):
    module = sys.modules["tracejit.tools.cli.commands.opt"]
    kernel = parse_kernels((loops.folder / "wrong.loops").read_text()).kernels[1]
    monkeypatch.setattr(module, "scheduled", lambda *_: kernel)
    done = loops("opt", "two.loops", "--passes", "normalize()", "--verify-each")
    assert done.code == 1
    assert done.err.startswith("tracejit opt: after normalize(): @rows: b1[i + 3*j] may be behind the buffer")


def test_run(loops):
    done = loops("run", "two.loops:scale", "--random", 0, "--symbol", "n=3", "--compare")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "b1: f64[3] [ 0.25146044 -0.26420973  1.2808453 ]",
        "  native agrees: largest difference 0, allowed 1.28e-10",
    ]
    native = loops("run", "two.loops:scale", "--random", 0, "--symbol", "n=3", "--native")
    assert done.out.startswith(native.out)


def test_run_on_a_file(loops):
    np.savez(loops.folder / "x.npz", b0=np.arange(3.0))
    done = json.loads(loops("run", "two.loops:scale", "--inputs", "x.npz", "--json").out)
    assert done == {
        "kernel": "scale", "results": [{"name": "b1", "type": "f64[3]", "values": [0.0, 2.0, 4.0]}],
    }  # fmt: skip
    loops("run", "two.loops:scale", "--inputs", "x.npz", "-o", "y.npz")
    assert np.load(loops.folder / "y.npz")["b1"].tolist() == [0, 2, 4]
    np.savez(loops.folder / "in_place.npz", np.arange(4.0), np.ones(4))
    for how in ((), ("--native",)):
        done = loops("run", "place.loops", "--inputs", "in_place.npz", *how)
        assert done.out == "b1: f64[4] [1. 2. 3. 4.]\n"


def test_run_with_indices_that_are_values(loops):
    (loops.folder / "gathers.loops").write_text(
        "kernel @f(b0: i64[3], b1: out i64[1]) { %k: i64 = load b0[0]\n"
        "%x: i64 = load b0[%k] where 0 <= %k < 3 store b1[0], %x }"
    )
    np.savez(loops.folder / "places.npz", b0=np.array([2, 0, 7]))
    for how in ((), ("--native",)):
        assert loops("run", "gathers.loops", "--inputs", "places.npz", *how).out == "b1: i64[1] [7]\n"


def test_run_of_scheduled_kernels(loops):
    text = loops("opt", "two.loops", "--passes", "parallelize(i, 2) vectorize(i, 4)")
    assert text.code == 1  # @scale has no end that is a number
    rows = KERNELS[KERNELS.index("kernel @rows") :]
    (loops.folder / "rows.loops").write_text(rows)
    loops("opt", "rows.loops", "--passes", "parallelize(i, 2) vectorize(j, 4)", "-o", "scheduled.loops")
    assert "tasks" in (loops.folder / "scheduled.loops").read_text()
    plain, scheduled = (
        loops("run", file, "--random", 3, "--compare") for file in ("rows.loops", "scheduled.loops")
    )
    assert plain.out == scheduled.out
    assert "native agrees" in plain.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("two.loops", "--random", 0), "expected one kernel; name one as two.loops:NAME: scale, rows"),
        (("two.loops:scales", "--random", 0), "two.loops has no kernel 'scales'; it has scale, rows"),
        (("two.loops:scale",), "@scale has 2 buffers: give --inputs or --random"),
        (("two.loops:scale", "--random", 0), "@scale: give --symbol n=NUMBER"),
        (("two.loops:scale", "--random", 0, "--symbol", "m=3"), "@scale has no symbol 'm'; it has n"),
        (("two.loops:scale", "--random", 0, "--symbol", "n=0"), "expected n=NUMBER, a number from 1 on"),
        (
            ("two.loops:rows", "--random", 0, "--grad"),
            "is a kernel: give it --inputs or --random",
        ),
        (("two.loops:rows", "--inputs", "x.npz"), "array 'b0' must be f64[12], is f64[3]"),
        (("two.loops:rows", "--inputs", "none.npz"), "there is no file none.npz"),
        (("two.loops:rows", "--inputs", "other.npz"), "other.npz has no array 'b0', it has c"),
        (("wrong.loops:rows", "--random", 0), "wrong.loops:8:7: @rows: b1[i + 3*j] may be behind the buffer"),
        (("good.tir", "--random", 0, "--symbol", "n=3"), "--symbol is for kernels in the loop form"),
        (("fails.loops", "--random", 0), "the kernel failed: too small"),
    ],
)
def test_run_says_what_is_wrong(loops, arguments, message):
    np.savez(loops.folder / "x.npz", b0=np.arange(3.0))
    np.savez(loops.folder / "other.npz", c=np.arange(3.0))
    (loops.folder / "fails.loops").write_text('kernel @f(b0: f64[1]) { fail "too small" unless 0 <= 0 - 1 }')
    done = loops("run", *arguments)
    assert done.code in (1, 2)
    assert message in done.err
    assert done.out == ""


def test_times(loops):
    done = loops("dump", "train.py:counts", "--arg", "f64[100]", "--times")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split(":")[0] for line in lines if "tier" in line] == ["baseline tier", "optimized tier"]
    assert lines[1].startswith("  loop form: ")
    assert any(line.endswith("k0  vectorize(i, 8)") or "vectorize(i, " in line for line in lines)
    baseline, optimized = json.loads(
        loops("dump", "train.py:counts", "--arg", "f64[100]", "--times", "--json").out
    )
    assert baseline["tier"] == "baseline"
    assert optimized["budget"] == 0.2
    done = loops("dump", "train.py:counts", "--arg", "f64[100]", "--times", "--stage", "loops")
    assert (done.code, done.err.count("exclude each other")) == (2, 1)
    done = loops("dump", "train.py:counts", "--arg", "f64[100]", "--times", "--target", "aarch64")
    assert done.code == 2
