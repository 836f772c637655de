"""Arrays of draws, orders and samples: NumPy's numbers, in functions and in loops."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .programs import state_of

GENERATOR = [
    "random(5)", "random((2, 3))", "random(0)", "random(size=(0, 2))", "normal(size=[4])",
    "normal(x, 2.0, 3)", "normal([0.0, 1.0, 2.0], [[1.0], [2.0]])", "normal(y, 1.0)",
    "normal(y, 1.0, (2, 4))", "uniform(-1, y)", "exponential(2.0, 5)", "standard_normal(np.int64(6))",
    "standard_exponential(3)", "integers(5, size=7)", "integers(0, [3, 4, 5])", "integers(2**40, size=3)",
    "integers(n, n + counts + 1)", "integers(counts + 1)", "integers(-2**63, 2**63 - 1, size=4)",
    "gamma(x, size=6)", "gamma(y, 2.0)", "standard_gamma(0.7, 3)", "poisson(25.0, size=9)", "poisson(y)",
    "binomial(10, 0.3, size=8)", "binomial(counts, x)", "permutation(7)", "permutation(0)",
    "permutation(-2)", "permutation(y)", "permutation(square)", "choice(7, 3)", "choice(y)", "choice(y, 2)",
    "choice(square, 5)", "choice(5, 3, replace=False)", "choice(100, 80, False)",
    "choice(100, 80, False, shuffle=False)", "choice(20_000, 1000, False)", "choice(20_000, 3, False)",
    "choice(y, (2, 2), replace=False)", "choice(4, replace=False)", "choice(y, p=weights)",
    "choice(y, 9, p=weights)", "choice(4, (2, 3), p=[0.1, 0.2, 0.3, 0.4])", "permutation(square, 1)",
]  # fmt: skip
RANDOM_STATE = [
    "rand(3)", "rand(2, 3)", "randn(2, 2)", "random_sample((2,))", "normal(size=4)", "uniform(2, y)",
    "exponential(2.0, 5)", "standard_exponential(3)", "randint(5, size=7)", "randint(0, 2**40, 3)",
    "randint(counts + 1)", "gamma(y, 2.0)", "poisson(3.0, 4)", "binomial(10, 0.3, 5)",
    "binomial(counts, 0.5)", "permutation(9)", "permutation(square)", "choice(7, 3)",
    "choice(7, 3, replace=False)", "choice(y, 3)", "choice(4, 6, p=weights)",
]  # fmt: skip


def arguments() -> tuple[Any, ...]:
    counts = np.arange(4) * 30
    return 0.5, 11, np.arange(4) * 1.5, counts, np.arange(12.0).reshape(4, 3), np.array([0.1, 0.2, 0.3, 0.4])


def made(call: str, tmp_path: Any, before: str = "return ") -> Any:
    path = tmp_path / "calls.py"
    text = f"def f(x, n, y, counts, square, weights, rng):\n    {before}rng.{call}\n"
    path.write_text(text)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, str(path), "exec"), names)
    return names["f"]


@pytest.mark.parametrize(
    ("call", "make"),
    [*[(call, np.random.default_rng) for call in GENERATOR],
     *[(call, np.random.RandomState) for call in RANDOM_STATE]],
)  # fmt: skip
def test_arrays_are_numpys(call: str, make: Any, tmp_path: Any) -> None:
    function, ours, theirs = made(call, tmp_path), make(3), make(3)
    compiled = tj.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            result, expected = compiled(*arguments(), ours), function(*arguments(), theirs)
            np.testing.assert_array_equal(np.asarray(result), expected)
            assert np.asarray(result).dtype == np.asarray(expected).dtype
            assert np.shape(result) == np.shape(expected)
    assert state_of(ours) == state_of(theirs)


@pytest.mark.parametrize(
    "call", ["shuffle(y)", "shuffle(square)", "shuffle(square[::2])", "shuffle(square.T)"]
)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_arguments_are_shuffled_in_place(call: str, make: Any, tmp_path: Any) -> None:
    function, ours, theirs = made(call, tmp_path, ""), make(3), make(3)
    compiled = tj.jit(function)
    for _ in range(3):
        given, expected = arguments(), arguments()
        compiled(*given, ours)
        function(*expected, theirs)
        for one, other in zip(given, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert state_of(ours) == state_of(theirs)


@pytest.mark.parametrize(
    "call",
    ["random(-1)", "random(2.0)", "normal(y, size=3)", "normal(y, [1.0, 2.0])", "choice(0)",
     "choice(3, 4, False)",
     "choice([])", "choice(4, p=[0.5, 0.6, 0.1, 0.2])", "choice(4, p=[0.5, 0.5])", "choice(4, p=weights * 2)",
     "integers(counts - 1)", "permutation(square, 2)", "uniform(y, -y)"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
def test_errors_are_numpys(call: str, tmp_path: Any) -> None:
    function, states = made(call, tmp_path), []
    with pytest.raises((ValueError, TypeError, OverflowError)) as expected:
        function(*arguments(), np.random.default_rng(3))
    for run in (function, tj.jit(function)):
        rng = np.random.default_rng(3)
        with pytest.raises(expected.type):
            run(*arguments(), rng)
        states.append(state_of(rng))
    assert states[0] == states[1]


def walk(n: int, width: Any, rng: Any) -> Any:
    """Metropolis steps in three dimensions."""
    place, taken = np.zeros(3), 0
    for _ in range(n):
        other = place + width * rng.normal(size=3)
        if rng.random() < np.exp(0.5 * (place @ place) - 0.5 * (other @ other)):
            place = other
            taken += 1
    return place, taken


def means(n: int, y: Any, rng: Any) -> Any:
    """Means of samples with replacement."""
    found = np.zeros(n)
    for i in range(n):
        found[i] = y[rng.integers(0, len(y), size=len(y))].mean()
    return found


def orders(n: int, y: Any, rng: Any) -> Any:
    """Statistics of orders, while the argument is shuffled."""
    total = 0.0
    for i in range(n):
        rng.shuffle(y)
        total += y[0] * (i + 1) + y[rng.permutation(len(y))] @ y + rng.choice(y, 2, replace=False).sum()
    return total, y


@pytest.mark.parametrize(
    ("function", "operand"), [(walk, 0.4), (means, np.arange(9.0)), (orders, np.arange(7.0))]
)
@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox"])
def test_loops_draw_arrays(function: Any, operand: Any, kind: str) -> None:
    compiled = tj.jit(function, loops="compiled")
    for n in (20, 0, 31):
        ours, theirs = (np.random.Generator(getattr(np.random, kind)(n)) for _ in "ab")
        given = [np.copy(operand) if isinstance(operand, np.ndarray) else operand for _ in "ab"]
        result, expected = compiled(n, given[0], ours), function(n, given[1], theirs)
        for one, other in zip(
            tj.tree.flatten(result)[0] if isinstance(result, tuple) else [result],
            expected if isinstance(expected, tuple) else [expected],
            strict=True,
        ):
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-12)
        assert state_of(ours) == state_of(theirs)


def test_gradients_see_the_numbers_that_were_drawn() -> None:
    def f(scale: Any, rng: Any) -> Any:
        return (rng.normal(0.0, scale, size=5) ** 2).sum()

    numbers = np.random.default_rng(3).normal(size=5)
    gradient = tj.jit(tj.grad(f))(1.5, np.random.default_rng(3))
    np.testing.assert_allclose(np.asarray(gradient), 3.0 * (numbers**2).sum(), rtol=1e-12)
