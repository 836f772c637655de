"""Operators leave what is no number and no array to the class of the other operand, as NumPy's do."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracejit as tj

ARITHMETIC = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift", "divmod",
)  # fmt: skip
COMPARISONS = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
NOT_IN_PLACE = "divmod"


class Symbol:
    """An operand of a user's, with operators of its own."""

    __hash__ = object.__hash__


class OptedOut(Symbol):
    """An object that could be read as an array, and says that NumPy's operators shall not do that."""

    __array_ufunc__ = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(3)


def _answer(name: str) -> Any:
    return lambda self, other: (name, isinstance(other, tj.Tensor))


for _name in ARITHMETIC:
    for _prefix in ("", "r"):
        setattr(Symbol, f"__{_prefix}{_name}__", _answer(_prefix + _name))
for _name in COMPARISONS:
    setattr(Symbol, f"__{_name}__", _answer(_name))


def _function(name: str) -> Any:
    return divmod if name == "divmod" else getattr(operator, f"{name}_" if name in ("and", "or") else name)


@pytest.mark.parametrize("make", [Symbol, OptedOut])
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
def test_the_other_operand_answers(name: str, make: Any, jitted: bool) -> None:
    answers: list[Any] = []

    def use(x: Any) -> Any:
        answers.append(_function(name)(x, make()))
        answers.append(_function(name)(make(), x))
        if name in ARITHMETIC and name != NOT_IN_PLACE:
            answers.append(getattr(operator, f"i{name}")(x, make()))
        return x

    (tj.jit(use) if jitted else use)(tj.tensor([1, 2, 3]))
    reflected = COMPARISONS.get(name, f"r{name}")
    assert answers == [(reflected, True), (name, True), (reflected, True)][: len(answers)]


@pytest.mark.parametrize("name", ["add", "matmul", "pow", "lt"])
def test_native_operators_give_way_too(name: str) -> None:
    x = tj.ones(3)
    for _ in range(1500):
        _function(name)(x, x)
    assert _function(name)(x, Symbol()) == (COMPARISONS.get(name, f"r{name}"), True)


def test_what_has_no_operator_is_an_error_of_ours() -> None:
    x = tj.ones(3)
    for other in ("text", object(), None):
        with pytest.raises(TypeError, match="add"):
            x + other
    assert (x == "text") is False
    assert (x != None) is True  # noqa: E711
    with pytest.raises(tj.ShapeError):
        x + tj.ones(4)
    with pytest.raises(tj.DTypeError, match="its __array_ufunc__ is None"):
        tj.add(x, OptedOut())
    np.testing.assert_array_equal(tj.asarray(OptedOut()).numpy(), np.ones(3))


def test_numbers_of_other_classes_are_what_they_were() -> None:
    x = tj.tensor([1.0, 2.0])
    with pytest.raises(TypeError):
        x + Fraction(1, 2)
    with pytest.raises(TypeError):
        Fraction(1, 2) + x


def test_sparse_matrices_multiply_tensors() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(np.asarray(tj.tensor([1.0, 2.0]) @ matrix), [1.0, 4.0])
    np.testing.assert_array_equal(np.asarray(matrix @ tj.tensor([1.0, 2.0])), [1.0, 4.0])
