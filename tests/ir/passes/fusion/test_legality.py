"""Legality of fusion: decisions, and misfits with their reasons."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from benchmarks.compiling import mixed
from tracejit.base.machine import Machine, use_machine
from tracejit.ir.graph import Function, Instruction
from tracejit.ir.grouping.groups import ACROSS, Unit, Units, kept
from tracejit.ir.grouping.inlining import Reads
from tracejit.ir.grouping.reasons import (
    CYCLE,
    FAR_COLUMNS,
    FOLDED_ACROSS,
    FULL,
    MAX_MEMBERS,
    OTHER_AXES,
    OTHER_ELEMENT,
    OTHER_SHAPE,
    Misfit,
    long_row,
    why_alone,
)
from tracejit.ir.ops.fusion import FUSION
from tracejit.ir.passes import OPTIMIZE, run_passes
from tracejit.ir.passes.fusion.fuse import fuse
from tracejit.ir.passes.fusion.legality import Legality, Placement, fold_across
from tracejit.ir.text.parser import parse_function


def function(parameters: str, *body: str) -> Function:
    """A Function of lines ``name: type = op``, which returns the last value."""
    lines = [f"  %{line.split(':')[0]}: {line.split(': ', 1)[1]}" for line in body]
    name, type_ = body[-1].split(" = ")[0].split(": ")
    return parse_function(
        f"func @f({parameters}) -> {type_} {{\n" + "\n".join(lines) + f"\n  return %{name}\n}}"
    )


def grown(program: Function, groups: list[list[int]]) -> tuple[Legality, Units]:
    """Units of the instructions with those numbers; members of one group are placed as `legality` says."""
    units = Units()
    legality = Legality(Reads(program), units)
    for numbers in groups:
        unit = None
        for number in numbers:
            instruction = program.body[number]
            producers = [units.get(value) for value in instruction.operands]
            if unit is not None:
                placement = legality.place(instruction, [unit])
                assert isinstance(placement, Placement)
                unit.own[instruction] = placement.own
                unit.coordinates[instruction.result] = placement.result
                if instruction.op.name == "sum" and placement.result is not ACROSS:
                    unit.axes = instruction.attrs["axes"]
            units.add(instruction, unit, [producer for producer in producers if producer is not None])
            unit = units[instruction.result]
    return legality, units


ROWS = ("e: f64[9,5] = exp(%x)", "s: f64[9] = sum(%e) {axes=[1]}")


def joined(program: Function, groups: list[list[int]], number: int) -> Placement | Misfit:
    legality, units = grown(program, groups)
    others = [unit for unit in units.all[1:] if unit.members]
    return legality.join(program.body[number], units.all[0], others)


def test_an_op_of_each_element() -> None:
    program = function("%x: f64[9,5]", *ROWS[:1], "n: f64[9,5] = neg(%e)")
    assert joined(program, [[0]], 1) == Placement((0, 1), (0, 1))


def test_a_fold_of_rows_and_an_op_of_each_row() -> None:
    program = function("%x: f64[9,5]", *ROWS, "n: f64[9] = neg(%s)")
    assert joined(program, [[0]], 1) == Placement((0, 1), (0,))
    assert joined(program, [[0, 1]], 2) == Placement((0,), (0,))


def test_a_fold_across_rows() -> None:
    program = function("%x: f64[9,5]", *ROWS, "t: f64[5] = sum(%e) {axes=[0]}")
    assert joined(program, [[0, 1]], 2) == Placement((0, 1), ACROSS)
    assert fold_across(program.body[2], (0, 1), (9, 5), (1,)) is None
    with use_machine(Machine(l1_bytes=32)):  # which the result has to stay in
        assert fold_across(program.body[2], (0, 1), (9, 5), (1,)) == OTHER_AXES


MISFITS: dict[str, tuple[tuple[str, ...], list[list[int]], Misfit]] = {
    "the elements of another place": (
        ("e: f64[5,5] = exp(%q)", "t: f64[5,5] = transpose(%e) {perm=[1, 0]}", "a: f64[5,5] = add(%e, %t)"),
        [[0]],
        OTHER_ELEMENT,
    ),
    "another shape": (
        (
            *ROWS[:1],
            "p: f64[4,5] = slice(%e) {start=[0, 0], size=[4, 5], step=[1, 1]}",
            "n: f64[4,5] = neg(%p)",
        ),
        [[0]],
        OTHER_SHAPE,
    ),
    "other axes": (
        (*ROWS[:1], "c: f64[5] = sum(%e) {axes=[0]}", "s: f64[9] = sum(%e) {axes=[1]}"),
        [[0, 1]],
        OTHER_AXES,
    ),
    "a fold across rows read": (
        (
            *ROWS,
            "t: f64[5] = sum(%e) {axes=[0]}",
            "b: f64[9,5] = broadcast(%t) {shape=[9, 5]}",
            "a: f64[9,5] = add(%e, %b)",
        ),
        [[0, 1, 2]],
        FOLDED_ACROSS,
    ),
    "a path that leaves the group": (
        ("e: f64[5,5] = exp(%q)", "m: f64[5,5] = matmul(%e, %q)", "a: f64[5,5] = add(%e, %m)"),
        [[0], [1]],
        CYCLE,
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_misfits(name: str) -> None:
    body, groups, misfit = MISFITS[name]
    program = function("%x: f64[9,5], %q: f64[5,5]", *body)
    assert joined(program, groups, len(program.body) - 1) == misfit


def test_a_long_row_is_not_passed_over_twice() -> None:
    back = (*ROWS, "b: f64[9,5] = broadcast(%r) {shape=[9, 5]}", "d: f64[9,5] = div(%e, %b)")
    program = function("%x: f64[9,5]", *ROWS, "r: f64[9,1] = reshape(%s) {shape=[9, 1]}", *back[2:])
    assert isinstance(joined(program, [[0, 1]], 4), Placement)
    with use_machine(Machine(l2_bytes=64)):
        assert joined(program, [[0, 1]], 4) == long_row()


def test_groups_grow_no_further() -> None:
    chain = ["0: f64[3] = sin(%x)", *(f"{i}: f64[3] = sin(%{i - 1})" for i in range(1, MAX_MEMBERS + 1))]
    program = function("%x: f64[3]", *chain)
    assert joined(program, [list(range(MAX_MEMBERS))], MAX_MEMBERS) == FULL
    assert isinstance(joined(program, [list(range(MAX_MEMBERS - 1))], MAX_MEMBERS - 1), Placement)


def test_what_is_alone() -> None:
    program = function("%q: f64[5,5]", "m: f64[5,5] = matmul(%q, %q)", "n: f64[5,5] = neg(%m)")
    assert joined(program, [[0]], 1) == why_alone(program.body[0])


def test_two_groups() -> None:
    program = function(
        "%x: f64[9,5]",
        "e: f64[9,5] = exp(%x)",
        "s: f64[9] = sum(%x) {axes=[1]}",
        "t: f64[5] = sum(%x) {axes=[0]}",
    )
    legality, units = grown(program, [[0], [1], [2]])
    each, rows, columns = units.all
    assert legality.merge(each, rows) is None
    assert legality.merge(rows, columns) == OTHER_AXES
    assert legality.siblings(rows, columns) == [program.body[2].result]
    assert legality.siblings(columns, rows) == OTHER_AXES
    units.merge(each, rows)
    assert (each.axes, len(each.members), rows.members) == ((1,), 2, [])
    assert legality.merge(each, columns) == OTHER_AXES


def test_a_map_as_the_rows_of_another_group() -> None:
    wide = function(
        "%x: f64[600,5], %y: f64[600]", "s: f64[600] = sum(%x) {axes=[1]}", "n: f64[600] = neg(%y)"
    )
    legality, units = grown(wide, [[0], [1]])
    assert legality.rows(units.all[1], units.all[0]) == kept((600, 5), (1,))
    assert legality.rows(units.all[0], units.all[1]) == OTHER_SHAPE
    with use_machine(Machine(l1_bytes=256)):  # rows are short no more
        assert legality.rows(units.all[1], units.all[0]) == OTHER_SHAPE


def test_columns_that_are_computed_at_one_place() -> None:
    columns = (
        "a: f64[9] = exp(%x)",
        "b: f64[9] = neg(%x)",
        "c: f64[9,1] = reshape(%a) {shape=[9, 1]}",
        "d: f64[9,1] = reshape(%b) {shape=[9, 1]}",
        "j: f64[9,2] = concat(%c, %d) {axis=1}",
    )
    program = function("%x: f64[9]", *columns)
    legality, units = grown(program, [[0], [1]])
    assert legality.columns(program.body[4]) == units.all
    other = function("%x: f64[9]", *columns[:4], "j: f64[18,1] = concat(%c, %d) {axis=0}")
    assert grown(other, [[0], [1]])[0].columns(other.body[4]) == FAR_COLUMNS


def test_the_fusion_says_what_was_decided() -> None:
    program = function(
        "%x: f64[9,5]",
        *ROWS,
        "r: f64[9,1] = reshape(%s) {shape=[9, 1]}",
        "b: f64[9,5] = broadcast(%r) {shape=[9, 5]}",
        "d: f64[9,5] = div(%e, %b)",
        "t: f64[5] = sum(%d) {axes=[0]}",
    )
    (fusion,) = fuse(program).body
    assert fusion.op is FUSION
    assert fusion.attrs == {
        "domain": (9, 5),
        "axes": (1,),
        "levels": ("each", "fold", "read", "read", "each", "across"),
    }


def _short_rows(x):
    y = x - x.mean(1, keepdims=True)
    row = tj.exp(-(x * x).sum(1))
    return tj.tanh(y / tj.sqrt((y * y).mean(1, keepdims=True) + 1e-3)) * row[:, None], y.sum(0), row * 2.0


PROGRAMS = {
    "short rows": (_short_rows, (np.linspace(-1.0, 1.0, 3000).reshape(600, 5),)),
    "long rows": (_short_rows, (np.linspace(-1.0, 1.0, 80_000).reshape(4, 20_000),)),
    "mixed": mixed(tj, 300),
    "gradient of mixed": (tj.grad(mixed(tj, 300)[0]), mixed(tj, 300)[1]),
    "gradient of rows": (tj.grad(lambda x: _short_rows(x)[0].sum()), (np.ones((700, 6)),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_look_says_what_all_decisions_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, arguments = PROGRAMS[name]
    optimized = run_passes(tj.trace(program, *arguments), OPTIMIZE)
    looks = 0
    extended = Legality.extended

    def counted(self: Legality, instruction: Instruction) -> tuple[Unit, list[Unit]] | None:
        nonlocal looks
        extension = extended(self, instruction)
        looks += extension is not None
        return extension

    monkeypatch.setattr(Legality, "extended", counted)
    fused = fuse(optimized)
    monkeypatch.setattr(Legality, "extended", lambda *_: None)
    assert str(fuse(optimized)) == str(fused)
    assert looks > 1
