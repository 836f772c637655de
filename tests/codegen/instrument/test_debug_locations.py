"""Marks: which ops a line of LLVM text and of assembly is for."""

from __future__ import annotations

import tracejit as tj
from tracejit.codegen.instrument.debug_locations import (  # fmt: skip
    Groups,
    assembly_lines,
    mark_of,
    marked_lines,
    optimized_lines,
    with_debug_lines,
)
from tracejit.codegen.llvm.compiler import assembly, optimized_text
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.writer import generate
from tracejit.ir.graph import Function, Instruction, Location
from tracejit.ir.passes import run_passes


def module(numbers):
    traced = tj.trace(lambda x: tj.sqrt(x) / 3.0, tj.ones(1000))
    body = [
        Instruction(
            instruction.op,
            instruction.operands,
            instruction.attrs,
            instruction.results,
            Location("f.py", 1, False, (i,) if numbers else ()),
        )
        for i, instruction in enumerate(traced.body)
    ]
    function = Function(traced.name, traced.params, tuple(body), traced.results)
    return [instruction.op.name for instruction in body], generate(run_passes(function), host())


def of_line(lines, word):
    return {origins for text, origins in lines if word in text}


def test_code_that_is_not_numbered_has_no_marks():
    assert "; from" not in module(False)[1].text
    assert mark_of(()) == ""


def test_lines_are_for_their_ops():
    names, made = module(True)
    everything = tuple(range(len(names)))
    lines = marked_lines(made.text, {"k0": everything})
    root, quotient = names.index("sqrt"), names.index("div")
    text = "\n".join(line for line, _ in lines)
    assert "; from" not in text
    assert "".join(text.split()) == "".join(
        line.partition(" ; from")[0].strip() for line in made.text.split("\n")
    ).replace(" ", "")
    assert of_line(lines, "@llvm.sqrt") - {()} == {(root,)}
    assert of_line(lines, " fdiv ") == {(quotient,)}
    assert of_line(lines, " phi i64") == {everything}
    assert of_line(lines, "i32 @main(") == {()}


def test_ops_are_found_again_behind_llvm():
    names, made = module(True)
    lines = marked_lines(made.text, {"k0": tuple(range(len(names)))})
    groups = Groups()
    text = with_debug_lines(lines, groups, ["k0"])
    root, quotient = names.index("sqrt"), names.index("div")
    optimized = optimized_lines(optimized_text(text), groups)
    assert of_line(optimized, " fdiv ") == {(quotient,)}
    compiled = assembly_lines(assembly(text), groups)
    assert not any(line.lstrip().startswith((".loc", ".cfi", ".file")) for line, _ in compiled)
    found = {origins for _, origins in compiled}
    assert {(root,), (quotient,)} <= found


def test_groups_number_sets_of_ops():
    groups = Groups()
    assert [groups.line((1,)), groups.line((1, 2)), groups.line((1,))] == [1, 2, 1]
    assert groups.origins(2) == (1, 2)
    assert groups.origins(0) == groups.origins(3) == ()
