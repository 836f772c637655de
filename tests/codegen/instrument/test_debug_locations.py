"""Marks: which ops a line of LLVM text and of assembly is for."""

from __future__ import annotations

import tracejit as tj
from tracejit.codegen.instrument.debug_locations import (  # fmt: skip
    Groups,
    assembly_lines,
    marked_lines,
    with_debug_lines,
)
from tracejit.codegen.llvm.compiler import assembly
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


def lines_of(compiled, everything):
    return marked_lines([*compiled.head, *compiled.functions], {"k0": everything})


def test_code_that_is_not_numbered_is_for_no_op():
    assert {origins for _, origins in lines_of(module(False)[1], ())} == {()}


def test_lines_are_for_their_ops():
    names, compiled = module(True)
    everything = tuple(range(len(names)))
    lines = lines_of(compiled, everything)
    root, quotient = names.index("sqrt"), names.index("div")
    text = "\n".join(line for line, _ in lines)
    assert text == compiled.text
    assert of_line(lines, "@llvm.sqrt") - {()} == {(root,)}
    assert of_line(lines, " fdiv ") == {(quotient,)}
    assert of_line(lines, " phi i64") == {everything}
    assert of_line(lines, "i32 @main(") == {()}


def test_ops_are_found_again_behind_llvm():
    names, compiled = module(True)
    lines = lines_of(compiled, tuple(range(len(names))))
    groups = Groups()
    text = with_debug_lines(lines, groups, ["k0"])
    root, quotient = names.index("sqrt"), names.index("div")
    emitted = assembly_lines(assembly(text), groups)
    assert not any(line.lstrip().startswith((".loc", ".cfi", ".file")) for line, _ in emitted)
    combinations = {origins for _, origins in emitted}
    assert {(root,), (quotient,)} <= combinations


def test_groups_number_sets_of_ops():
    groups = Groups()
    assert [groups.line((1,)), groups.line((1, 2)), groups.line((1,))] == [1, 2, 1]
    assert groups.origins(2) == (1, 2)
    assert groups.origins(0) == groups.origins(3) == ()
