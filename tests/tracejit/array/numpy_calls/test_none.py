"""Options that are None are not given, and axes that are None are NumPy's."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj

X: Final = np.arange(1.0, 7.0).reshape(2, 3)
#: Functions of buffers and files, and what makes an array without initial values.
LEFT_OUT: Final = frozenset(["empty_like", "frombuffer", "fromfile", "genfromtxt"])


def _functions(option: str) -> list[str]:
    """The functions here and in NumPy that have `option`, and that NumPy calls with None for it."""
    names = []
    for name in sorted((set(dir(np)) & set(dir(tj))) - LEFT_OUT):
        function = getattr(np, name)
        try:
            if option in inspect.signature(function).parameters and not inspect.isclass(function):
                function(*_operands(function), **{option: None})
                names.append(name)
        except Exception:  # NumPy does not take it, or does not tell its parameters
            continue
    return names


def _operands(function: Any) -> tuple[Any, ...]:
    return (X,) * getattr(function, "nin", 1)


@pytest.mark.parametrize("option", ["where", "axis", "dtype", "out", "initial", "keepdims"])
def test_none_is_not_given(option: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names
        names = _functions(option)
        assert len(names) > 1
        for name in names:
            operands = tuple(map(tj.tensor, _operands(getattr(np, name))))
            for module in (tj, np):
                result = getattr(module, name)(*operands, **{option: None})
                if option == "axis":  # of some functions None is all axes, and not what is not given
                    expected = getattr(np, name)(*_operands(getattr(np, name)), axis=None)
                else:
                    expected = getattr(tj, name)(*operands)
                _check_same(name, result, expected)


def _check_same(name: str, result: Any, expected: Any) -> None:
    for part, plain in zip(tj.tree_leaves(result), tj.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(part), np.asarray(plain), err_msg=name)


@pytest.mark.parametrize("name", ["sum", "max", "mean", "std", "any", "count_nonzero"])
def test_reductions_take_none_where_numpy_raises(name: str) -> None:
    function = getattr(tj, name)
    for option in {"axis", "keepdims", "where", "dtype"} & set(inspect.signature(function).parameters):
        np.testing.assert_array_equal(function(X, **{option: None}).numpy(), function(X).numpy())
