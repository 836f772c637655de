"""Groups while they grow: which depend on which after groups have become one."""

from __future__ import annotations

from tracejit.ir.grouping.groups import Units, whole
from tracejit.ir.text.parser import parse_function

PROGRAM = parse_function(
    """func @f(%x: f64[9], %y: f64[9]) -> f64[9] {
  %a: f64[9] = exp(%x)
  %b: f64[9] = sin(%a)
  %c: f64[9] = cos(%b)
  %d: f64[9] = add(%a, %c)
  %e: f64[9] = neg(%y)
  return %d
}"""
)


def units_alone() -> Units:
    """A unit for each instruction."""
    units = Units()
    for instruction in PROGRAM.body:
        producers = [units.get(operand) for operand in instruction.operands]
        units.add(instruction, None, [producer for producer in producers if producer is not None])
    return units


def test_dependencies_are_transitive() -> None:
    a, b, c, d, e = units_alone().all
    assert d.depends_on(a)
    assert d.depends_on(b)
    assert d.depends_on(c)
    assert c.depends_on(a)
    assert not a.depends_on(d)
    assert not d.depends_on(e)
    assert not e.depends_on(a)


def test_a_path_through_a_third_group() -> None:
    units = units_alone()
    a, b, c, d, e = units.all
    assert units.path_through_others(a, d)
    assert units.path_through_others(d, a)
    assert units.path_through_others(a, c)
    assert not units.path_through_others(a, b)
    assert not units.path_through_others(a, e)


def test_a_path_through_merged_groups() -> None:
    units = units_alone()
    a, b, c, d, e = units.all
    units.merge(c, b)
    assert units.path_through_others(d, a)
    units.merge(c, a)
    assert not units.path_through_others(d, c)
    units.merge(d, c)
    assert not d.depends_on(d)
    assert d.dependencies == 0
    assert not units.path_through_others(d, e)


def test_what_depended_on_a_merged_group_depends_on_the_other() -> None:
    units = units_alone()
    a, b, c, d, e = units.all
    units.merge(a, e)
    assert all(unit.depends_on(a) for unit in (b, c, d))
    units.merge(c, b)
    assert d.depends_on(c)
    assert c.depends_on(a)
    assert not a.depends_on(c)


def test_values_are_those_of_the_group_that_is_left() -> None:
    units = units_alone()
    a, b, c, d, e = units.all
    units.merge(b, a)
    units.merge(d, b)
    assert [units[instruction.result] for instruction in PROGRAM.body] == [d, d, c, d, e]
    assert {member.op.name for member in d.members} == {"exp", "sin", "add"}
    assert not a.members
    assert not b.members
    assert units.get(PROGRAM.params[0]) is None
    assert {d.own_of(member) for member in d.members} == {whole(PROGRAM.body[0].result.type.ndim)}


def test_members_keep_their_order_whichever_is_larger() -> None:
    units = units_alone()
    a, b, c, d, _ = units.all
    units.merge(c, b)
    units.merge(a, c)
    assert [member.op.name for member in a.members] == ["exp", "cos", "sin"]
    units.merge(a, d)
    assert [member.op.name for member in a.members] == ["exp", "cos", "sin", "add"]
