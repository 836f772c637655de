"""``tj.tree``, and static fields and strings in trees."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tracejit as tj

TREE = {"b": [1, (2, None)], "a": 3}


@dataclasses.dataclass
class Layer:
    w: Any
    activation: str = dataclasses.field(default="tanh", metadata={"static": True})
    power: Any = dataclasses.field(default=1, metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        return {"tanh": tj.tanh, "sin": tj.sin}[self.activation](self.w * x) ** self.power


def test_flatten_and_unflatten() -> None:
    leaves, structure = tj.tree.flatten(TREE)
    assert leaves == [3, 1, 2] == tj.tree.leaves(TREE)
    assert structure == tj.tree.structure(TREE)
    assert tj.tree.unflatten(structure, iter(leaves)) == TREE


@pytest.mark.parametrize("leaves", [[1, 2], [1, 2, 3, 4]])
def test_unflatten_checks_the_number_of_leaves(leaves: list[int]) -> None:
    with pytest.raises(tj.ShapeError, match=r"tree\.unflatten: \d leaves for a structure with 3"):
        tj.tree.unflatten(tj.tree.structure(TREE), leaves)


def test_map_and_reduce() -> None:
    assert tj.tree.map(lambda x, y: x * y, TREE, TREE) == {"b": [1, (4, None)], "a": 9}
    assert tj.tree.map_with_path(lambda path, x: (path, x), TREE) == {
        "b": [("['b'][0]", 1), (("['b'][1][0]", 2), None)],
        "a": ("['a']", 3),
    }
    assert tj.tree.reduce(lambda total, x: [*total, x], TREE, []) == [3, 1, 2]
    assert tj.tree.reduce(max, TREE) == 3
    with pytest.raises(tj.ArgumentError, match="no leaves"):
        tj.tree.reduce(max, ())


def test_static_fields_belong_to_the_structure() -> None:
    layer = Layer(np.array(0.5))
    leaves, structure = tj.tree.flatten(layer)
    assert leaves == [0.5]
    assert structure != tj.tree.structure(dataclasses.replace(layer, activation="sin"))
    back = tj.tree.unflatten(structure, [2.0])
    assert back == Layer(2.0)


def test_static_fields_are_constants_of_jitted_functions() -> None:
    f = tj.jit(lambda layer, x: layer(x))
    x = np.linspace(-1, 1, 5)
    for activation, power in (("tanh", 1), ("sin", 1), ("sin", 2), ("sin", 2.0), ("tanh", 1)):
        layer = Layer(np.array(0.5), activation, power)
        expected = getattr(np, activation)(0.5 * x) ** power
        np.testing.assert_allclose(f(layer, x).numpy(), expected, rtol=1e-15)
    gradient = tj.jit(tj.grad(lambda layer: layer(2.0)))(Layer(0.5, "sin"))
    assert isinstance(gradient, Layer)
    assert gradient.activation == "sin"
    np.testing.assert_allclose(gradient.w.item(), 2 * np.cos(1.0), rtol=1e-15)


@pytest.mark.parametrize("values", [(1, True), (1, 1.0), (0.0, -0.0)])
def test_static_values_that_compare_equal_are_different(values: tuple[Any, Any]) -> None:
    first, second = (tj.tree.structure(Layer(1.0, power=value)) for value in values)
    assert first != second


def test_attrs_classes() -> None:
    attrs = pytest.importorskip("attrs")
    cls = attrs.make_class("Pair", ["x", "y"])
    pair = tj.tree.map(lambda v: v + 1, cls(1, 2))
    assert (pair.x, pair.y) == (2, 3)


class Field:
    """The attributes of a field in attrs."""

    def __init__(self, name: str, **metadata: Any) -> None:
        self.name, self.metadata = name, metadata


class Attributed:
    __attrs_attrs__ = (Field("x"), Field("kind", static=True))

    def __init__(self, x: Any, kind: str) -> None:
        self.x, self.kind = x, kind


def test_fields_as_attrs_declares_them() -> None:
    mapped = tj.tree.map(lambda v: v + 1, Attributed(1, "a"))
    assert (mapped.x, mapped.kind) == (2, "a")


def _apply(x: Any, mode: Any, *, options: Any = None) -> Any:
    scale = 1.0 if options is None or options["sign"] == "plus" else -1.0
    return {"y": scale * (tj.exp(x) if mode == "exp" else x + 1), "mode": mode}


def test_strings_are_static() -> None:
    f, x = tj.jit(_apply), np.arange(3.0)
    for _ in range(3):
        for mode in ("exp", "other", "".join(["e", "xp"])):
            for options in (None, {"sign": "plus"}, {"sign": "minus"}):
                result, expected = f(x, mode, options=options), _apply(x, mode, options=options)
                assert result["mode"] == mode
                np.testing.assert_allclose(result["y"].numpy(), np.asarray(expected["y"]), rtol=1e-15)
    assert str(f).count("6 signatures") == 1
    assert "the structure of argument mode changed" in str(f.explain())


def test_strings_beside_what_is_differentiated() -> None:
    gradient = tj.jit(tj.grad(lambda x, mode: tj.sum(x**2) if mode == "square" else tj.sum(x)))
    assert gradient(np.ones(2), "square").tolist() == [2.0, 2.0]
    assert gradient(np.ones(2), "sum").tolist() == [1.0, 1.0]


def test_leaves_that_a_function_names():
    def is_pair(node):
        return isinstance(node, tuple)

    tree = {"a": (1, 2), "b": [(3, 4), 5]}
    assert tj.tree.leaves(tree, is_leaf=is_pair) == [(1, 2), (3, 4), 5]
    leaves, structure = tj.tree.flatten(tree, is_pair)
    assert structure == tj.tree.structure(tree, is_leaf=is_pair)
    assert tj.tree.unflatten(structure, leaves) == tree
    doubled = tj.tree.map(lambda leaf, other: (leaf, other), tree, tree, is_leaf=is_pair)
    assert doubled["b"][0] == ((3, 4), (3, 4))
