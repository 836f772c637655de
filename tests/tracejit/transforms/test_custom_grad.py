"""``custom_grad`` in the cases that TensorFlow.js documents; the three-line examples; the op in the IR."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.verifier import verify

from .custom_support import NAMES, ORDERS


def cubic(x: Any, save: Any) -> Any:
    """x^2, whose gradient is said to be x^3."""
    save([x])
    return x * x, lambda ct, saved: ct * saved[0] ** 3


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_every_order_of_transforms(name: str, order: int, transform: Any) -> None:
    assert transform(tj.custom_grad(cubic))(tj.tensor(2.0)).item() == [4.0, 8.0, 12.0, 12.0][order]


def test_several_arguments_and_saved_values() -> None:
    def f(x: Any, y: Any, save: Any) -> Any:
        z = tj.exp(x)
        save(z, [y])
        return z * y, lambda ct, saved: [ct * saved[0] * 5, ct * saved[1]]

    g = tj.custom_grad(f)
    for h in (tj.grad(g, (0, 1)), tj.jit(tj.grad(g, (0, 1))), tj.grad(tj.jit(g), (0, 1))):
        by_x, by_y = h(0.0, 3.0)
        assert (by_x.item(), by_y.item()) == (5.0, 3.0)


def test_errors() -> None:
    with pytest.raises(tj.TracejitError, match="custom_grad: expected a function, got int"):
        tj.custom_grad(1)  # type: ignore[arg-type]
    for bad in (lambda x, save: x, lambda x, save: (x, x)):
        with pytest.raises(tj.GradientError, match=r"must return a pair \(value, gradient function\)"):
            tj.custom_grad(bad)(tj.ones(2))
    wrong = tj.custom_grad(lambda x, y, save: (x * y, lambda ct, saved: [ct]))
    with pytest.raises(tj.GradientError, match="must return a tuple of 2 gradients, one per argument, got 1"):
        tj.grad(wrong)(1.0, 2.0)
    with pytest.raises(tj.DTypeError, match="got str at argument"):
        wrong("x", 1.0)
    shape = tj.custom_grad(lambda x, save: ((x * 1).sum(), lambda ct, saved: ct))
    with pytest.raises(tj.ShapeError, match=r"shape \(\), expected \(3,\)"):
        tj.grad(shape)(tj.ones(3))


def test_three_line_examples() -> None:
    reverse = tj.custom_grad(lambda x, save: (x, lambda ct, saved: -ct))
    clip = tj.custom_grad(lambda x, save: (x, lambda ct, saved: tj.clip(ct, -1.0, 1.0)))
    stop = tj.custom_grad(lambda x, save: (x, lambda ct, saved: 0 * ct))
    straight = tj.custom_grad(lambda x, save: (tj.round(x), lambda ct, saved: ct))
    cases = {reverse: (1.7, -6.0), clip: (1.7, 1.0), stop: (1.7, 0.0), straight: (2.0, 6.0)}
    for f, (value, slope) in cases.items():
        for _name, order, transform in ORDERS[:9]:
            g = transform(lambda x, f=f: 6 * f(x))
            assert g(tj.tensor(1.7)).item() == pytest.approx((6 * value, slope)[order])
    assert tj.grad(lambda x: x * tj.stop_gradient(x))(3.0).item() == 3.0


TEXT = """func @f(%x: f64[], %y: f64[]) -> f64[] {
  %0: f64[], %1: f64[] = custom_rule(%x, %y) {name="f", outputs=1, wrt=[0]} @f(%a: f64[], %b: f64[]) -> (f64[], f64[]) {
    %0: f64[] = mul(%a, %b)
    %1: f64[] = exp(%a)
    return %0, %1
  } @f_backward(%a: f64[], %b: f64[], %y0: f64[], %kept0: f64[], %ct0: f64[]) -> f64[] {
    %0: f64[] = mul(%kept0, %ct0)
    return %0
  } @f_primal(%a: f64[], %b: f64[]) -> f64[] {
    %0: f64[] = mul(%a, %b)
    return %0
  }
  return %0
}"""  # noqa: E501


def test_the_op_reads_back_and_is_checked() -> None:
    function = parse_function(TEXT)
    verify(function)
    assert print_function(function) == TEXT
    assert interpret(function, [np.float64(2.0), np.float64(3.0)])[0] == 6.0
    for old, new, message in (
        ("custom_rule(%x, %y)", "custom_rule(%x)", "the parameters of the forward region"),
        (
            "@f_primal(%a: f64[], %b: f64[])",
            "@f_primal(%a: f64[], %b: f64[], %c: f64[])",
            "the primal region",
        ),
        ("outputs=1", "outputs=3", "out of range"),
        ("wrt=[0]", "wrt=[0, 1]", r"must return the types of operands \[0, 1\]"),
    ):
        with pytest.raises(tj.VerificationError, match=message):
            verify(parse_function(TEXT.replace(old, new)))
