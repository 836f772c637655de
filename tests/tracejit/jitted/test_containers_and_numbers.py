"""Pytrees and Python numbers as arguments and results."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import tracejit as tj

from .common import Counted, Layer, Point, same


def test_containers_in_and_out():
    tree = {"b": [tj.tensor([1.0]), (2.0, None)], "a": Point(3.0, tj.tensor([4.0, 5.0])), "c": ()}
    f = tj.jit(lambda t: tj.tree_map(lambda leaf: leaf * 2, t))
    for _ in range(2):
        out = f(tree)
        assert set(out) == {"a", "b", "c"}
        same(out["b"][0], [2])
        assert type(out["b"]) is list
        assert type(out["b"][1]) is tuple
        same(out["b"][1][0], 4.0)
        assert out["b"][1][1] is None
        assert type(out["a"]) is Point
        same(out["a"].y, [8, 10])
        assert out["c"] == ()


def test_dataclasses_in_and_out():
    f = tj.jit(lambda layer, x: Layer(layer.weight * x, layer.bias))
    out = f(Layer(tj.tensor([1.0, 2.0])), 3.0)
    assert type(out) is Layer
    same(out.weight, [3, 6])
    assert out.bias is None
    same(f(Layer(tj.tensor([1.0]), 5.0), 3.0).bias, 5.0)


class Registered:
    def __init__(self, value, name):
        self.value, self.name = value, name


tj.register_pytree_node(
    Registered, lambda r: ((r.value,), r.name), lambda name, kids: Registered(kids[0], name)
)


def test_registered_nodes_and_their_static_part():
    counted = Counted(lambda r: Registered(r.value + 1, r.name))
    f = tj.jit(counted)
    for name in ("a", "b", "a"):
        out = f(Registered(tj.tensor([1.0]), name))
        assert out.name == name
        same(out.value, [2])
    assert counted.runs == 2


def test_keys_and_their_order_matter():
    """A function may go through a dict, in its order (`test_key_order.py`)."""
    counted = Counted(lambda t: t["a"] - t["b"])
    f = tj.jit(counted)
    same(f({"a": 3.0, "b": 1.0}), 2.0)
    same(f({"a": 4.0, "b": 1.0}), 3.0)
    assert counted.runs == 1
    same(f({"b": 1.0, "a": 3.0}), 2.0)
    assert counted.runs == 2
    same(f({"b": 1.0, "a": 3.0, "c": 0.0}), 2.0)
    assert counted.runs == 3


def test_dict_subclasses_come_back_as_what_they_were():
    f = tj.jit(lambda t: t)
    ordered = f(collections.OrderedDict([("b", 1.0), ("a", 2.0)]))
    assert type(ordered) is collections.OrderedDict
    assert list(ordered) == ["b", "a"]
    same(ordered["b"], 1.0)
    default = f(collections.defaultdict(list, a=1.0))
    assert type(default) is collections.defaultdict
    assert default.default_factory is list
    same(default["a"], 1.0)


def test_a_container_of_nothing():
    f = tj.jit(lambda t: t)
    for empty in ([], {}, (), None, [None, ()]):
        assert f(empty) == empty


# -- Python numbers -------------------------------------------------------------------------------


def test_a_number_recompiles_on_its_type_and_not_on_its_value():
    counted = Counted(lambda x, s: x * s)
    f = tj.jit(counted)
    x = tj.tensor([1.0, 2.0])
    for value in (1.0, 2.5, -0.0, 1e300, 3.0):
        same(f(x, value), [value, 2 * value])
    assert counted.runs == 1
    for value in (1, 7, -(2**40)):
        same(f(x, value), [value, 2 * value])
    assert counted.runs == 2
    for value in (True, False):
        same(f(x, value), [value, 2 * value])
    assert counted.runs == 3
    text = f.explain()
    assert "3 signatures compiled" in text
    assert "argument s changed from Python float to Python int" in text
    assert "argument s changed from Python int to Python bool" in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [2.0, 2, True])
def test_numbers_are_weak_beside_floats(dtype, number):
    x = np.array([1.5, 2.5], dtype)
    want = [1.5, 2.5] if number is True else [3, 5]
    same(tj.jit(lambda x, s: x * s)(x, number), want, dtype)
    same(tj.jit(lambda x, s: s * x)(tj.asarray(x), number), want, dtype)
    same(tj.jit(lambda x, s: x * (s * 1))(x, number), want, dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_int_numbers_are_weak_beside_integers(dtype):
    same(tj.jit(lambda x, s: x + s)(np.array([1, 2], dtype), 5), [6, 7], dtype)
    same(tj.jit(lambda x, s: x * s)(np.array([1, 2], dtype), True), [1, 2], dtype)
    same(tj.jit(lambda x, s: x * s)(np.array([1, 2], dtype), 0.5), [0.5, 1.0], "float64")


def test_numbers_beside_bools():
    x = np.array([True, False])
    same(tj.jit(lambda x, s: x + s)(x, 2), [3, 2], "int64")
    same(tj.jit(lambda x, s: x * s)(x, 2.5), [2.5, 0.0])
    same(tj.jit(lambda x, s: x & s)(x, True), [True, False], "bool")


def test_numbers_alone_have_the_types_python_gives_them():
    same(tj.jit(lambda a, b: a / b)(1, 4), 0.25)
    same(tj.jit(lambda a, b: a // b)(7, 2), 3, "int64")
    same(tj.jit(lambda a, b: a * b)(2, 2.5), 5.0)


def test_a_python_int_that_does_not_fit_the_dtype_is_refused():
    f = tj.jit(lambda x, s: x + s)
    x = np.array([1], np.int8)
    same(f(x, 5), [6], "int8")
    for value in (300, -129):
        with pytest.raises((tj.TracejitError, OverflowError), match=str(value)):
            f(x, value)
    with pytest.raises((tj.TracejitError, OverflowError), match="-1"):
        f(np.array([1], np.uint8), -1)
    with pytest.raises(tj.DTypeError, match="300 does not fit int8"):
        tj.jit(lambda x: x + 300)(x)
    same(f(x, 6), [7], "int8")


def test_ints_beyond_64_bits_are_refused():
    f = tj.jit(lambda s: s + 1)
    with pytest.raises(tj.DTypeError, match="does not fit 64 bits"):
        f(2**64)
    same(f(2**62), 2**62 + 1, "int64")
    with pytest.raises(tj.DTypeError, match="does not fit 64 bits"):
        f(-(2**63) - 1)


def test_int_arguments_index():
    counted = Counted(lambda x, i: x[i])
    f = tj.jit(counted)
    x = np.arange(5.0)
    assert [f(x, i).item() for i in (0, 4, -1, -5, 2)] == [0, 4, 4, 0, 2]
    for bad in (5, -6, 2**40):
        with pytest.raises(tj.OutOfBoundsError, match="out of bounds for axis 0 with size 5"):
            f(x, bad)
    assert f(x, 3).item() == 3
    assert counted.runs == 1


def test_bool_arguments_select():
    f = tj.jit(lambda x, flag: tj.where(flag, x, -x))
    same(f(2.0, True), 2.0)
    same(f(2.0, False), -2.0)


@pytest.mark.parametrize("name", ["f8", "f4", "f2", "i8", "i1", "u2", "?", "c16", "c8"])
def test_scalars_of_numpy_are_served_natively(name: str, slow_calls: list[object]) -> None:
    scalar = np.dtype(name).type
    f, x = tj.jit(lambda x, y: x + y["by"]), np.arange(3).astype(name)
    for i, value in enumerate((3, 1, 0)):
        same(f(x, {"by": scalar(value)}), x + scalar(value), name)
        same(f(x, {"by": scalar(value)}), x + scalar(value), name)
        assert len(slow_calls) == 1, i
    same(f(x, {"by": tj.tensor(scalar(1))}), x + scalar(1), name)
    assert len(slow_calls) == 2  # arrays of rank 0 are no scalars where they index or are written
    same(f(x, {"by": np.array(scalar(1))}), x + scalar(1), name)
    same(f(x, {"by": scalar(1)}), x + scalar(1), name)
    assert len(slow_calls) == 2


def test_scalars_of_numpy_of_another_dtype_have_a_signature_of_their_own() -> None:
    f, x = tj.jit(lambda x, y: x * y), np.ones(2, np.float32)
    for scalar in (np.float64, np.float32, np.int64, np.float64, float):
        expected = x * scalar(3)
        for _ in range(2):
            same(f(x, scalar(3)), expected, str(expected.dtype))
