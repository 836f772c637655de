"""Products and sums become multiply-adds by one rule, whoever generates the code."""

from __future__ import annotations

import pytest

from tracejit.codegen.llvm.compiler import assembly, compile_module
from tracejit.codegen.llvm.multiply_add import contracted
from tracejit.codegen.tiers import Effort


def function(*lines: str, kind: str = "double") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"define {kind} @f({kind} %a, {kind} %b, {kind} %c) {{\nentry:\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("total", "wanted"),
    [
        ("fadd contract double %p, %c", ["call double @llvm.fma.f64(double %a, double %b, double %c)"]),
        (
            "fadd contract double 0x3FF0, %p",
            ["call double @llvm.fma.f64(double %a, double %b, double 0x3FF0)"],
        ),
        (
            "fsub contract double %p, %c",
            ["%s.minus = fneg double %c", "@llvm.fma.f64(double %a, double %b, double %s.minus)"],
        ),
        (
            "fsub contract double %c, %p",
            ["%s.minus = fneg double %a", "@llvm.fma.f64(double %s.minus, double %b, double %c)"],
        ),
    ],
)
def test_a_product_that_one_sum_reads_is_joined(total: str, wanted: list[str]) -> None:
    text = contracted(function("%p = fmul contract double %a, %b", f"%s = {total}", "ret double %s"))
    assert all(one in text for one in wanted)
    assert "fmul" not in text
    assert "contract" not in text
    assert text.startswith("declare double @llvm.fma.f64(double, double, double)\n")


@pytest.mark.parametrize(
    "lines",
    [
        [
            "%p = fmul contract double %a, %b",
            "%q = fadd contract double %p, %c",
            "%s = fadd contract double %q, %p",
        ],
        ["%p = fmul contract double %a, %b", "%s = fadd contract double %p, %p"],
        ["%p = fmul double %a, %b", "%s = fadd contract double %p, %c"],
        ["%p = fmul contract double %a, %b", "%s = fadd double %p, %c"],
    ],
)
def test_others_stay_and_keep_no_flags(lines: list[str]) -> None:
    text = function(*lines, "ret double %s")
    assert contracted(text) == text.replace(" contract", "")


def test_names_are_each_functions_own() -> None:
    first = function("%p = fmul contract double %a, %b", "%s = fadd contract double %p, %c", "ret double %s")
    second = function("%p = fadd double %a, %b", "%q = fmul double %p, %p", "ret double %q").replace(
        "@f", "@g"
    )
    text = contracted(first + second)
    assert text.endswith(second)
    assert text.count("llvm.fma.f64(double %a") == 1


def test_vectors_with_constants() -> None:
    kind = "<4 x float>"
    text = contracted(
        function(
            f"%p = fmul contract {kind} %a, splat (float 0x4000000000000000)",
            f"%s = fsub contract {kind} splat (float 0x3FF0000000000000), %p",
            f"ret {kind} %s",
            kind=kind,
        )
    )
    assert f"call {kind} @llvm.fma.v4f32({kind} %s.minus, {kind} splat" in text
    assert "fma" in assembly(text) or "mla" in assembly(text) or "mls" in assembly(text)


def test_both_code_generators_take_it() -> None:
    text = contracted(
        function("%p = fmul contract double %a, %b", "%s = fsub contract double %c, %p", "ret double %s")
    )
    for effort in Effort:
        assert compile_module(text, ["f"], effort=effort).addresses["f"]
