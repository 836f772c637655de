"""Ops that are numbered can be followed through the passes, and fusion says what it did not fuse."""

from __future__ import annotations

import pytest

import tracejit as tj
from tracejit.ir.graph import Function, Instruction, Location
from tracejit.ir.grouping.reasons import MAX_MEMBERS, Misfit, why_alone
from tracejit.ir.passes import OPTIMIZE, run_passes
from tracejit.ir.passes.algebra.cleanup import cse
from tracejit.ir.passes.fusion.fuse import fuse
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import Names, lines_of, print_function
from tracejit.tools.viewer.numbering import numbered as number_all
from tracejit.tools.viewer.numbering import origins_of

from ..fuzz.graphs import program


def numbered(function):
    body = [
        Instruction(
            instruction.op,
            instruction.operands,
            instruction.attrs,
            instruction.results,
            Location("f.py", i + 1, False, (i,)),
        )
        for i, instruction in enumerate(function.body)
    ]
    return Function(function.name, function.params, tuple(body), function.results)


def notes(text):
    results = []
    fuse(parse_function(text), lambda *note: results.append(note))
    return [(reader.op.name, read.op.name, why) for reader, read, why in results]


def test_what_cse_merges_has_the_origins_of_both():
    function = numbered(
        parse_function("""func @f(%x: f64[3]) -> (f64[3], f64[3]) {
  %0: f64[3] = exp(%x)
  %1: f64[3] = exp(%x)
  %2: f64[3] = neg(%1)
  return %0, %2
}""")
    )
    exp, neg = cse(function).body
    assert exp.origins == (0, 1)
    assert exp.location.line == 1
    assert neg.origins == (2,)


def test_locations_without_numbers_stay_as_they_are():
    function = tj.trace(lambda x: tj.exp(x) + tj.exp(x), tj.ones(3))
    exp, _ = cse(function).body
    assert exp.location is function.body[0].location


def test_gradients_say_so_and_name_the_line_that_they_are_of():
    def loss(x):
        return (tj.exp(x) * x).sum()

    body = tj.trace(tj.grad(loss), tj.ones(3)).body
    line = loss.__code__.co_firstlineno + 1
    assert [(instruction.op.name, instruction.location.gradient) for instruction in body[:2]] == [
        ("exp", False),
        ("mul", False),
    ]
    assert body[-1].op.name == "add"
    assert all(
        instruction.location.gradient and instruction.location.line == line for instruction in body[-3:]
    )


def test_accumulated_cotangents_are_of_the_gradient():
    body = tj.trace(tj.grad(lambda x: (x * x * x).sum()), tj.ones(3)).body
    gradient = [instruction for instruction in body if instruction.location.gradient]
    assert sum(instruction.op.name == "add" for instruction in gradient) == 2


def test_fusion_tells_of_other_elements():
    noted = notes("""func @f(%x: f64[4,4]) -> f64[4,4] {
  %0: f64[4,4] = exp(%x)
  %1: f64[4,4] = transpose(%0) {perm=[1, 0]}
  %2: f64[4,4] = add(%0, %1)
  return %2
}""")
    assert [(reader, read) for reader, read, _ in noted] == [("add", "exp")]
    assert "transposed" in noted[0][2]


def test_fusion_tells_of_other_axes_and_of_kernels_of_their_own():
    noted = notes("""func @f(%x: f64[4,4]) -> (f64[4], f64[4]) {
  %0: f64[4,4] = matmul(%x, %x)
  %1: f64[4,4] = exp(%0)
  %2: f64[4] = sum(%1) {axes=[0]}
  %3: f64[4] = sum(%1) {axes=[1]}
  return %2, %3
}""")
    assert ("exp", "matmul", "matmul is a kernel of its own") in noted
    assert any(reader == "sum" and "other axes" in why for reader, _, why in noted)


def test_fusion_tells_of_long_rows_and_of_full_groups():
    noted = notes("""func @f(%x: f64[2,100000]) -> f64[2,100000] {
  %0: f64[2,100000] = exp(%x)
  %1: f64[2] = sum(%0) {axes=[1]}
  %2: f64[2,1] = reshape(%1) {shape=[2, 1]}
  %3: f64[2,100000] = broadcast(%2) {shape=[2, 100000]}
  %4: f64[2,100000] = div(%0, %3)
  return %4
}""")
    assert any(reader == "div" and "KiB" in why for reader, _, why in noted)
    chain = "\n".join(f"  %{i}: f64[3] = sin(%{i - 1 if i else 'x'})" for i in range(MAX_MEMBERS + 1))
    noted = notes(f"func @f(%x: f64[3]) -> f64[3] {{\n{chain}\n  return %{MAX_MEMBERS}\n}}")
    assert [why for _, _, why in noted] == [f"the group has {MAX_MEMBERS} ops already, and grows no further"]


def test_noting_changes_nothing():
    function = run_passes(
        tj.trace(tj.grad(lambda x: (tj.exp(x) / tj.exp(x).sum()).sum()), tj.ones(9)), OPTIMIZE
    )
    assert print_function(fuse(function, lambda *note: None)) == print_function(fuse(function))


def test_why_alone():
    matmul, exp = parse_function("""func @f(%x: f64[4,4]) -> f64[4,4] {
  %0: f64[4,4] = matmul(%x, %x)
  %1: f64[4,4] = exp(%0)
  return %1
}""").body
    assert why_alone(matmul) == Misfit("matmul is a kernel of its own")
    assert why_alone(exp) is None


def test_rows_are_the_text_with_the_instruction_of_each_line():
    function = parse_function("""func @f(%x: f64[4]) -> f64[] {
  %0: f64[] = sum(%x) {axes=[0]}
  return %0
}""")
    lines = list(lines_of(function))
    assert "\n".join(text for text, _ in lines) == print_function(function)
    shown = [(function, "func"), function.body[0], (function, "return"), (function, "end")]
    assert [what for _, what in lines] == shown
    names = Names({function.params[0]: "a", function.results[0]: "total"})
    named = [text for text, _ in lines_of(function, names=names)]
    assert named[1].split() == ["%total:", "f64[]", "=", "sum(%a)", "{axes=[0]}"]


@pytest.mark.parametrize("seed", range(40))
def test_passes_lose_no_origins(seed):
    """Each op that passes leave of a random program says which ops it stems from."""
    function, ops = number_all(program(seed).function)
    for instruction in run_passes(function).instructions():
        origins = origins_of(instruction)
        assert origins, instruction.op.name
        assert set(origins) <= set(range(len(ops)))


def test_loops_and_branches_lose_no_origins():
    def f(x, w):
        carry, stacked = tj.scan(lambda c, t: (tj.sin(c) * t, c), tj.ones(4), (x @ w)[:, :4])
        chosen = tj.cond(carry[0] > 0, lambda: tj.mean(carry), lambda: tj.sum(stacked))
        return chosen + tj.fori_loop(0, 3, lambda i, z: tj.tanh(z @ w), x).sum()

    function, _ = number_all(tj.trace(tj.grad(f), tj.ones((8, 8)), tj.ones((8, 8))))
    assert all(origins_of(instruction) for instruction in run_passes(function).instructions())
