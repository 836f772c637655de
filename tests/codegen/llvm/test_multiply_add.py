"""Products and sums become multiply-adds by one rule, whoever generates the code."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tracejit.codegen.llvm.compiler import assembly, compile_module
from tracejit.codegen.llvm.function import FunctionCode, text_of
from tracejit.codegen.llvm.loops import FunctionWriter
from tracejit.codegen.llvm.multiply_add import contracted
from tracejit.codegen.llvm.registers import Reg, constant
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.tiers import Effort

Body = Callable[[FunctionWriter, Reg, Reg, Reg], Reg]


def function(body: Body, dtype: str = "f64", lanes: int = 1, name: str = "f") -> FunctionCode:
    """``name(a, b, c)`` with the result of ``body(w, a, b, c)``."""
    w = FunctionWriter()
    parameters = [Reg(f"%{text}", dtype, lanes) for text in "abc"]
    w.ret(body(w, *parameters))
    return w.function(f"{parameters[0].type} @{name}({', '.join(map(str, parameters))})")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            lambda w, a, b, c: w.add(w.mul(a, b), c),
            ["%v2 = call double @llvm.fmuladd.f64(double %a, double %b, double %c)"],
        ),
        (
            lambda w, a, b, c: w.add(1.0, w.mul(a, b)),
            ["@llvm.fmuladd.f64(double %a, double %b, double 0x3FF0000000000000)"],
        ),
        (
            lambda w, a, b, c: w.sub(w.mul(a, b), c),
            ["%v2.minus = fneg double %c", "@llvm.fmuladd.f64(double %a, double %b, double %v2.minus)"],
        ),
        (
            lambda w, a, b, c: w.sub(c, w.mul(a, b)),
            ["%v2.minus = fneg double %a", "@llvm.fmuladd.f64(double %v2.minus, double %b, double %c)"],
        ),
    ],
    ids=["sum", "constant", "minus a number", "minus the product"],
)
def test_a_product_that_one_sum_reads_is_joined(body: Body, expected: list[str]) -> None:
    text = contracted([function(body)])
    assert all(part in text for part in expected)
    assert "fmul " not in text
    assert "contract" not in text
    assert text.startswith("declare double @llvm.fmuladd.f64(double, double, double)\n")


def _read_twice(w: FunctionWriter, a: Reg, b: Reg, c: Reg) -> Reg:
    product = w.mul(a, b)
    return w.add(w.add(product, c), product)


def _doubled(w: FunctionWriter, a: Reg, b: Reg, c: Reg) -> Reg:
    product = w.mul(a, b)
    return w.add(product, product)


def _returned(w: FunctionWriter, a: Reg, b: Reg, c: Reg) -> Reg:
    product = w.mul(a, b)
    w.add(product, c)
    return product


@pytest.mark.parametrize(
    "body",
    [
        _read_twice,
        _doubled,
        _returned,
        lambda w, a, b, c: w.add(w.rounded(w.mul(a, b)), c),
        lambda w, a, b, c: w.exact("fadd", w.mul(a, b), c),
    ],
    ids=["read twice", "doubled", "returned", "rounded", "exact sum"],
)
def test_others_stay_and_keep_no_flags(body: Body) -> None:
    code = [function(body)]
    assert contracted(code) == text_of(code).replace(" contract", "")


def test_names_are_each_functions_own() -> None:
    second = function(lambda w, a, b, c: w.exact("fmul", w.exact("fadd", a, b), c), name="g")
    text = contracted([function(lambda w, a, b, c: w.add(w.mul(a, b), c)), second])
    assert text.endswith(str(second))
    assert text.count("llvm.fmuladd.f64(double %a") == 1


def test_a_declaration_that_is_there_is_not_repeated() -> None:
    declared = "declare double @llvm.fmuladd.f64(double, double, double)"
    text = contracted([declared, function(lambda w, a, b, c: w.add(w.mul(a, b), c))])
    assert text.count(declared) == 1


def test_vectors_with_constants() -> None:
    code = function(lambda w, a, b, c: w.sub(constant(1.0, "f32", 4), w.mul(a, 2.0)), "f32", 4)
    text = contracted([code])
    assert "call <4 x float> @llvm.fmuladd.v4f32(<4 x float> %v2.minus, <4 x float> splat" in text
    for name, instruction in (("x86-64-v3", r"\bvfn?m(add|sub)"), ("aarch64", r"\bfml[as]\b")):
        assert re.search(instruction, assembly(text, named_target(name)))


@pytest.mark.parametrize("lanes", [1, 2])
def test_machines_without_multiply_adds_have_two_operations(lanes: int) -> None:
    """No function of the C library is called, which rounds once where other kernels round twice."""
    text = contracted([function(lambda w, a, b, c: w.add(w.mul(a, b), c), lanes=lanes)])
    for name, operations in (("x86-64", {"mul", "add"}), ("x86-64-v3,-fma", {"mul", "add"})):
        code = assembly(text, named_target(name))
        assert "fma" not in code
        assert {match[1] for match in re.finditer(r"\bv?(mul|add)[ps]d\b", code)} == operations


def test_both_code_generators_take_it() -> None:
    text = contracted([function(lambda w, a, b, c: w.sub(c, w.mul(a, b)))])
    for effort in Effort:
        assert compile_module(text, ["f"], effort=effort).addresses["f"]
