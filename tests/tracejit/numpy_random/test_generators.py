"""The arguments that compiled draws take, and the types of what they give."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .programs import state_of

#: Calls of a generator's methods by all ways to give arguments.
GENERATOR = [
    "random()", "random(None)", "random(dtype=np.float64)", "random(size=None, out=None)", "uniform(-2)",
    "uniform(high=3)", "uniform(low=np.float32(0.5), high=np.int8(3))", "uniform(True, 2)", "normal(1)",
    "normal(scale=2)", "normal(loc=x, scale=n)", "normal(0.0, np.nan)", "normal(np.inf)", "exponential(3)",
    "exponential(scale=n)", "standard_normal(dtype=np.float64)", "standard_exponential(method='zig')",
    "integers(5)", "integers(high=5, low=-5)", "integers(np.int64(3), n)", "integers(n)",
    "choice(np.int64(4))",
    "integers(5, dtype=int)", "integers(-5, 5, dtype=np.int64, endpoint=True)", "integers(n, endpoint=True)",
    "choice(n)", "choice(7, None)", "choice(a=7, replace=True)", "integers(n - 9, n + 2**40)",
    "gamma(2.5)", "gamma(x, scale=n)", "gamma(0.0)", "standard_gamma(1.0)", "poisson()", "poisson(n)",
    "poisson(lam=x)", "binomial(n, x)", "binomial(n=0, p=0.5)", "binomial(200, 0.4)", "permutation(n)",
    "choice(n, 3)", "choice([4, 5])", "choice(y, p=p)", "choice(4, p=p)",
]  # fmt: skip
RANDOM_STATE = [
    "rand()", "random()", "random_sample(None)", "uniform(2)", "uniform(high=-3)", "normal(scale=2)",
    "randn()",
    "normal(loc=x, scale=n)", "exponential(scale=n)", "standard_normal()", "standard_exponential(None)",
    "randint(5)", "randint(-5, high=5)", "randint(n)", "randint(5, dtype=np.int64)", "choice(4)", "choice(n)",
    "randint(5, dtype=int)", "gamma(2.5)", "gamma(x, scale=n)", "standard_gamma(1.0)", "poisson(n)",
    "binomial(n, x)", "binomial(0, 0.5)", "binomial(200, 0.7)", "permutation(n)", "choice(n, 3)",
    "choice(y)", "choice(4, p=p)",
]  # fmt: skip
#: Calls that are refused in functions, and in loops.
REFUSED = [
    "random(2, dtype=np.float32)", "random(out=np.zeros(2))", "standard_exponential(method='inv')",
    "integers(5, dtype=np.int32)", "integers(5, dtype=np.uint64)", "integers(5, dtype=np.int8)",
    "choice(4, 2, p=p, replace=False)", "choice(y, replace=0)", "beta(1.0, 2.0)",
    "multivariate_normal([0.0, 1.0], np.eye(2))",
]  # fmt: skip


def made(call: str, tmp_path: Any) -> Any:
    text = f"def f(x, n, rng):\n    return rng.{call}\n"
    path = tmp_path / "calls.py"
    path.write_text(text)
    names: dict[str, Any] = {"np": np, "y": np.arange(4) * 1.5, "p": [0.1, 0.2, 0.3, 0.4]}
    exec(compile(text, str(path), "exec"), names)
    return names["f"]


@pytest.mark.parametrize(
    ("call", "make"),
    [*[(call, np.random.default_rng) for call in GENERATOR],
     *[(call, np.random.RandomState) for call in RANDOM_STATE]],
)  # fmt: skip
def test_arguments_are_numpys(call: str, make: Any, tmp_path: Any) -> None:
    function, ours, theirs = made(call, tmp_path), make(3), make(3)
    compiled = tj.jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            result, expected = compiled(0.5, 11, ours), function(0.5, 11, theirs)
            np.testing.assert_array_equal(np.asarray(result), expected)
            assert np.asarray(result).dtype == np.asarray(expected).dtype
    assert state_of(ours) == state_of(theirs)


@pytest.mark.parametrize(
    "call", ["random()", "integers(5)", "integers(5, dtype=int)", "choice(5)", "normal()"]
)
def test_what_is_drawn_meets_other_dtypes_as_numpys_numbers_do(call: str, tmp_path: Any) -> None:
    function = made(f"{call} * x", tmp_path)
    for dtype in (np.float32, np.int8, np.float64):
        x = np.ones(2, dtype)
        ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
        assert np.asarray(tj.jit(function)(x, 1, ours)).dtype == function(x, 1, theirs).dtype


@pytest.mark.parametrize("call", REFUSED)
def test_other_calls_run_as_python(call: str, tmp_path: Any) -> None:
    function, ours, theirs = made(call, tmp_path), np.random.default_rng(3), np.random.default_rng(3)
    with pytest.warns(tj.UncompiledCallWarning, match="is not compiled"):
        result = tj.jit(function)(0.5, 11, ours)
    np.testing.assert_array_equal(np.asarray(result), function(0.5, 11, theirs))
    assert state_of(ours) == state_of(theirs)
