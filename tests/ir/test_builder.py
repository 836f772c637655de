"""Operands of elementwise ops in a Builder and in a trace: planned once for their types."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, TracejitError
from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import FLOAT32, FLOAT64, INT64
from tracejit.ir.types import TensorType


def names(builder: Builder) -> list[str]:
    return [instruction.op.name for instruction in builder.body]


def test_equal_operands_are_planned_alike() -> None:
    builder = Builder()
    x = builder.parameter(TensorType(FLOAT64, (3,)))
    n = builder.parameter(TensorType(INT64, ()))
    first = [builder.add(x, 1.5), builder.mul(n, x)]
    before = names(builder)
    second = [builder.add(x, 1.5), builder.mul(n, x)]
    assert names(builder) == 2 * before
    assert [value.type for value in first] == [value.type for value in second] == [x.type, x.type]


def test_kinds_of_numbers_are_told_apart() -> None:
    builder = Builder()
    n = builder.parameter(TensorType(INT64, ()))
    types = [str(builder.add(n, number).type) for number in (1, 1.0, True, 1j, 1, 1.0)]
    assert types == ["i64[]", "f64[]", "i64[]", "c128[]", "i64[]", "f64[]"]


def test_an_integer_that_does_not_fit_is_refused_each_time() -> None:
    builder = Builder()
    small = builder.parameter(TensorType(np.dtype("int8"), ()))
    assert builder.add(small, 100).dtype == np.int8
    for _ in range(2):
        with pytest.raises(DTypeError, match="does not fit"):
            builder.add(small, 1000)


def test_comparisons_go_by_the_value_of_an_integer() -> None:
    x = np.array([1, 2, 3], np.int8)
    compared = tj.jit(lambda x: (x < 2, x < 1000, x < 2, x > -1000))(x)
    assert [each.tolist() for each in compared] == [
        [True, False, False],
        [True] * 3,
        [True, False, False],
        [True] * 3,
    ]


def test_plans_follow_the_default_dtype() -> None:
    def traced() -> str:
        return str(tj.trace(lambda x, n: x * n + 0.5, 2.0, 3).results[0].type)

    wide = traced()
    tj.set_default_dtype(tj.float32)
    try:
        narrow = traced()
    finally:
        tj.set_default_dtype(tj.float64)
    assert (wide, narrow, traced()) == ("f64[]", "f32[]", "f64[]")


def test_arguments_that_are_numbers_stay_weak() -> None:
    x = np.ones(2, np.float32)
    f = tj.jit(lambda x, y, number: (x * number, y * number, number * number * x))
    assert [result.dtype for result in f(x, x.astype("f8"), 3.0)] == [FLOAT32, FLOAT64, FLOAT32]


def test_operands_of_the_wrong_kind_are_named() -> None:
    builder = Builder()
    x = builder.parameter(TensorType(FLOAT64, (3,)))
    with pytest.raises(TracejitError, match="matmul: expected a Value"):
        builder.matmul(x, 1.0)
