"""Arguments that are part of the signature by value."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import Counted, same


@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 1},
        {"static_argnums": (1,)},
        {"static_argnums": -1},
        {"static_argnames": "shape"},
        {"static_argnames": ["shape"]},
    ],
    ids=str,
)
def test_static_arguments_by_position_and_by_name(options):
    f = tj.jit(lambda x, shape: x.reshape(shape), **options)
    x = tj.tensor([1.0, 2.0])
    for _ in range(2):
        same(f(x, (2, 1)), [[1], [2]])
        same(f(x, shape=(1, 2)), [[1, 2]])


def test_a_new_static_value_compiles_again_and_explain_says_so():
    counted = Counted(lambda x, n: x**n)
    f = tj.jit(counted, static_argnums=1)
    x = tj.tensor([2.0])
    assert [f(x, n).item() for n in (1, 2, 3, 2, 1)] == [2, 4, 8, 4, 2]
    assert counted.runs == 3
    assert "static arguments changed from 1=2 to 1=3" in f.explain()


def test_static_strings_decide_branches():
    f = tj.jit(lambda x, mode: x if mode == "keep" else -x, static_argnames="mode")
    same(f(1.0, mode="keep"), 1.0)
    same(f(1.0, mode="flip"), -1.0)
    same(f(1.0, "flip"), -1.0)


def test_static_before_dynamic():
    f = tj.jit(lambda n, x, m, y: x * n + y * m, static_argnums=(0, 2))
    same(f(2, tj.tensor([1.0]), 3, tj.tensor([10.0])), [32])
    same(f(2, tj.tensor([1.0]), m=3, y=tj.tensor([10.0])), [32])


def test_static_values_are_told_apart_by_type():
    f = tj.jit(lambda x, n: x * n, static_argnums=1)
    x = tj.tensor([1, 2], dtype=tj.int32)
    same(f(x, 1), [1, 2], "int32")
    same(f(x, 1.0), [1, 2], "float64")
    same(f(x, True), [1, 2], "int32")


def test_static_values_that_compare_equal_but_differ():
    f = tj.jit(lambda x, n: x * n, static_argnums=1)
    assert not np.signbit(f(tj.tensor(1.0), 0.0).item())
    assert np.signbit(f(tj.tensor(1.0), -0.0).item())
    g = tj.jit(lambda x, n: x * n[0], static_argnums=1)
    x = tj.tensor([1], dtype=tj.int32)
    same(g(x, (1,)), [1], "int32")
    same(g(x, (1.0,)), [1], "float64")


def test_static_errors():
    x = tj.tensor([1.0, 2.0])
    with pytest.raises(tj.TracejitError, match="static argument 1 must be hashable, got list"):
        tj.jit(lambda x, n: x, static_argnums=1)(x, [1])
    with pytest.raises(tj.TracejitError, match="static argument 'n' must be hashable, got dict"):
        tj.jit(lambda x, n: x, static_argnames="n")(x, n={})
    for num in (2, -3):
        with pytest.raises(tj.TracejitError, match=f"static_argnums {num} is out of range for 2 parameters"):
            tj.jit(lambda x, n: x, static_argnums=num)
    with pytest.raises(tj.TracejitError, match="static_argnames 'm' is not a parameter"):
        tj.jit(lambda x, n: x, static_argnames="m")


def test_static_argnums_of_variadic_functions():
    same(tj.jit(lambda *a: a[0] * a[1], static_argnums=1)(tj.tensor([2.0]), 3), [6])
    try:
        result = tj.jit(lambda *a: a[0] * a[1], static_argnums=-1)(tj.tensor([2.0]), 3)
    except tj.TracejitError as error:
        assert "static_argnums" in str(error)  # noqa: PT017  # either outcome is right
    else:
        same(result, [6])
