"""``raise`` and ``assert`` in loops: compiled as loops, and raised as Python raises them."""

import numpy as np
import pytest

import tracejit as tj

from .raising_programs import PROGRAMS, X, behind_writes


def outcome(function, *arguments):
    """The result or the error of a call, and its arrays behind it."""
    mine = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
    try:
        result = np.asarray(function(*mine)).tolist()
    except Exception as error:
        result = type(error), error.args, type(error.__cause__)
    return result, mine[0].tolist()


@pytest.mark.parametrize("function", PROGRAMS)
def test_results_and_errors(function):
    jitted = tj.jit(function)
    for limit in (3.0, 3.0, 1.5, 3.0, 0.01, 0.5, 3.0):
        (result, after), (expected, theirs) = outcome(jitted, X, limit), outcome(function, X, limit)
        assert after == pytest.approx(theirs)
        if isinstance(expected, tuple):
            assert result == expected
        else:
            np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert {loop.outcome for loop in jitted.explain().signatures[0].loops} == {"compiled"}


@pytest.mark.parametrize("function", PROGRAMS)
def test_calls_that_have_settled(function):
    jitted, calls = tj.jit(function), 80
    for _ in range(calls):
        jitted(X.copy(), 3.0)
    assert outcome(jitted, X, 0.5)[0][0] is outcome(function, X, 0.5)[0][0]
    np.testing.assert_allclose(outcome(jitted, X, 3.0)[0], outcome(function, X, 3.0)[0], rtol=1e-12)


def test_large_arrays_that_are_written():
    x = np.linspace(0.1, 2.0, 40_000)
    jitted = tj.jit(behind_writes)
    for limit in (3.0, 1.5, 3.0):
        (result, after), (expected, theirs) = outcome(jitted, x, limit), outcome(behind_writes, x, limit)
        assert after == theirs
        if isinstance(expected, tuple):
            assert result == expected


def test_handlers_around_loops():
    def f(x, limit):
        s = 0.0
        try:
            for v in x:
                if v > limit:
                    raise ValueError(v)
                s += v
        except ValueError as error:
            s += 100 * float(error.args[0])
        finally:
            s += 1000
        return s

    jitted = tj.jit(f)
    for limit in (3.0, 1.0, 3.0):
        np.testing.assert_allclose(jitted(X, limit), f(X, limit))


def test_gradients():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            if x[i] > 3:
                raise ValueError(i)
            s += x[i] ** 2
        return s

    gradient = tj.jit(tj.grad(f))
    np.testing.assert_allclose(gradient(X), 2 * X)
    with pytest.raises(ValueError, match="7"):
        gradient(np.where(np.arange(40) == 7, 9.0, X))
    np.testing.assert_allclose(gradient(X), 2 * X)


def test_tests_that_are_known():
    def f(x, n):
        s = 0.0
        for i in range(len(x)):
            if n < 0:
                raise ValueError("n")
            if len(x) > 99:
                raise ValueError("x")
            s += x[i] * n
        return s

    jitted = tj.jit(f, static_argnums=1)
    np.testing.assert_allclose(jitted(X, 2), f(X, 2))
    with pytest.raises(ValueError, match="n"):
        jitted(X, -1)
    with pytest.raises(ValueError, match="x"):
        jitted(np.ones(100), 1)


def test_lowering_with_arguments_for_which_it_raises():
    def f(x):
        for v in x:
            if v > 1:
                raise ValueError(v)
        return x

    with pytest.raises(tj.TraceError, match="a step of a loop raises"):
        tj.jit(f).lower(X)
    assert "while" in tj.jit(f).lower(X * 0).as_text() or "scan" in tj.jit(f).lower(X * 0).as_text()


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
def test_helpers_that_handle_everything():
    def checked(x, limit):
        for v in x:
            if v > limit:
                raise ValueError(v)
        return x.sum()

    def f(x, limit):
        try:
            return checked(x, limit)
        except:  # noqa: E722
            return -1.0

    jitted = tj.jit(f)
    np.testing.assert_allclose(jitted(X, 3.0), X.sum())
    assert jitted(X, 1.0) == -1.0
    np.testing.assert_allclose(jitted(X, 3.0), X.sum())
