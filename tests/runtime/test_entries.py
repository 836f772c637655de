"""The native entry: what it takes without Python, and what it leaves to the slow path."""

from __future__ import annotations

import gc
import random
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tracejit.jitted.function import JitFunction
from tracejit.pytree import flatten

from .programs import python


class Pair(NamedTuple):
    left: Any
    right: Any


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of the calls that entries leave to Python, of functions jitted from here on."""
    seen: list[Any] = []
    slow = JitFunction._slow

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((args, kwargs))
        return slow(self, *args, **kwargs)

    monkeypatch.setattr(JitFunction, "_slow", noted)
    return seen


def _same(got: Any, want: Any) -> None:
    mine, structure = flatten(got)
    theirs, expected = flatten(want)
    assert structure == expected
    for actual, other in zip(mine, theirs, strict=True):
        assert isinstance(actual, tj.Tensor)
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(other))


x, y = np.arange(3.0), np.ones(3)

TAKEN: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "nested dict": (lambda p, z: {"w": p["w"] + z, "b": [p["b"]["c"] * 2]}, ({"w": x, "b": {"c": y}}, y), {}),
    "list in tuple": (lambda p: [p[0][0] + p[0][1], (p[1],)], (([x, y], 2.0),), {}),
    "keywords": (lambda a, *, scale, shift: a * scale + shift, (x,), {"shift": y, "scale": 3.0}),
    "keywords alone": (lambda a, b: a - b, (), {"b": y, "a": x}),
    "none": (lambda p: (p["a"] + 1, None), ({"a": x, "b": None},), {}),
    "namedtuple": (lambda p: p.left * 2 + p.right, (Pair(x, y),), {}),
    "empty containers": (lambda p, q: (p["a"] + 1, [], {}), ({"a": x}, ()), {}),
    "numbers": (lambda p: p["a"] * p["i"] + p["f"] * p["t"], ({"a": x, "i": 3, "f": 0.5, "t": True},), {}),
    "one in a tuple": (lambda a: (a + 1,), (x,), {}),
    "strided": (lambda a, b: a + b, (np.arange(6.0)[::2], np.arange(3.0)[::-1]), {}),
}


@pytest.mark.parametrize("name", TAKEN)
def test_structures_are_taken_natively(name: str, slow_calls: list[Any]) -> None:
    fn, args, kwargs = TAKEN[name]
    f = tj.jit(fn)
    want = f(*args, **kwargs)
    slow_calls.clear()
    _same(f(*args, **kwargs), want)
    assert slow_calls == []


def test_static_arguments_are_taken_natively_while_they_cannot_change(
    slow_calls: list[Any],
) -> None:
    class Setting:
        factor = 2.0

    setting = Setting()
    f = tj.jit(lambda a, n, s: a * n * len(s), static_argnums=(1, 2))
    g = tj.jit(lambda a, s: a * s.factor, static_argnums=1)
    f(x, 2, "ab"), g(x, setting)
    slow_calls.clear()
    assert np.array_equal(f(x, 2, "ab"), x * 4)
    assert len(slow_calls) == 0
    assert np.array_equal(f(x, 3, "ab"), x * 6)
    assert np.array_equal(g(x, setting), x * 2)
    assert len(slow_calls) == 2  # another value, and an object that could have changed


def test_names_of_any_origin(slow_calls: list[Any]) -> None:
    f = tj.jit(lambda p: p["alpha"] - p["beta"])
    f({"alpha": x, "beta": y})
    slow_calls.clear()
    computed = {"".join(["al", "pha"]): x, "".join(["be", "ta"]): y}
    assert np.array_equal(f(computed), x - y)
    assert slow_calls == []


OTHERS: dict[str, tuple[Any, ...]] = {
    "a key more": ({"a": x, "b": y, "c": x},),
    "another key": ({"a": x, "d": y},),
    "a key that is no string": ({"a": x, 1: y},),
    "list for dict": ([x, y],),
    "subclass of dict": (type("Sub", (dict,), {})(a=x, b=y),),
    "another shape": ({"a": np.ones(4), "b": np.ones(4)},),
    "another dtype": ({"a": x.astype(np.float32), "b": y},),
    "number for array": ({"a": 1.0, "b": y},),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_fit_goes_the_slow_way(name: str, slow_calls: list[Any]) -> None:
    def fn(p: Any) -> Any:
        values = p if isinstance(p, list) else list(p.values())
        return values[0] * 2.0 + values[1]

    f = tj.jit(fn)
    f({"a": x, "b": y})
    slow_calls.clear()
    try:
        got = f(*OTHERS[name])
    except tj.TracejitError:
        assert name == "subclass of dict"  # a leaf, and not one that jit takes
        return
    _same(got, fn(*[tj.tree_map(tj.asarray, argument) for argument in OTHERS[name]]))
    assert len(slow_calls) == 1


def test_keys_with_a_life_of_their_own() -> None:
    """A key that runs Python code when it is compared, with the hash of the key that is looked for."""

    class Key(str):
        def __hash__(self) -> int:
            return hash("b")

        def __eq__(self, other: object) -> bool:
            holder.clear()
            return False

    holder: dict[Any, Any] = {}
    f = tj.jit(lambda p: p["a"] + p["b"])
    f({"a": x, "b": y})
    for _ in range(50):
        holder = {"a": np.ones(3), Key("z"): np.ones(3)}
        with pytest.raises((KeyError, RuntimeError, tj.TracejitError)):
            f(holder)


def _random_tree(rng: random.Random, depth: int) -> Any:
    kind = rng.choice(["leaf", "dict", "list", "tuple", "none"]) if depth else "leaf"
    count = rng.randrange(4)
    if kind == "dict":
        return {rng.choice("abcdefgh") * (i + 1): _random_tree(rng, depth - 1) for i in range(count)}
    if kind in ("list", "tuple"):
        items = [_random_tree(rng, depth - 1) for _ in range(count)]
        return items if kind == "list" else tuple(items)
    if kind == "none":
        return None
    return rng.choice([np.full(2, rng.random()), tj.ones(rng.randrange(1, 4)), rng.random(), 7, True])


def _map(fn: Any, tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return structure.unflatten([fn(leaf) for leaf in leaves])


def test_random_trees() -> None:
    """Trees as arguments and as results, called with the same and with each other's structure."""
    rng = random.Random(5)
    trees = [_random_tree(rng, 3) for _ in range(40)]
    f = tj.jit(lambda tree: _map(lambda leaf: leaf + tj.asarray(1.5), tree))
    for _ in range(2):
        for tree in trees:
            _same(f(tree), _map(lambda leaf: np.asarray(leaf) + 1.5, tree))


