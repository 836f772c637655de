"""Gradients where functions are not smooth: ties, zeros, bounds, infinities, duplicate indices, broadcasting.

Each expectation is written out; the conventions are those of ir/ops (a tie shares equally, abs and sign have
slope 0 at 0, clip slope 1 on its bounds), which are JAX's and PyTorch's save where noted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.ir.builder import Builder
from tracejit.ir.dtypes import FLOAT64, INT64
from tracejit.ir.graph import Function
from tracejit.ir.registry import OPS
from tracejit.ir.transforms.differentiation import gradient, inline
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify

from ..support import Array, function_of, interpret, native

INF, NAN = np.inf, np.nan


def total(b: Any, value: Any) -> Any:
    return b.sum(value, axes=tuple(range(len(value.shape))))


def summed(name: str, operands: list[Array], **attrs: Any) -> Function:
    """The sum of all elements of op `name` on `operands`."""
    return function_of(name, operands, lambda b, *xs: total(b, getattr(b, name)(*xs, **attrs)))


def gradients(function: Function, arrays: list[Array]) -> list[Any]:
    """Gradients by every floating argument, interpreted, and checked to be the same natively."""
    wrt = [i for i, array in enumerate(arrays) if array.dtype == FLOAT64]
    derived = gradient(function, wrt)
    verify(derived)
    results = interpret(derived, arrays)
    for got, want in zip(native(derived, arrays), results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-300)
    return [result.tolist() for result in results[1:]]


def second(function: Function, arrays: list[Array]) -> list[Any]:
    """The row sums of the Hessian with respect to the first argument."""
    first, b = gradient(function, [0]), Builder()
    params = [b.parameter(param.type) for param in first.params]
    _, slope = inline(b, first, params)
    return gradients(b.finish("slope", [total(b, slope)]), arrays)[0]  # type: ignore[no-any-return]


def f(*values: float) -> Array:
    return np.array(values, np.float64)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("maximum", [f(1, 2, 3), f(1, 3, 2)], [[0.5, 0, 1], [0.5, 1, 0]]),
        ("minimum", [f(1, 2, 3), f(1, 3, 2)], [[0.5, 1, 0], [0.5, 0, 1]]),
        ("maximum", [f(0.0, INF), f(-0.0, INF)], [[0.5, 0.5], [0.5, 0.5]]),
        ("fmax", [f(1, NAN, 2), f(1, 2, NAN)], [[0.5, 0, 1], [0.5, 1, 0]]),
        ("fmin", [f(1, NAN, 2), f(1, 2, NAN)], [[0.5, 0, 1], [0.5, 1, 0]]),
        ("abs", [f(0.0, -0.0, 2, -2)], [[0, 0, 1, -1]]),
        ("sign", [f(0.0, -3, 3)], [[0, 0, 0]]),
        ("sqrt", [f(0.0, 4)], [[INF, 0.25]]),
        ("cbrt", [f(0.0, -8)], [[INF, 1 / 12]]),
        ("square", [f(0.0)], [[0]]),
        ("hypot", [f(0.0, 3), f(0.0, 4)], [[0, 0.6], [0, 0.8]]),
        ("atan2", [f(0.0, 1), f(0.0, 1)], [[0, 0.5], [0, -0.5]]),
        ("atan2", [f(1e-200, 1e200), f(1e-200, 1e200)], [[5e199, 5e-201], [-5e199, -5e-201]]),
        ("log", [f(0.0)], [[INF]]),
        ("logaddexp", [f(2, 3), f(2, 3)], [[0.5, 0.5], [0.5, 0.5]]),
        ("logaddexp", [f(INF, -INF, 0), f(0, 0, INF)], [[1, 0, 0], [0, 1, 1]]),
        ("logaddexp2", [f(2, -INF), f(2, 1)], [[0.5, 0], [0.5, 1]]),
        ("pow", [f(0, 0, 0, 0), f(0, 1, 2, 3)], [[0, 1, 0, 0], [0, 0, 0, 0]]),
        ("pow", [f(0.0), f(0.5)], [[INF], [0]]),
        ("clip", [f(-2, -1, 0, 1, 2), f(*[-1] * 5), f(*[1] * 5)],
         [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]),
        ("clip", [f(0, 5), f(2, 2), f(1, 1)], [[0, 0], [0, 0], [1, 1]]),
        ("floor", [f(1.0, -1.5)], [[0, 0]]),
        ("heaviside", [f(-1, 0, 1), f(5, 5, 5)], [[0, 0, 0], [0, 1, 0]]),
        ("copysign", [f(2, -2, 2), f(1, 1, -1)], [[1, -1, -1], [0, 0, 0]]),
        ("div", [f(1.0), f(0.0)], [[INF], [-INF]]),
        ("tanh", [f(0, 1000, -1000)], [[1, 0, 0]]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_elementwise(name: str, operands: list[Array], expected: list[list[float]]) -> None:
    np.testing.assert_allclose(gradients(summed(name, operands), operands), expected, rtol=1e-14)


def test_logaddexp_of_two_negative_infinities_is_not_nan() -> None:
    """log(0 + 0): PyTorch and naive rules give NaN, which then spoils a whole parameter vector."""
    operands = [f(-INF), f(-INF)]
    assert np.isfinite(gradients(summed("logaddexp", operands), operands)).all()


@pytest.mark.parametrize(("name", "winner"), [("max", 3.0), ("min", -3.0)])
def test_tied_extrema_share(name: str, winner: float) -> None:
    x = np.array([[winner, 0, winner, winner], [0, 1, winner, -1]])
    assert gradients(summed(name, [x], axes=(1,)), [x]) == [[[1 / 3, 0, 1 / 3, 1 / 3], [0, 0, 1, 0]]]
    assert gradients(summed(name, [x], axes=(0, 1)), [x]) == [[[0.25, 0, 0.25, 0.25], [0, 0, 0.25, 0]]]


def test_max_of_infinities() -> None:
    x = f(-INF, -INF)
    assert gradients(summed("max", [x], axes=(0,)), [x]) == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("values", "first", "hessian"),
    [
        ((2, 3, 4), [12, 8, 6], [7, 6, 5]),
        ((0, 3, 4), [12, 0, 0], [7, 4, 3]),
        ((0, 0, 4), [0, 0, 0], [4, 4, 0]),
        ((0, 0, 0), [0, 0, 0], [0, 0, 0]),
        ((5,), [1], [0]),
    ],
)
def test_prod_with_zeros(values: Any, first: Any, hessian: Any) -> None:
    """Slopes are products of the others, second slopes of all but two: 0 is no special case."""
    x = f(*values)
    assert gradients(summed("prod", [x], axes=(0,)), [x]) == [first]
    assert second(summed("prod", [x], axes=(0,)), [x]) == hessian


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("abs", [f(0, 1)], [0, 0]),
        ("square", [f(0, 1)], [2, 2]),
        ("pow", [f(0, 0, 0, 0), f(0, 1, 2, 3)], [0, 0, 2, 0]),
        ("logaddexp", [f(2), f(2)], [0.25]),
        ("maximum", [f(1), f(1)], [0]),
        ("log", [f(2)], [-0.25]),
        ("where", [np.array([True, False]), f(1, 2), f(3, 4)], None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_second_order_at_kinks(name: str, operands: list[Array], expected: Any) -> None:
    if name == "where":  # linear: the second slope of x^2 chosen by the condition
        function = function_of(
            "w", operands[1:2], lambda b, x: total(b, b.where(b.gt(x, 1.5), b.square(x), x))
        )
        assert second(function, operands[1:2]) == [0, 2]
        return
    np.testing.assert_allclose(second(summed(name, operands), operands), expected, rtol=1e-14)


def test_where_keeps_what_is_not_chosen_out() -> None:
    condition, x, y = np.array([True, False]), f(1, NAN), f(INF, 2)
    assert gradients(summed("where", [condition, x, y]), [condition, x, y]) == [[1, 0], [0, 1]]


@pytest.mark.parametrize(("mode", "value"), [("set", [0, 1, 1]), ("add", [1, 1, 1])])
def test_scatter_with_duplicates(mode: str, value: Any) -> None:
    """The last one of several writes to one place counts; every one of several additions does."""
    x, v, i = f(1, 2, 3), f(10, 20, 30), np.array([0, 0, 2])
    expected = [[0, 1, 0] if mode == "set" else [1, 1, 1], value]
    assert gradients(summed("scatter", [x, v, i], mode=mode), [x, v, i]) == expected


@pytest.mark.parametrize(
    ("mode", "of_x", "of_v"),
    [("max", [0, 1, 0], [0.5, 0.5, 1]), ("min", [1, 1, 1], [0, 0, 0]), ("mul", [400, 1, 30], [20, 20, 3])],
)
def test_scatter_reduce_with_duplicates(mode: str, of_x: Any, of_v: Any) -> None:
    """Equal extrema share, factors get the product of the others."""
    x, v, i = f(1, 2, 3), f(20, 20, 30), np.array([0, 0, 2])
    assert gradients(summed("scatter_reduce", [x, v, i], mode=mode), [x, v, i]) == [of_x, of_v]


def test_scatter_reduce_of_zeros() -> None:
    """One zero among the factors gets the product of the others, of two zeros none does."""
    x, v, i = f(2, 3), f(0, 5, 0, 0), np.array([0, 0, 1, 1])
    expected = [[0, 0], [10, 0, 0, 0]]
    assert gradients(summed("scatter_reduce", [x, v, i], mode="mul"), [x, v, i]) == expected


def test_scatter_duplicates_through_negative_indices() -> None:
    """-3 and 0 are one place."""
    x, v, i = f(1, 2, 3), f(10, 20), np.array([0, -3])
    assert gradients(summed("scatter", [x, v, i], mode="set"), [x, v, i]) == [[0, 1, 1], [0, 1]]


def test_gather_adds_up_duplicates() -> None:
    x, i = f(1, 2, 3), np.array([[0, 0], [-1, 0]])
    assert gradients(summed("gather", [x, i]), [x, i]) == [[3, 0, 1]]


def test_update_replaces() -> None:
    x, v = f(1, 2, 3, 4), f(7, 8)
    attrs = {"start": (3,), "step": (-2,)}
    assert gradients(summed("update", [x, v], **attrs), [x, v]) == [[1, 0, 1, 0], [1, 1]]


def test_broadcasting_sums_back() -> None:
    x, y, z = np.ones((3, 1)), np.arange(4.0), np.array(2.0)
    function = function_of("f", [x, y, z], lambda b, x, y, z: total(b, b.mul(b.mul(x, y), z)))
    assert gradients(function, [x, y, z]) == [[[12.0]] * 3, [6.0] * 4, 18.0]


def test_broadcast_of_nothing() -> None:
    x = f(1)
    function = function_of("f", [x], lambda b, x: total(b, b.broadcast(x, shape=(0,))))
    assert gradients(function, [x]) == [[0]]


def test_empty_and_unused_parameters_have_zero_gradients() -> None:
    x, y = np.ones((0, 3)), f(1, 2)
    function = function_of("f", [x, y], lambda b, x, y: total(b, x))
    assert gradients(function, [x, y]) == [[], [0, 0]]


def test_integers_in_between_carry_no_gradient() -> None:
    x = f(1.5, 2.5)
    function = function_of("f", [x], lambda b, x: total(b, b.mul(x, b.cast(x, dtype=INT64))))
    assert gradients(function, [x]) == [[1, 2]]


def test_result_that_is_a_parameter() -> None:
    b = Builder()
    x = b.parameter(TensorType(FLOAT64, ()), "x")
    assert gradients(b.finish("id", [x]), [np.array(3.0)]) == [1.0]


def test_one_value_used_many_times() -> None:
    x = np.array(3.0)
    assert gradients(function_of("f", [x], lambda b, x: b.mul(b.mul(x, x), b.add(x, x))), [x]) == [54.0]


@pytest.mark.parametrize("name", [op.name for op in OPS if op.finite_gradient])
def test_gradients_that_are_said_to_be_finite(name: str) -> None:
    """Gradients at zeros, negative numbers and both ends of the range, each by each: vmap of branches trusts
    it."""
    edges = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, -1e-300, 1.7e308, -1.7e308])
    pairs = [part.ravel() for part in np.meshgrid(edges, edges)]
    operands: list[Array] = [pairs[0], pairs[1]][: len(OPS[name].params)]
    if name == "where":
        operands = [pairs[0] > 0, *pairs]
    attrs = {"dtype": FLOAT64} if name == "cast" else {}
    # a weight keeps the sum from overflowing, of which nothing is asked
    function = function_of(
        "weighted",
        operands,
        lambda b, *xs: total(b, b.mul(getattr(b, name)(*xs, **attrs), weight(b, pairs[0].size))),
    )
    slopes = gradients(function, operands)
    assert slopes
    assert all(np.isfinite(slope).all() for slope in slopes)


def weight(b: Any, size: int) -> Any:
    return b.full(value=2.0**-200, shape=(size,), dtype=FLOAT64)


def test_other_gradients_are_not_finite_everywhere() -> None:
    """Counterexamples to the ops above."""
    for name in ("sqrt", "log", "div", "reciprocal"):
        assert not OPS[name].finite_gradient
