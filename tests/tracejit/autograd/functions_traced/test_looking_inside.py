"""``tj.autograd.Function`` in printed IR, dumps and explanations."""

from __future__ import annotations

import tracejit as tj
from tracejit.ir.text.parser import parse_function
from tracejit.ir.verifier import verify
from tracejit.jitted.function import JitFunction
from tracejit.tools.cli import main

from .common import jit, square

TRACED = """\
func @squared(%x: f64[2]) -> f64[2] {
  %0: f64[2] = custom_vjp(%x) {name="Square", outputs=1, wrt=[0]} @Square(%x0: f64[2]) -> f64[2] {
    %0: f64[2] = mul(%x0, %x0)
    return %0
  } @Square_backward(%x0: f64[2], %y0: f64[2], %ct0: f64[2]) -> f64[2] {
    %0: f64[]  = full() {value=2.0, shape=[], dtype=f64}
    %1: f64[2] = broadcast(%0) {shape=[2]}
    %2: f64[2] = mul(%1, %x0)
    %3: f64[2] = mul(%2, %ct0)
    return %3
  }
  return %0
}"""


def squared(x):
    return square(x)


def test_printing_parsing_and_verifying():
    traced = tj.trace(squared, tj.ones(2))
    verify(traced)
    text = "\n".join(line.split("#")[0].rstrip() for line in str(traced).splitlines())
    assert text == TRACED
    parsed = parse_function(text)
    verify(parsed)
    assert str(parsed) == TRACED


def test_dump(tmp_path, capsys):
    (tmp_path / "user.py").write_text(
        "import tracejit as tj\n"
        "class Twice(tj.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, ct):\n"
        "        return ct * 2\n"
        "def f(x):\n"
        "    return Twice.apply(x)\n"
    )
    for stage, words in (
        ("trace", ["custom_vjp", "@Twice_backward", "user.py:5", "user.py:8"]),
        ("llvm", ["fmul"]),
    ):
        assert main(["dump", f"{tmp_path / 'user.py'}:f", "--arg", "f64[3]", "--stage", stage]) == 0
        text = capsys.readouterr().out
        assert [word for word in words if word not in text] == []


def test_explain():
    f = jit(squared)
    f(tj.ones(2))
    assert isinstance(f, JitFunction)
    assert "everything is native code" in f.explain()
    assert "mul" in f.lower(tj.ones(2)).as_text("loops")
