"""Products joined with sums: the same value is rounded alike wherever it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes.algebra.multiply_adds import multiply_adds


def _of_a_product(a: Any, b: Any) -> Any:
    product = tj.dot(a, b) * 0.277
    return (tj.abs(product) + 0.1) ** 0.5 - product


@pytest.mark.parametrize("fold", [tj.min, tj.max, tj.median], ids=lambda fold: fold.__name__)
def test_an_extremum_is_among_the_elements_it_was_taken_of(fold: Callable[..., Any]) -> None:
    """The gradient compares them in a nest of its own."""
    a, b = np.ones((2, 1)), np.random.default_rng(12143).normal(size=(1, 2))
    f = tj.grad(lambda a, b: tj.var(fold(_of_a_product(a, b), axis=1)), (0, 1))
    for eager, jitted in zip(f(a, b), tj.jit(f)(a, b), strict=True):
        np.testing.assert_allclose(jitted.numpy(), eager.numpy(), atol=1e-12)


@pytest.mark.parametrize("size", [2, 9, 64, 3000])
@pytest.mark.parametrize(
    "value",
    [
        lambda x, y: x * y - tj.abs(x * y) * 0.3,
        lambda x, y: tj.sqrt(tj.abs(x * 0.277) + 0.1) - x * 0.277,
        lambda x, y: tj.exp(x * y) * 0.7 + y,
        lambda x, y: x * x + y * y - x * y,
    ],
)
def test_every_row_has_its_largest_element(value: Callable[[Any, Any], Any], size: int) -> None:
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=(2, 7, size))

    @tj.jit
    def counts(x: Any, y: Any) -> Any:
        v = value(x, y)
        return tj.sum(v == tj.max(v, axis=1, keepdims=True), axis=1), tj.sum(x * y), v

    assert (counts(x, y)[0].numpy() >= 1).all()


def test_what_several_products_are_taken_from_is_negated_once() -> None:
    function = tj.trace(lambda x, y: (x * 2.5 - y, x * 3.5 - y), tj.ones(3), tj.ones(3))
    joined = multiply_adds(function)
    assert [each.op.name for each in joined.body if each.op.name in ("neg", "fma")] == ["neg", "fma", "fma"]
    assert not any(each.op.name == "mul" for each in joined.body)
    x, y = np.array([0.1, 0.2, 0.3]), np.array([0.25, 4.0, -1.0])
    for before, after in zip(interpret(function, [x, y]), interpret(joined, [x, y]), strict=True):
        np.testing.assert_allclose(before, after, rtol=1e-15)


def _decay(x: Any, steps: Any) -> Any:
    total = 0.5
    for k in range(steps):
        if k < 1000:
            total = total * x + 0.25
    return total


def test_numbers_and_steps_of_loops_are_joined_where_it_is_asked_for() -> None:
    for fastmath in (False, True):
        f = tj.jit(_decay, loops="compiled", fastmath=fastmath)
        assert ("fma(" in str(f.lower(0.75, 40).function)) is fastmath
        np.testing.assert_allclose(f(0.75, 40), _decay(0.75, 40), rtol=1e-14)
        slope = tj.jit(tj.grad(_decay), loops="compiled", fastmath=fastmath)(0.75, 40)
        near = [_decay(0.75 + step, 40) for step in (1e-6, -1e-6)]
        np.testing.assert_allclose(slope, (near[0] - near[1]) / 2e-6, rtol=1e-8)
        line = tj.jit(lambda x, y, z: (x * y + z, x * y - y * x), fastmath=fastmath)
        assert str(line.lower(0.1, 0.2, 0.3).function).count("fma(") == fastmath
        assert line(0.1, 0.2, 0.3)[1] == 0.0


def test_fastmath_is_a_bool() -> None:
    with pytest.raises(tj.TracejitError, match="jit: fastmath must be True or False, got 'contract'"):
        tj.jit(_decay, fastmath="contract")  # type: ignore[call-overload]
