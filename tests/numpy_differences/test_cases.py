"""Cases that once differed: the same in NumPy, eagerly, jitted and under vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import DTypeError, GradientError

from .allowed import zero_signs_count
from .oracle import Call, difference, eager_outcome, jitted_outcome, numpy_outcome, outcome

U8 = np.array([3, 7, 9], np.uint8)
U64 = np.array([0, 2**63, 2**64 - 1], np.uint64)
ZEROS = np.array([-0.0])
SCALAR = np.array(3.0)
TABLE = np.arange(24.0).reshape(2, 3, 4)

REDUCTIONS = ["sum", "prod", "min", "max", "all", "any", "ptp", "count_nonzero", "argmax", "argmin"]
REDUCTIONS += ["cumsum", "cumprod", "argsort"]

CASES: dict[str, tuple[Any, ...]] = {
    "where with an integer that does not fit": (lambda xp, x: xp.where(x > 5, x, -1), U8),
    "where with an integer that is too large": (lambda xp, x: xp.where(x > 5, 300, x), U8),
    "where with a float": (lambda xp, x: xp.where(x > 5, x, 2.5), U8),
    "sum of -0.0": (lambda xp, x: xp.sum(x), ZEROS),
    "sum over no axes": (lambda xp, x: xp.sum(x, axis=()), ZEROS),
    "mean of -0.0": (lambda xp, x: xp.mean(x), ZEROS),
    "sum of narrow rows of -0.0": (lambda xp, x: xp.sum(x * 1.0, axis=-1), np.full((600, 3), -0.0)),
    "sum over an axis of one": (lambda xp, x: xp.sum(x, axis=(0, 2)), np.full((1, 4, 1), -0.0)),
    "sum of a constant -0.0": (lambda xp, x: xp.sum(xp.full((1, 3), -0.0), axis=0) + x, -np.zeros(3)),
    "running sum of -0.0": (lambda xp, x: xp.cumsum(x), np.array([-0.0, -0.0, 1.0])),
    "running sum of long lines of -0.0": (lambda xp, x: xp.cumsum(x, axis=1), np.full((3, 100), -0.0)),
    "running sum of columns of -0.0": (lambda xp, x: xp.cumsum(x, axis=0), np.full((3, 100), -0.0)),
    "outer with a number": (lambda xp, x: xp.outer(x, 2), np.ones(3, np.float32)),
    "dot with a number": (lambda xp, x: xp.dot(x, 2), np.ones(3, np.float32)),
    "median of nothing": (lambda xp, x: xp.median(x), np.zeros(0)),
    "median of empty rows": (lambda xp, x: xp.median(x, axis=1, keepdims=True), np.zeros((2, 0))),
    "mean in integers": (lambda xp, x: xp.mean(x, dtype=xp.int64), np.array([1, 2, -4])),
    "ldexp by bools": (lambda xp, x: xp.ldexp(x, np.array([True, False])), np.array([1.0, 2.0])),
    "average over axes": (lambda xp, x: xp.average(x, axis=(0, 1), weights=x), TABLE),
    "average by a table": (lambda xp, x: xp.average(x, axis=(2, 0), weights=x[:, 0, :].T), TABLE + 1.0),
    "empty mask": (lambda xp, x: x[np.zeros(0, bool)], np.zeros((0, 2))),
    "empty mask of an axis that is not": (lambda xp, x: x[np.zeros(0, bool)], np.ones((3, 2))),
    "empty mask of two axes": (lambda xp, x: x[np.zeros((3, 0), bool)], np.ones((3, 2))),
    "repeat of a scalar": (lambda xp, x: xp.repeat(x, 3, axis=0), SCALAR),
    "no differences": (lambda xp, x: xp.diff(x, n=0, prepend=0), np.arange(3.0)),
    "einsum with lists": (lambda xp, x: xp.einsum(x, [0, 1], x, [2, 1], [0, 2]), TABLE[0]),
    "einsum with lists, implicit": (lambda xp, x: xp.einsum(x, [1, 0]), TABLE[0]),
    "einsum with lists and an ellipsis": (lambda xp, x: xp.einsum(x, [0, ...], [..., 0]), TABLE),
    "comparison of u64 and i64": (lambda xp, x: x < np.array([-1, 5, 2**62]), U64),
    "comparison of u64 and i64, turned": (lambda xp, x: np.array([-1, 5, 2**62]) >= x, U64),
    "comparison of u64 with a large number": (lambda xp, x: x < 2**64, U64),
    "comparison of i64 with a large number": (lambda xp, x: x >= 2**63, np.array([2**63 - 1])),
    "quantile of integers": (lambda xp, x: xp.quantile(x, 0.5, method="lower"), U8),
    "quantile of float32": (lambda xp, x: xp.quantile(x, [0.25, 0.5]), np.arange(4, dtype=np.float32)),
    "take by bools": (lambda xp, x: xp.take(x, True, axis=0), TABLE),
    "searchsorted of a negative number": (lambda xp, x: xp.searchsorted(x, -2), U8),
    "square root": (lambda xp, x: x**0.5, np.array([-0.0, -np.inf, 4.0])),
    "squeeze of a scalar": (lambda xp, x: xp.squeeze(x, axis=-1), SCALAR),
    "lexsort of scalars": (lambda xp, x: xp.lexsort((x, x)), SCALAR),
    **{
        f"{name} of a scalar along {axis}": (
            lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis=axis),
            SCALAR,
        )
        for name in [
            "sum",
            "prod",
            "min",
            "max",
            "all",
            "any",
            "ptp",
            "argmax",
            "argmin",
            "cumsum",
            "cumprod",
            "argsort",
            "count_nonzero",
        ]
        for axis in (0, -1)
    },
    **{
        f"take of a scalar along {axis}": (lambda xp, x, axis=axis: xp.take(x, [0, 0], axis=axis), SCALAR)
        for axis in (0, -1)
    },
    "list of NumPy's scalars": (
        lambda xp, x: xp.array([np.float32(1), np.float32(2)]) + x,
        np.float32([1, 2]),
    ),
    "shape as an array": (lambda xp, x: xp.zeros(np.array([2, 3])) + x, SCALAR),
    "reshape by an array": (lambda xp, x: xp.reshape(x, np.array([4, 6])), TABLE),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_in_each_mode(name: str) -> None:
    run, x = CASES[name]
    call = Call(name, run, (x,))
    expected = numpy_outcome(call)
    assert not isinstance(expected, Exception)
    assert not difference(call, eager_outcome(call), expected)
    assert not difference(call, jitted_outcome(call), expected)
    mapped = outcome(lambda: tj.vmap(lambda x: run(tj, x))(np.stack([x, x]))[1])
    assert not difference(call, mapped, expected)


@pytest.mark.parametrize("number", [-1, 5, 2**62])
def test_u64_compares_with_an_argument_by_value(number: int) -> None:
    eager = tj.tensor(U64) > number
    np.testing.assert_array_equal(tj.jit(lambda x, n: x > n)(U64, number), eager)
    np.testing.assert_array_equal(eager, number < U64)


def test_where_takes_over_an_argument() -> None:
    jitted = tj.jit(lambda x, n: tj.where(x > 5, x, n))
    for number in (-1, 300, 4):
        np.testing.assert_array_equal(jitted(U8, number), np.where(U8 > 5, U8, number))


def test_embedding_wants_integers_in_both_modes() -> None:
    weight = tj.ones((3, 2))
    lookup = lambda indices: tj.nn.embedding(indices, weight)  # noqa: E731
    for run in (lookup, tj.jit(lookup)):
        with pytest.raises(DTypeError, match="indices must be integers"):
            run(tj.zeros(0))
    assert lookup([]).shape == tj.jit(lambda: lookup([]))().shape == (0, 2)


def test_gradients_want_inputs_and_scalars() -> None:
    x = tj.ones(2, requires_grad=True)
    with pytest.raises(GradientError, match="inputs must not be empty"):
        tj.autograd.grad((x * 2.0).sum(), [])
    of_one_element = tj.grad(lambda x: x.sum(keepdims=True))
    for run in (of_one_element, tj.jit(of_one_element)):
        with pytest.raises(GradientError, match="must return a floating scalar"):
            run(np.ones(2))


@pytest.mark.parametrize("number", [True, False, 3])
@pytest.mark.parametrize(
    "compute",
    [lambda n: n + n, lambda n: -n, lambda n: n * 2, lambda n: n - n, lambda n: n**2, lambda n: n / 2, abs],
)
def test_arguments_that_are_bools_compute_as_integers(compute: Any, number: Any) -> None:
    x = np.array([1, -2, 3], np.int8)
    eager = tj.asarray(x) * compute(number)
    jitted = tj.jit(lambda x, n: x * compute(n))(x, number)
    assert jitted.dtype == eager.dtype
    np.testing.assert_array_equal(jitted, eager)


def test_arguments_are_to_fit_where_they_are_written() -> None:
    x = np.array([1, -2, 3], np.int8)

    def written(x: Any, n: Any) -> Any:
        x = x.copy()
        x[0] = n
        return x

    for function in (written, tj.full_like):
        np.testing.assert_array_equal(tj.jit(function)(x, 7), function(tj.asarray(x), 7))
        with pytest.raises(DTypeError, match="does not fit"):
            function(tj.asarray(x), 300)
        with pytest.raises((DTypeError, OverflowError), match="does not fit"):
            tj.jit(function)(x, 300)


@pytest.mark.parametrize("number", [2, -1, 0.5, True])
@pytest.mark.parametrize(
    "name",
    ["stack", "concatenate", "asarray", "outer", "dot", "linspace", "quantile", "searchsorted", "clip"],
)
@pytest.mark.parametrize("dtype", ["i1", "u8", "f4", "?"])
def test_numbers_as_arguments_are_numbers(name: str, number: Any, dtype: str) -> None:
    """A Python number gives what NumPy gives, written down and as an argument of a jitted function."""
    uses: dict[str, Any] = {
        "stack": lambda xp, x, n: xp.stack([x[0], n]),
        "concatenate": lambda xp, x, n: xp.concatenate([x, [n]]),
        "asarray": lambda xp, x, n: xp.asarray(n) * x,
        "outer": lambda xp, x, n: xp.outer(x, n),
        "dot": lambda xp, x, n: xp.dot(x, n),
        "linspace": lambda xp, x, n: xp.linspace(x, n, 3),
        "quantile": lambda xp, x, n: xp.quantile(x * 1.0, n if n == 0.5 else 0.25),
        "searchsorted": lambda xp, x, n: xp.searchsorted(x, n),
        "clip": lambda xp, x, n: xp.clip(x, None, 300) + xp.clip(x, n, 127),
    }
    use, x = uses[name], np.array([0, 1, 1], dtype)
    call = Call(name, lambda xp, x: use(xp, x, number), (x,))
    expected = numpy_outcome(call)
    signs = zero_signs_count(call)
    assert not difference(call, eager_outcome(call), expected, zero_signs=signs)
    if not isinstance(expected, Exception):
        jitted = outcome(lambda: tj.jit(lambda x, n: use(tj, x, n))(x, number))
        assert not difference(call, jitted, expected, zero_signs=signs)
