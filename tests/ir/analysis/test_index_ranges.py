"""The most steps of loops, and counters that another one bounds."""

from tracejit.ir.analysis.index_ranges import index_ranges, most_steps
from tracejit.ir.text.parser import parse_function

LOOP = """
func @f(%x: f64[50], %m: i64[]) -> (i64[], i64[]) {
  %first: i64[] = full() {value=3, shape=[], dtype=i64}
  %other: i64[] = full() {value=10, shape=[], dtype=i64}
  %bound: i64[] = full() {value=BOUND, shape=[], dtype=i64}
  %a: i64[], %b: i64[] = while(%first, %other, %bound, %m) {carries=2} @condition(%i: i64[], %j: i64[], %n: i64[], %m: i64[]) -> bool[] {
TEST
  } @body(%i: i64[], %j: i64[], %n: i64[], %m: i64[]) -> (i64[], i64[]) {
    %two: i64[] = full() {value=2, shape=[], dtype=i64}
    %one: i64[] = full() {value=1, shape=[], dtype=i64}
    %k: i64[] = add(%i, %two)
    %l: i64[] = sub(%j, %one)
    return %k, %l
  }
  return %a, %b
}
"""  # noqa: E501


def loop_of(test, bound=20):
    lines = "\n".join(f"    {line}" for line in test)
    function = parse_function(LOOP.replace("BOUND", str(bound)).replace("TEST", lines))
    return function.body[-1], function.defs


LESS = ("%0: bool[] = lt(%i, %n)", "return %0")


def test_a_bound_gives_the_steps_and_the_other_counter():
    loop, defs = loop_of(LESS)
    assert most_steps(loop, defs) == {loop: 9}  # 3, 5, ... 19
    ranges = index_ranges(loop, defs)
    first, second = loop.regions[1].params[:2]
    assert ranges[first] == (3, 19)
    assert ranges[second] == (2, 10)  # 10 down to 10 - 8


def test_a_loop_with_no_steps():
    loop, defs = loop_of(LESS, bound=3)
    assert most_steps(loop, defs) == {loop: 0}


def test_all_tests_of_a_condition_hold():
    lines = ("%0: bool[] = lt(%i, %n)", "%1: bool[] = lt(%m, %n)", "%2: bool[] = bitwise_and(%1, %0)")
    loop, defs = loop_of((*lines, "return %2"))
    assert most_steps(loop, defs) == {loop: 9}


def test_one_test_of_two_need_not_hold():
    lines = ("%0: bool[] = lt(%i, %n)", "%1: bool[] = lt(%m, %n)", "%2: bool[] = bitwise_or(%1, %0)")
    loop, defs = loop_of((*lines, "return %2"))
    assert most_steps(loop, defs) == {loop: None}


def test_a_bound_that_steps_change_is_none():
    loop, defs = loop_of(("%0: bool[] = lt(%i, %j)", "return %0"))
    assert most_steps(loop, defs) == {loop: None}
    assert index_ranges(loop, defs)[loop.regions[1].params[0]] == (3, None)
