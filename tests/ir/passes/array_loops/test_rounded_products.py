"""Products of numbers that keep their rounding: which ones, in branches too, and what passes leave of it."""

from __future__ import annotations

import tracejit as tj
from tracejit.ir.passes.algebra.multiply_adds import multiply_adds
from tracejit.ir.passes.array_loops.rounded_products import may_be_product, products_to_round, round_products
from tracejit.ir.text.parser import parse_function

STEP = """
func @step(%x: f64[], %k: i64[], %v: f64[3], %t: bool[]) -> (f64[], f64[], f64[3], f64[]) {
  %0: f64[]  = mul(%x, %x)
  %1: f64[]  = mul(%0, %x)
  %2: f64[]  = add(%1, %x)
  %3: i64[]  = mul(%k, %k)
  %4: i64[]  = add(%3, %k)
  %5: f64[3] = mul(%v, %v)
  %6: f64[3] = add(%5, %v)
  %7: f64[]  = square(%x)
  %8: f64[]  = switch(%t, %x) @no(%x: f64[]) -> f64[] {
    return %x
  } @yes(%x: f64[]) -> f64[] {
    %0: f64[] = mul(%x, %x)
    %1: f64[] = sub(%x, %0)
    return %1
  }
  return %2, %7, %6, %8
}
"""


def test_products_of_numbers_that_a_sum_may_read_are_rounded() -> None:
    step = parse_function(STEP)
    assert products_to_round(step, step.results) == {step.body[1].result, step.body[7].result}
    assert products_to_round(step, ()) == {step.body[1].result}
    rounded = round_products(step)
    (branch,) = [instruction for instruction in rounded.body if instruction.op.name == "switch"]
    assert [op.op.name for op in branch.regions[1].body] == ["mul", "rounded", "sub"]
    assert str(rounded).count("rounded(") == 3
    assert str(round_products(rounded)) == str(rounded)


def test_products_their_negatives_and_views_are_found() -> None:
    function = tj.trace(lambda x, y: (-(x * y)[1:], x + y, x[1:]), tj.ones(3), tj.ones(3))
    assert [may_be_product(result, function.defs) for result in function.results] == [True, False, False]


def test_the_mark_is_left_on_products_that_are_folded_alone() -> None:
    function = parse_function("""
func @f(%x: f64[3], %y: f64[3]) -> (f64[3], f64[], f64[]) {
  %0: f64[3] = mul(%x, %y)
  %1: f64[3] = rounded(%0)
  %2: f64[3] = add(%1, %x)
  %3: f64[3] = square(%x)
  %4: f64[3] = rounded(%3)
  %5: f64[]  = sum(%4) {axes=[0]}
  %6: f64[3] = rounded(%x)
  %7: f64[]  = sum(%6) {axes=[0]}
  return %2, %5, %7
}
""")
    names = [instruction.op.name for instruction in multiply_adds(function).body]
    assert names == ["mul", "add", "square", "rounded", "sum", "sum"]
    everywhere = [instruction.op.name for instruction in multiply_adds(function, everywhere=True).body]
    assert everywhere == ["fma", "square", "sum", "sum"]
