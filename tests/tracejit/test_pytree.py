"""Pytrees: flatten, unflatten, paths, structures, registration."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.pytree import flatten, leaf_paths

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Layer:
    w: Any
    b: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    w: Any


class Node:
    def __init__(self, kids, aux):
        self.kids, self.aux = kids, aux


tj.register_pytree_node(Node, lambda n: (n.kids, n.aux), lambda aux, kids: Node(list(kids), aux))

TREES = [
    (1, [1]),
    ((1, [2, {"b": 4, "a": 3}]), [1, 2, 3, 4]),
    (Point(1, Point(2, 3)), [1, 2, 3]),
    (Layer(1, [2]), [1, 2]),
    (Layer(1), [1]),
    (Slotted((1, 2)), [1, 2]),
    (None, []),
    ((), []),
    ({}, []),
    ([None, (), 5], [5]),
    ({2: "b", 1: "a"}, ["a", "b"]),
    ({"x": 1, 3: 2}, [1, 2]),
]


@pytest.mark.parametrize(("tree", "leaves"), TREES, ids=[repr(tree) for tree, _ in TREES])
def test_flatten_and_back(tree, leaves):
    got, structure = flatten(tree)
    assert got == leaves
    assert tj.tree_leaves(tree) == leaves
    back = structure.unflatten(got)
    assert back == tree
    assert type(back) is type(tree)


def test_structures_compare_and_hash():
    same = [{"a": 1, "b": (2, None)}, {"b": (5, None), "a": 7}]
    first, second = (flatten(tree)[1] for tree in same)
    assert first == second
    assert hash(first) == hash(second)
    different = [
        (1, 2),
        [1, 2],
        {"a": 1, "b": 2},
        {"a": 1, "c": 2},
        Point(1, 2),
        Layer(1, 2),
        (1, (2,)),
        (1, None),
        (1, 2, 3),
    ]
    structures = [flatten(tree)[1] for tree in different]
    assert len(set(structures)) == len(different)
    assert repr(flatten((1, {"a": 2}))[1]) == "TreeDef((*, {'a': *}))"
    assert str(flatten((1, {"a": 2}))[1]) == "(*, {'a': *})"
    assert str(flatten(1)[1]) == "a single value"


def test_paths():
    tree = {"w": [1, (2, 3)], "l": Layer(1, None), "p": Point(1, 2), "n": Node([7], "aux")}
    assert leaf_paths(tree) == [
        "['l'].w",
        "['n'][0]",
        "['p'].x",
        "['p'].y",
        "['w'][0]",
        "['w'][1][0]",
        "['w'][1][1]",
    ]
    assert leaf_paths(3) == [""]


def test_tree_map():
    assert tj.tree_map(lambda a, b: a + b, {"a": 1, "b": [2]}, {"a": 10, "b": [20]}) == {"a": 11, "b": [22]}
    assert tj.tree_map(lambda a: a * 2, Layer(1, Point(2, 3))) == Layer(2, Point(4, 6))
    assert tj.tree_map(lambda a: a, None) is None


def test_ragged_trees():
    for other in ({"a": 1}, {"a": 1, "b": (2,)}, {"a": 1, "b": [2, 3]}, {"a": 1, "b": 2}, [1, [2]]):
        with pytest.raises(tj.ShapeError, match="structures differ"):
            tj.tree_map(lambda a, b: a, {"a": 1, "b": [2]}, other)


def test_registration():
    out = tj.tree_map(lambda leaf: leaf + 1, Node([1, (2,)], "aux"))
    assert out.kids == [2, (3,)]
    assert out.aux == "aux"
    assert flatten(Node([1], "a"))[1] != flatten(Node([1], "b"))[1]
    with pytest.raises(tj.TracejitError, match="registered"):
        tj.register_pytree_node(Node, lambda n: ((), None), lambda a, k: None)


def test_arrays_and_tensors_are_leaves():
    x, y = np.zeros((2, 2)), tj.ones(3)
    assert tj.tree_leaves([x, (y, "text", 1j)])[0] is x
    assert tj.tree_leaves([x, (y,)])[1] is y


def test_a_frozen_dataclass_with_a_post_init_is_rebuilt_without_running_it():
    @dataclasses.dataclass
    class Checked:
        x: Any

        def __post_init__(self):
            assert isinstance(self.x, float)

    f = tj.jit(lambda c: Checked.__new__(Checked) if c is None else c)
    assert f(Checked(1.0)).x.item() == 1.0


def test_ordered_dicts_keep_their_order():
    tree = collections.OrderedDict([("b", 1), ("a", 2)])
    leaves, structure = flatten(tree)
    back = structure.unflatten(leaves)
    assert type(back) is collections.OrderedDict
    assert list(back.items()) == [("b", 1), ("a", 2)]


def test_default_dicts_come_back():
    tree = collections.defaultdict(list, b=1, a=2)
    leaves, structure = flatten(tree)
    back = structure.unflatten(leaves)
    assert type(back) is collections.defaultdict
    assert back.default_factory is list
    assert back == tree


def test_cyclic_trees_are_an_error():
    tree: list[Any] = []
    tree.append(tree)
    with pytest.raises((RecursionError, tj.TracejitError)):
        flatten(tree)
