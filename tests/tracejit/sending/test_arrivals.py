"""Functions that arrive again are not traced again, unless what they are made of has changed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import arrivals

from . import functions

X = np.arange(3.0)


def sent(function: Any) -> Any:
    """`function` as a process has it to which its code is sent."""
    again = object.__new__(type(function))
    again.__setstate__(lambda: function._making())
    return again


@pytest.fixture(autouse=True)
def _no_arrivals() -> Any:
    arrivals._KEPT.clear()
    yield
    arrivals._KEPT.clear()


def product(factor: Any) -> Any:
    return lambda x: (x * factor).sum()


@pytest.mark.parametrize(
    "factor", [2.0, np.arange(3.0), tj.ones(3), np.float32(3), np.sin, (1, [2.0], {"a": 1j})]
)
def test_equal_functions_are_traced_once(factor: Any) -> None:
    def scaled() -> Any:
        return tj.jit(lambda x: x * (factor(x) if callable(factor) else tj.tree_leaves(factor)[0]))

    copies = [sent(scaled()) for _ in range(3)]
    assert len({str(np.asarray(copy(X))) for copy in copies}) == 1
    assert [len(copy._tree.signatures) for copy in copies] == [1, 1, 1]
    assert all(copy._tree is copies[0]._tree for copy in copies)


def test_what_came_before_is_called() -> None:
    first = sent(tj.jit(product(2.0)))
    assert float(first(X)) == 6.0
    second = sent(tj.jit(product(2.0)))
    assert second._tree is first._tree
    assert second._tree.signatures
    assert float(second(X)) == 6.0
    assert float(second(np.ones(5))) == 10.0
    assert len(first._tree.signatures) == 2


def test_other_values_are_other_functions() -> None:
    functions = [sent(tj.jit(product(factor))) for factor in (2, 2.0, np.float64(2), True, 0.0, -0.0)]
    assert len({id(function._tree) for function in functions}) == 6
    arrays = [np.ones(3), np.ones(3), np.ones((1, 3)), np.ones(3, "float32"), np.array([1, 1, 2.0])]
    assert [float(sent(tj.jit(product(array)))(X)) for array in arrays] == [3, 3, 3, 3, 5]


def test_what_was_changed_since_is_another_function() -> None:
    weights = np.ones(3)
    first = sent(tj.jit(product(weights)))
    assert float(first(X)) == 3.0
    weights[0] = weights[2] = 5.0
    assert float(first(X)) == 11.0
    second = sent(tj.jit(product(np.ones(3))))
    assert second._tree is not first._tree
    assert (float(second(X)), float(first(X))) == (3.0, 11.0)


def test_options_count() -> None:
    plain, compiled = (sent(tj.jit(product(2.0), loops=loops)) for loops in ("auto", "compiled"))
    assert plain._tree is not compiled._tree


def test_transforms_of_functions_are_compared_by_what_they_are_made_of() -> None:
    first, second = (sent(tj.jit(tj.grad(product(3.0)))) for _ in range(2))
    assert second._tree is first._tree
    other = sent(tj.jit(tj.grad(product(4.0))))
    assert (second(X).tolist(), other(X).tolist()) == ([3, 3, 3], [4, 4, 4])
    slope, again = (sent(tj.grad(product(3.0))) for _ in range(2))
    assert again(X).tolist() == slope(X).tolist() == [3, 3, 3]


def test_functions_that_call_themselves() -> None:
    def power() -> Any:
        @tj.jit
        def square(x: Any) -> Any:
            return product(2.0)(x) if x.ndim else square(x.reshape((1,)))

        return square

    assert [float(sent(power())(X)) for _ in range(2)] == [6.0, 6.0]


def test_what_cannot_be_compared_is_not_kept() -> None:
    class Holder:
        value = 2.0

    holder = Holder()
    first, second = (sent(tj.jit(lambda x: x * holder.value)) for _ in range(2))
    assert second._tree is not first._tree
    large = np.ones(arrivals._MAX_BYTES // 8 + 1)
    sent(tj.jit(product(large)))
    assert not arrivals._KEPT


def test_few_are_kept() -> None:
    for factor in range(arrivals._MAX_KEPT + 5):
        sent(tj.jit(product(float(factor))))
    assert len(arrivals._KEPT) == arrivals._MAX_KEPT


def test_functions_with_names_are_not_compared() -> None:
    assert pickle.loads(pickle.dumps(functions.scaled)) is functions.scaled
    assert not arrivals._KEPT
