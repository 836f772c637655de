"""The order of dicts' keys is as in Python, in arguments, captures and results, whatever way a call takes."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import tracejit as tj

CALLS = 4  # the first traces, and later ones are served by a native entry


def folded(values: Any) -> Any:
    """A sum that depends on the order of `values`."""
    total = 0.0
    for value in values:
        total = 3.0 * total + value
    return total


@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda pairs: defaultdict(list, pairs)])
def test_arguments_are_gone_through_in_their_order(kind: Any) -> None:
    f = tj.jit(lambda d: folded(d.values()))
    for names in itertools.permutations(["w1", "w10", "w2"]):
        values = kind([(name, np.array(float(i + 1))) for i, name in enumerate(names)])
        for _ in range(CALLS):
            assert float(f(values)) == folded([1.0, 2.0, 3.0]), names


def test_orders_take_turns() -> None:
    f = tj.jit(lambda d: folded(d[key] for key in d))
    first = {"a": np.array(1.0), "b": np.array(2.0)}
    second = {"b": np.array(2.0), "a": np.array(1.0)}
    for _ in range(CALLS):
        assert float(f(first)) == folded([1.0, 2.0])
        assert float(f(second)) == folded([2.0, 1.0])


def test_equal_strings_are_the_same_keys() -> None:
    f = tj.jit(lambda d: folded(d.values()))
    for names in (["left", "right"], ["".join(["le", "ft"]), "".join(["ri", "ght"])]):
        values = {name: np.array(float(i)) for i, name in enumerate(names)}
        assert [float(f(values)) for _ in range(CALLS)] == [1.0] * CALLS
    assert len(f._tree.signatures) == 1


def test_a_captured_dict_may_change_its_order() -> None:
    layers = {"a": np.array(1.0), "b": np.array(10.0)}
    f = tj.jit(lambda x: x + folded(layers.values()))
    for _ in range(2):
        for _ in range(CALLS):
            assert float(f(0.0)) == folded([float(layer) for layer in layers.values()])
        layers["a"] = layers.pop("a")


def test_keyword_arguments_come_in_any_order() -> None:
    f = tj.jit(lambda x, a, b: x + 10.0 * a + 100.0 * b)
    for _ in range(CALLS):
        assert float(f(1.0, a=2.0, b=3.0)) == float(f(1.0, b=3.0, a=2.0)) == 321.0
    assert len(f._tree.signatures) == 1


def test_functions_of_any_keywords_see_their_order() -> None:
    def weighted(x: Any, **terms: Any) -> Any:
        return x + folded(terms.values())

    f, g = tj.jit(weighted), tj.jit(weighted, static_argnames=("scale",))
    for _ in range(CALLS):
        assert float(f(0.0, a=1.0, b=2.0)) == float(g(0.0, a=1.0, b=2.0)) == folded([1.0, 2.0])
        assert float(f(0.0, b=2.0, a=1.0)) == float(g(0.0, b=2.0, a=1.0)) == folded([2.0, 1.0])


def test_results_have_the_order_of_the_function() -> None:
    f = tj.jit(lambda x: {"w": x, "b": 2.0 * x, "inner": {"z": x + 1.0, "a": [x, {"d": x, "c": -x}]}})
    for _ in range(CALLS):
        result = f(np.array(1.0))
        assert list(result) == ["w", "b", "inner"]
        assert list(result["inner"]) == ["z", "a"]
        assert list(result["inner"]["a"][1]) == ["d", "c"]
        assert [float(result["w"]), float(result["b"])] == [1.0, 2.0]
        assert {key: float(value) for key, value in result["inner"]["a"][1].items()} == {"d": 1.0, "c": -1.0}


def test_gradients_have_the_order_of_the_parameters() -> None:
    def loss(params: Any) -> Any:
        return (params["w"] * params["v"] + params["a"]).sum()

    params = {"w": np.ones(2), "v": np.full(2, 2.0), "a": np.zeros(2)}
    for gradient in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss))):
        for _ in range(CALLS):
            slopes = gradient(params)
            assert list(slopes) == ["w", "v", "a"]
            assert [slope.tolist() for slope in slopes.values()] == [[2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]


def test_trees_are_put_together_in_order_and_compare_without_it() -> None:
    leaves, structure = tj.tree.flatten({"w": 1, "b": 2})
    assert leaves == [2, 1]
    assert list(structure.unflatten(leaves)) == ["w", "b"]
    assert structure == tj.tree.structure({"b": 0, "w": 0})
    assert hash(structure) == hash(tj.tree.structure({"b": 0, "w": 0}))
    assert list(tj.tree.map(lambda x, y: x + y, {"w": 1, "b": 2}, {"b": 3, "w": 4}).items()) == [
        ("w", 5),
        ("b", 5),
    ]
    assert str(structure) == "{'b': *, 'w': *}"


def test_a_loop_may_carry_a_dict_that_is_made_anew() -> None:
    @tj.jit
    def f(x: Any) -> Any:
        state = {"x": x, "v": 0.0 * x}
        for _ in range(10):
            state = {"v": state["v"] - 0.1 * state["x"], "x": state["x"] + 0.1 * state["v"]}
        return state["x"], state["v"]

    x, v = 1.0, 0.0
    for _ in range(10):
        x, v = x + 0.1 * v, v - 0.1 * x
    assert np.allclose([float(part) for part in f(np.array(1.0))], [x, v])
