"""NumPy's functions that make arrays of what is traced, in functions with and without loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import array

import tracejit as tj
from tracejit.frontend.reads import read_function
from tracejit.loops.conversion import has_loops, to_rewrite

X = np.array([0.4, -1.2, 2.5, 0.7])


def converted(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return np.asanyarray(x) * np.ascontiguousarray(x) + np.asfortranarray(x)


def rotated(x: Any) -> Any:
    c, s = np.cos(x[0]), np.sin(x[0])
    return np.array([[c, -s], [s, c]]) @ x[:2]


def by_another_name(x: Any) -> Any:
    return array((x[1], 2.0, math.exp(x[0])))


def filled(x: Any) -> Any:
    jacobian = np.zeros((2, 2))
    jacobian[0, 0] = x[0]
    jacobian[1] = [x[1], 3.0]
    return jacobian * np.full(2, x[3]) + np.full((2, 2), 0.5)


def written_by_functions(x: Any) -> Any:
    counts, places, sums = np.zeros(5), np.full(3, 0.5), np.empty(4)
    np.add.at(counts, np.abs(x).astype(int), x)
    np.put(places, [0, 2], x[:2])
    np.multiply(x, 2.0, out=sums)
    return np.concatenate([counts, places, sums])


def written_copy(x: Any) -> Any:
    y = np.array(x, copy=True)
    y[1:] *= 2
    return y


def joined(x: Any) -> Any:
    return np.r_[x, 1.0, x[::-1]].sum() * np.c_[x, x**2]


def elementwise(x: Any) -> Any:
    return np.vectorize(lambda a, b: a * b + 1)(x, 2.0)


def decorated(x: Any) -> Any:
    @np.vectorize
    def squares(a: Any) -> Any:
        return a * a

    return squares(x)


def by_a_function(x: Any) -> Any:
    return rotated(x) + rotated(x[2:])


PROGRAMS = [
    converted, rotated, by_another_name, filled, written_by_functions, written_copy, joined,
    elementwise, decorated, by_a_function,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_run_as_they_stand(program: Callable[[Any], Any]) -> None:
    assert not has_loops(program.__code__)
    jitted = tj.jit(program)
    for x in (X, X[::-1].copy()):
        result = jitted(x)
        assert isinstance(result, tj.Tensor)
        np.testing.assert_allclose(result, program(x), rtol=1e-13)
    assert len(jitted.explain().signatures) == 1


@pytest.mark.parametrize("program", [rotated, by_another_name, filled, joined])
def test_gradients_follow(program: Callable[[Any], Any]) -> None:
    step = 1e-6

    def total(x: Any) -> Any:
        return np.sum(np.sin(program(x)))

    numeric = [(total(X + step * row) - total(X - step * row)) / (2 * step) for row in np.eye(4)]
    np.testing.assert_allclose(tj.jit(tj.grad(total))(X), numeric, rtol=1e-7, atol=1e-9)


def test_functions_of_scipy_that_are_no_ufuncs() -> None:
    special = pytest.importorskip("scipy.special")

    def program(x: Any) -> Any:
        return (
            special.logsumexp(x) + special.softmax(x) * special.polygamma(1, np.exp(x)) + special.comb(5, 2)
        )

    jitted = tj.jit(program)
    np.testing.assert_allclose(jitted(X), program(X), rtol=1e-13)
    np.testing.assert_allclose(jitted(-X), program(-X), rtol=1e-13)


def test_methods_are_followed() -> None:
    class Oscillator:
        stiffness = 2.0

        def slope(self, y: Any) -> Any:
            return np.array([y[1], -self.stiffness * y[0]])

    np.testing.assert_array_equal(tj.jit(Oscillator().slope)(X), [X[1], -2.0 * X[0]])


def test_arrays_of_numbers_stay_numpys() -> None:
    def table(x: Any) -> Any:
        weights = np.array([1.0, 2.0, 3.0, 4.0])
        assert type(weights) is type(np.full(3, 1.0)) is type(np.r_[1.0, 2.0]) is np.ndarray
        return x * weights

    np.testing.assert_array_equal(tj.jit(table)(X), X * np.arange(1.0, 5.0))


def rewritten(program: Callable[[Any], Any]) -> list[str]:
    """The names of the functions that are rewritten where `program` is traced."""
    uses = read_function(program, (tj.tensor(X),), {}, frozenset(), "x")
    return [function.__name__ for function in to_rewrite(uses.followed.values(), uses.asking)]


def test_what_is_rewritten() -> None:
    assert rewritten(rotated) == ["rotated"]
    assert rewritten(filled) == ["filled"]
    assert rewritten(by_a_function) == ["rotated"]
    assert rewritten(lambda x: math.pow(2.0, x[0])) == ["<lambda>"]
    assert rewritten(lambda x: list(map(math.exp, x))) == ["<lambda>"]
    assert rewritten(lambda x: np.sin(x) + np.zeros(3)) == []
    assert rewritten(lambda x: x * math.pi + math.sqrt(0.5) + math.pow(2, 0.5)) == []
    assert rewritten(lambda x: x * len([math.exp, math.sqrt(2.0)])) == []


def test_functions_without_source_are_told_what_to_write() -> None:
    for text, ours in (
        ("np.asarray(x)", r"tj\.asarray\(x\) for np\.asarray\(x\)"),
        ("np.r_[x, 1.0]", r"np\.r_ needs .* Use tj\.r_\."),
        ("np.vectorize(abs)(x)", r"np\.vectorize needs .* Use tj\.vectorize\."),
        ("np.full(3, x[0])", r"np\.full needs .* Use tj\.full\."),
    ):
        with pytest.raises(tj.ConcretizationError, match=ours):
            tj.jit(eval(f"lambda x: {text}"), on_branch="error")(X)


def components(count: int, edges: Any) -> Any:
    """The numbers of connected components, and the parents of a forest of them."""
    parent = np.arange(count)
    for a, b in edges:
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[b] = a
            count -= 1
    return count, parent


@pytest.mark.parametrize(
    "f",
    [
        lambda n: np.arange(n) * 0.5,
        lambda n: np.arange(1, n, 2, dtype=np.float32),
        lambda n: np.arange(n, 0, -1),
        lambda n: np.arange(start=0, stop=n),
        lambda n: tj.arange(n) + tj.arange(0, 2 * n, 2),
    ],
)
def test_ranges_of_traced_integers(f: Callable[..., Any]) -> None:
    jitted = tj.jit(f)
    for n in (3, np.int64(6), 3):
        expected = np.asarray(f(int(n)))
        result = jitted(n)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(result), expected)


def test_a_range_that_loops_write() -> None:
    edges = np.random.default_rng(0).integers(0, 30, (25, 2))
    count, parent = tj.jit(components)(30, edges)
    expected, forest = components(30, edges)
    assert int(count) == expected
    np.testing.assert_array_equal(np.asarray(parent), forest)
