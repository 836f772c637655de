"""Constants in loop nests."""

from __future__ import annotations

import math

import numpy as np

import tracejit as tj
from tracejit.codegen.lowering.loop_nest import NestConstant


def test_zeros_of_both_signs_stand_side_by_side() -> None:
    def program(x):
        magnitude = tj.maximum(abs(x), 0.0)
        return tj.full((3,), -0.0) * tj.where(magnitude > 1.0, magnitude, 2.0)

    result = np.asarray(tj.jit(program)(np.array([4.0, 0.5, -3.0])))
    assert np.signbit(result).all()


def test_a_real_number_is_on_the_upper_side_of_a_branch_cut() -> None:
    x = np.array([-4.0, 4.0, 2.0])
    for name in ("arccos", "arcsin", "arctanh", "sqrt", "log", "arccosh", "arcsinh"):
        result = tj.jit(lambda x, name=name: getattr(tj, name)(x.astype(complex)))(x)
        np.testing.assert_allclose(result, getattr(np, name)(x.astype(complex)), rtol=1e-13, atol=1e-15)


def test_numbers_that_compare_equal_are_several_constants() -> None:
    numbers = (0.0, -0.0, 1, True, 1.0, math.nan)
    constants = {NestConstant(number, "f64") for number in (*numbers, *numbers)}
    assert len(constants) == len(numbers)
    assert NestConstant(math.nan, "f64") == NestConstant(float("nan"), "f64")
    assert hash(NestConstant(math.nan, "f64")) == hash(NestConstant(float("nan"), "f64"))
    assert NestConstant(2.0, "f64") != NestConstant(2.0, "f32")
