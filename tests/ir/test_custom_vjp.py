"""``custom_vjp``: its result is its first region's, its gradient its second region's."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.base.errors import VerificationError
from tracejit.ir.passes import OPTIMIZE, run_passes
from tracejit.ir.text.parser import parse_function
from tracejit.ir.transforms.differentiation import gradient, split_pullback
from tracejit.ir.verifier import verify

from ..support import interpret, native

#: x^2 y, with 100 in place of the derivative with respect to x, and none with respect to y.
TEXT = """
func @f(%x: f64[], %y: f64[]) -> f64[] {
  %0: f64[], %1: f64[] = custom_vjp(%x, %y) {name="odd", outputs=1, wrt=[0]}
      @odd(%a: f64[], %b: f64[]) -> (f64[], f64[]) {
        %0: f64[] = mul(%a, %a)
        %1: f64[] = mul(%0, %b)
        return %1, %0
      } @odd_backward(%a: f64[], %b: f64[], %r: f64[], %s: f64[], %ct: f64[]) -> f64[] {
        %0: f64[] = full() {value=100.0, shape=[], dtype=f64}
        %1: f64[] = mul(%0, %ct)
        %2: f64[] = mul(%1, %s)
        return %2
      }
  %2: f64[] = mul(%0, %x)
  return %2
}
"""
X, Y = np.array(2.0), np.array(5.0)


def test_result_and_gradient() -> None:
    function = parse_function(TEXT)
    verify(function)
    assert str(parse_function(str(function))) == str(function)
    for run in (interpret, native):
        assert run(function, [X, Y])[0] == 40.0
        value, dx, dy = run(gradient(function, [0, 1]), [X, Y])
        # x * odd(x, y): odd + x * (100 * s), where s = x^2 is the second result of the region
        assert (value, dx, dy) == (40.0, 20.0 + 2.0 * 100.0 * 4.0, 0.0)


def test_split_for_backward() -> None:
    split = split_pullback(parse_function(TEXT), [0])
    verify(split.forward)
    verify(split.backward)
    outputs = interpret(split.forward, [X, Y])
    (dx,) = interpret(split.backward, [*outputs[1:], np.array(1.0)])
    assert dx == 820.0


def test_second_order_differentiates_the_backward_region() -> None:
    function = parse_function(TEXT.replace("mul(%0, %x)", "mul(%0, %y)"))
    first = gradient(function, [0])  # y * 100 * s: linear in y; s is a result, constant to the rule
    second = gradient(type(first)("g", first.params, first.body, first.results[1:]), [1])
    assert interpret(second, [X, Y]) == [2000.0, 400.0]


def test_it_is_gone_after_decompose() -> None:
    function = run_passes(parse_function(TEXT), OPTIMIZE)
    assert [instruction.op.name for instruction in function.body] == ["mul", "mul", "mul"]
    assert interpret(function, [X, Y])[0] == 40.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("outputs=1", "outputs=3", "outputs=3 or wrt=.* is out of range"),
        ("wrt=[0]", "wrt=[2]", r"wrt=\[2\] is out of range"),
        ("wrt=[0]", "wrt=[0, 1]", r"must return the types of operands \[0, 1\]"),
        ("outputs=1", "outputs=2", "the parameters of the backward region"),
        ("custom_vjp(%x, %y)", "custom_vjp(%x)", "the parameters of the forward region"),
    ],
)
def test_what_the_verifier_finds(old: str, new: str, message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        verify(parse_function(TEXT.replace(old, new)))
