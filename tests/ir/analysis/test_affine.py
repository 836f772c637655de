"""Affine forms of indices, and whether accesses of steps meet: against all steps one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tracejit.ir.analysis.affine import AffineValues
from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import INT64
from tracejit.ir.interpreter import interpret


@pytest.mark.parametrize("seed", range(30))
def test_forms_are_what_the_ops_compute(seed: int) -> None:
    rng = random.Random(seed)
    b = Builder()
    values = [b.iota(shape=(4, 5), axis=rng.randint(0, 1), dtype=INT64)]
    for _ in range(5):
        x, y = rng.choice(values), rng.choice(values)
        values.append(
            rng.choice(
                [
                    lambda x=x, y=y: b.add(x, y),
                    lambda x=x, y=y: b.sub(x, y),
                    lambda x=x: b.mul(x, rng.randint(-3, 3)),
                    lambda x=x: b.neg(x),
                    lambda x=x: b.add(x, rng.randint(-9, 9)),
                    lambda x=x: b.slice(x, start=(3, 0), size=(4, 5), step=(-1, 1)),
                ]
            )()
        )
    function = b.finish("f", [values[-1]])
    defs = {result: step for step in function.body for result in step.results}
    form = AffineValues(defs).of(values[-1])
    assert form is not None
    (expected,) = interpret(function, [])
    rows, columns = np.indices((4, 5))
    np.testing.assert_array_equal(form.constant + form.axes[0] * rows + form.axes[1] * columns, expected)
    assert form.bounds((4, 5), 1) == (expected.min(), expected.max())


def test_products_and_unknown_numbers_are_not_affine() -> None:
    b = Builder()
    x = b.iota(shape=(4,), axis=0, dtype=INT64)
    y = b.mul(x, x)
    z = b.remainder(x, 3)
    values = AffineValues({result: step for step in b.body for result in step.results})
    assert values.of(y) is None
    assert values.of(z) is None
