"""Functions of the IR as pictures."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tracejit as tj
from tracejit.ir.ops.fusion import FUSION
from tracejit.ir.registry import OPS
from tracejit.ir.text.parser import parse_function
from tracejit.jitted.lowered import Lowered
from tracejit.tools.picture import picture_of_function, to_dot, to_svg
from tracejit.tools.picture.of_graph import operand_name


def lines(picture):
    return [node.lines for node in picture.nodes]


def arrows(picture):
    titles = {node.id: node.lines[0] for node in picture.nodes}
    return [(titles[edge.source], titles[edge.target], edge.label, edge.port) for edge in picture.edges]


def test_parameters_instructions_and_results():
    function = parse_function("""
func @f(%x: f64[3], %y: f64[3]) -> (f64[], f64[3]) {
  %0: f64[3] = sub(%x, %y)
  %1: f64[]  = sum(%0) {axes=[0]}
  %2: f64[]  = full() {value=2.0, shape=[], dtype=f64}
  %3: f64[]  = mul(%1, %2)
  return %3, %0
}
""")
    picture = picture_of_function(function)
    assert picture.title == "func @f"
    assert lines(picture) == [
        ("%x", "f64[3]"),
        ("%y", "f64[3]"),
        ("sub", "f64[3]"),
        ("sum", "axes=[0]", "f64[]"),
        ("full", "value=2.0", "shape=[]", "dtype=f64", "f64[]"),
        ("mul", "f64[]"),
        ("result 0", "f64[]"),
        ("result 1", "f64[3]"),
    ]
    assert [node.kind for node in picture.nodes] == ["parameter"] * 2 + ["op"] * 2 + ["constant", "op"] + [
        "result"
    ] * 2
    assert arrows(picture) == [
        ("%x", "sub", "", "x"),  # the order matters, so operands are named
        ("%y", "sub", "", "y"),
        ("sub", "sum", "", ""),
        ("sum", "mul", "", ""),
        ("full", "mul", "", ""),
        ("mul", "result 0", "", ""),
        ("sub", "result 1", "", ""),
    ]


def test_the_source_line_is_the_tooltip():
    picture = picture_of_function(tj.jit(lambda x: tj.exp(x)).trace(tj.ones(3)))
    assert picture.nodes[1].tooltip.startswith("test_of_function.py:")
    assert picture.nodes[0].tooltip == ""


def test_an_operand_twice_is_two_edges():
    picture = picture_of_function(tj.jit(lambda x: x * x).trace(tj.ones(3)))
    assert arrows(picture)[:2] == [("%x", "mul", "", "")] * 2


def test_a_parameter_that_is_the_result_and_one_that_is_unused():
    picture = picture_of_function(parse_function("func @f(%x: f64[], %y: i64[2]) -> f64[] {\n  return %x\n}"))
    assert arrows(picture) == [("%x", "result", "", "")]
    assert len(picture.nodes) == 3
    assert to_svg(picture).count("<title>") == 3


def test_fusions_are_groups_in_their_place():
    def f(x, w):
        return tj.exp(x @ w + 1).sum(axis=1)

    fused = Lowered(tj.jit(f).trace(tj.ones((5, 4)), tj.ones((4, 3)))).fused
    assert any(instruction.op is FUSION for instruction in fused.body)
    picture = picture_of_function(fused)
    titles = {node.lines[0]: node for node in picture.nodes}
    assert "fusion" not in titles
    assert titles["exp"].group == titles["sum"].group == picture.groups[0].id
    assert titles["matmul"].group is None
    assert picture.groups[0].label.startswith("fusion @")
    drawn = arrows(picture)
    assert ("matmul", "add", "", "") in drawn
    assert ("sum", "result", "", "") in drawn
    assert "subgraph cluster_0" in to_dot(picture)


def test_every_op_names_its_operands_or_has_no_order():
    for op in OPS:
        for position in range(3):
            name = operand_name(op, position, 3)
            assert bool(name) != op.commutative, op
            assert "*" not in name
            assert operand_name(op, position, 1) == ""
    assert [operand_name(None, number, 2) for number in range(2)] == ["0", "1"]


def test_errors():
    with pytest.raises(tj.TracejitError, match=r"expected a Function.*f\.trace.*got function"):
        picture_of_function(lambda x: x)
    whole = tj.jit(lambda x: tj.exp(tj.sin(x))).trace(tj.ones(3))
    broken = type(whole)("f", whole.params, whole.body[1:], whole.results)
    with pytest.raises(tj.TracejitError, match=r"f64\[3\] is used before it is defined"):
        picture_of_function(broken)


def test_pictures_are_not_loaded_before_they_are_wanted():
    code = "import sys, tracejit; print([one for one in sys.modules if 'picture' in one])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