def test_captures_in_containers_and_attributes(slow_calls: list[Any]) -> None:
    class Layer:
        def __init__(self) -> None:
            self.parts = [{"w": tj.ones(3)}, (tj.ones(3),)]

    layer = Layer()
    f = tj.jit(lambda a: a * layer.parts[0]["w"] + layer.parts[1][0])
    f(x)
    slow_calls.clear()
    layer.parts[0]["w"] = tj.asarray(x)
    layer.parts[1] = (tj.asarray(y),)
    assert np.array_equal(f(x), x * x + y)
    layer.parts = [{"w": tj.asarray(y)}, (tj.asarray(x),)]
    assert np.array_equal(f(x), x + x)
    assert slow_calls == []
    layer.parts = ({"w": tj.asarray(y)}, [tj.asarray(x)])  # other containers: looked up by Python
    assert np.array_equal(f(x), x + x)
    assert len(slow_calls) == 1


def test_an_attribute_that_raises_or_is_gone() -> None:
    class Holder:
        def __init__(self) -> None:
            self.inner = tj.ones(3)

    holder = Holder()
    f = tj.jit(lambda a: a * holder.inner)
    assert np.array_equal(f(x), x)
    del holder.inner
    with pytest.raises(AttributeError):
        f(x)
    holder.inner = tj.asarray(x)
    assert np.array_equal(f(x), x * x)


def test_references_balance_in_trees() -> None:
    tensors = [tj.ones(3) for _ in range(6)]
    tree = {"a": tensors[:3], "b": (tensors[3], {"c": tensors[4]}), "d": tensors[5]}
    f = tj.jit(lambda tree, *, k: {"sum": _map(lambda leaf: leaf * k, tree)["a"], "all": (tree["d"], None)})
    wrong = {**tree, "d": np.ones(4)}  # matches until its last leaf
    f(tree, k=2.0), f(wrong, k=2.0)
    objects = [
        *tensors,
        *[tensor.numpy() for tensor in tensors],
        tensors[0].dtype,
        None,
        "a",
        "sum",
        "all",
        tree,
    ]
    gc.collect()
    before = [sys.getrefcount(object_) for object_ in objects]
    for _ in range(2000):
        f(tree, k=2.0), f(wrong, k=2.0)
    gc.collect()
    after = [sys.getrefcount(object_) for object_ in objects]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 50, (before, after)


def test_more_leaves_than_the_stack_should_hold(slow_calls: list[Any]) -> None:
    many = [np.full(1, float(i)) for i in range(2500)]
    f = tj.jit(lambda values: values[7] + values[2499])
    for _ in range(2):
        assert f(many).tolist() == [2506.0]
    assert len(slow_calls) == 2


CHECKED = """
import collections
import numpy as np
import tracejit as tj

Pair = collections.namedtuple("Pair", "left right")
held = {"list": [1.0, 2.0], "tuple": (3.0,), "pair": Pair(4.0, 5.0), "deque": collections.deque([6.0])}
f = tj.jit(lambda x, n: (x["a"] + x["b"], [n * item for values in held.values() for item in values]))
a, b = np.ones(2), tj.ones(2)
for make in (lambda a, b: (a, b), lambda a, b: [a, b], Pair):
    g = tj.jit(lambda x: make(x[0] + x[1], x[0]))
    for _ in range(3):
        assert [value.tolist() for value in g(make(a, b))] == [[2, 2], [1, 1]]
    assert [value.tolist() for value in g(make(a, 1.5))] == [[2.5, 2.5], [1, 1]]
for x in ({"a": a, "b": b}, {"b": b, "a": a}):
    for n in (1.0, 2, True, 1j):
        total, products = f(x, n)
        assert total.tolist() == [2, 2] and [complex(p) for p in products] == [n * i for i in range(1, 7)]
held["deque"].append(7.0)
assert len(f(x, n=2.0)[1]) == 7
print("fine")
"""


def test_checked() -> None:
    """Code that looks at what it reads takes all containers for what they are."""
    assert python(CHECKED, TRACEJIT_CHECK="1", TRACEJIT_TIERS="0").strip() == "fine"
