"""``tj.jit``: forms, static arguments, pytrees, numbers, recompilation, results, errors, threads, memory."""

from __future__ import annotations

import collections
import dataclasses
import functools
import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime.results import cached_bytes
from tracejit.state import STATE

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any = None


class Counted:
    """A function that counts how often Python runs it: once per trace."""

    def __init__(self, function: Any) -> None:
        self.runs = 0
        self.__wrapped__ = function
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def same(result: Any, values: Any, dtype: str = "float64") -> None:
    assert isinstance(result, tj.Tensor)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.numpy(), np.asarray(values, dtype))
    assert result.shape == np.shape(values)


@pytest.fixture
def float32_default() -> Any:
    tj.set_default_dtype("float32")
    yield
    tj.set_default_dtype("float64")


# -- forms ----------------------------------------------------------------------------------------


def test_decorator_function_and_decorator_with_arguments():
    @tj.jit
    def one(x):
        return x + 1

    @tj.jit(static_argnums=1)
    def two(x, n):
        return x * n

    @tj.jit()
    def three(x):
        return x - 1

    x = tj.tensor([1.0, 2.0])
    same(one(x), [2, 3])
    same(two(x, 3), [3, 6])
    same(three(x), [0, 1])
    same(tj.jit(lambda a: a * 2)(x), [2, 4])


def test_the_wrapper_keeps_name_and_docstring():
    @tj.jit
    def area(x):
        """What it is."""
        return x

    assert area.__name__ == "area"
    assert area.__doc__ == "What it is."
    assert "area" in repr(area)


def test_partials_builtins_and_callable_objects():
    class Scale:
        def __call__(self, x):
            return x * 5

    x = tj.tensor([1.0, 2.0])
    same(tj.jit(functools.partial(lambda a, b: a * b, 2.0))(x), [2, 4])
    same(tj.jit(tj.square)(x), [1, 4])
    same(tj.jit(Scale())(x), [5, 10])


def test_jit_of_something_else_than_a_function():
    with pytest.raises(tj.TracejitError, match="expected a function, got int"):
        tj.jit(3)


def test_calls_with_wrong_arguments_raise_what_python_raises():
    f = tj.jit(lambda x: x)
    for call in (lambda: f(), lambda: f(1, 2), lambda: f(y=1)):
        with pytest.raises(TypeError, match="argument"):
            call()
    same(f(1.0), 1.0)
    with pytest.raises(TypeError, match="argument"):
        f(1.0, 2.0)


class Model:
    def __init__(self, scale):
        self.scale = scale

    @tj.jit
    def plain(self, x):
        return x * self.scale

    @functools.partial(tj.jit, static_argnums=0)
    def static(self, x):
        return x * self.scale

    @staticmethod
    @tj.jit
    def apart(x):
        return x * 2


def test_methods():
    model = Model(3)
    x = tj.tensor([1.0, 2.0])
    with pytest.raises(tj.DTypeError, match=r"plain: argument .* has type Model.*static_argnums"):
        model.plain(x)
    same(model.static(x), [3, 6])
    same(Model(4).static(x), [4, 8])
    same(model.static(x), [3, 6])
    same(Model.apart(x), [2, 4])
    same(tj.jit(model.static)(x), [3, 6])


def test_keyword_and_default_arguments():
    @tj.jit
    def f(x, y=3, *, z=1.0):
        return x * y + z

    x = tj.tensor([1.0, 2.0])
    for _ in range(3):
        same(f(x), [4, 7])
        same(f(x, 2), [3, 5])
        same(f(x, y=2), [3, 5])
        same(f(z=10.0, x=x), [13, 16])
        same(f(x, 2, z=0.0), [2, 4])
    same(tj.jit(lambda *a, **k: a[0] + a[1] + k["b"])(1.0, 2.0, b=3.0), 6.0)


# -- static arguments -----------------------------------------------------------------------------


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


# -- containers -----------------------------------------------------------------------------------


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


def test_dict_order_does_not_matter_but_keys_do():
    counted = Counted(lambda t: t["a"] - t["b"])
    f = tj.jit(counted)
    same(f({"a": 3.0, "b": 1.0}), 2.0)
    same(f({"b": 1.0, "a": 3.0}), 2.0)
    assert counted.runs == 1
    same(f({"b": 1.0, "a": 3.0, "c": 0.0}), 2.0)
    assert counted.runs == 2


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


# -- recompilation --------------------------------------------------------------------------------


def test_shape_dtype_and_structure_recompile_each_once():
    counted = Counted(lambda x: tj.tree_leaves(x)[0] * 2)
    f = tj.jit(counted)
    calls = [
        np.zeros(2),
        np.zeros(3),
        np.zeros((3, 1)),
        np.zeros(2, "f4"),
        [np.zeros(2)],
        (np.zeros(2),),
        {"a": np.zeros(2)},
    ]
    for _ in range(3):
        for argument in calls:
            assert f(argument).shape == tj.tree_leaves(argument)[0].shape
    assert counted.runs == len(calls)
    text = f.explain()
    assert "f64[2]): first call" in text
    assert "argument x changed from f64[2] to f64[3]" in text
    assert f"{len(calls)} signatures compiled" in text


def test_tensors_and_arrays_and_numpy_scalars_of_one_type_share_a_signature():
    counted = Counted(lambda x: x + 1)
    f = tj.jit(counted)
    for one in (tj.tensor(1.0), np.array(1.0), np.float64(1.0)):
        same(f(one), 2.0)
    assert counted.runs == 1


def test_the_default_dtype_recompiles():
    for function, args in (
        (lambda: tj.zeros(2), ()),
        (lambda x: tj.zeros(2) + x, (1,)),
        (lambda x: x + tj.ones(2), (1.0,)),
    ):
        f = tj.jit(function)
        assert f(*args).dtype == f(*args).dtype == np.float64
        try:
            tj.set_default_dtype("float32")
            assert f(*args).dtype == np.float32
            assert f(*args).dtype == np.float32
        finally:
            tj.set_default_dtype("float64")
        assert f(*args).dtype == np.float64


@pytest.mark.usefixtures("float32_default")
def test_floats_alone_have_the_default_dtype():
    assert (tj.tensor(1.5) * 2).dtype == np.float32
    assert tj.jit(lambda s: s * 2)(1.5).dtype == np.float32


def test_clear_cache_compiles_again():
    counted = Counted(lambda x: x + 1)
    f = tj.jit(counted)
    same(f(1.0), 2.0)
    f.clear_cache()
    assert "0 signatures" in f.explain()
    same(f(1.0), 2.0)
    same(f(2.0), 3.0)
    assert counted.runs == 2


def test_many_signatures_stay_right():
    f = tj.jit(lambda x: x.sum())
    for _ in range(2):
        for n in range(1, 12):
            same(f(np.ones(n)), float(n))


# -- results --------------------------------------------------------------------------------------


def test_kinds_of_results():
    x = tj.tensor([1.0, 2.0])
    assert tj.jit(lambda x: None)(x) is None
    same(tj.jit(lambda x: 3)(x), 3, "int64")
    same(tj.jit(lambda x: 2.5)(x), 2.5)
    same(tj.jit(lambda x: True)(x), True, "bool")
    same(tj.jit(lambda x: np.arange(3))(x), [0, 1, 2], "int64")
    same(tj.jit(lambda x: np.float32(2))(x), 2, "float32")
    assert tj.jit(lambda x: [])(x) == []


def test_the_same_tensor_twice():
    def twice(x):
        y = x * 2
        return y, y, x

    a, b, c = tj.jit(twice)(np.array([1.0, 2.0]))
    same(a, [2, 4])
    same(b, [2, 4])
    same(c, [1, 2])


@pytest.mark.parametrize(
    "bad",
    ["text", 1j, object(), {1, 2}, np.array("a"), np.array(1j), np.array([None])],
    ids=lambda bad: type(bad).__name__,
)
def test_results_of_other_types_are_refused(bad):
    with pytest.raises(tj.DTypeError):
        tj.jit(lambda x: {"out": [x, bad]})(1.0)
    assert STATE.tracer is None


def test_the_error_for_a_result_says_where_it_is():
    with pytest.raises(tj.DTypeError, match=r"result \['out'\]\[1\] has type str"):
        tj.jit(lambda x: {"out": [x, "text"]})(1.0)


VIEWS = {
    "itself": lambda x: x,
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1),
    "slice": lambda x: x[:1],
    "broadcast": lambda x: tj.broadcast_to(x, (2, *x.shape)),
    "astype": lambda x: x.astype("float64", copy=False),
    "twice": lambda x: (x, x.T),
    "asarray": lambda x: tj.asarray(x),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("shape", [(2, 2), (100, 200)], ids=str)
@pytest.mark.parametrize("kind", [np.asarray, tj.tensor])
def test_results_share_no_memory_with_inputs_and_can_be_written(name, shape, kind):
    x = kind(np.arange(float(np.prod(shape))).reshape(shape))
    before = np.array(x)
    f = tj.jit(VIEWS[name])
    for _ in range(2):
        for one in tj.tree_leaves(f(x)):
            assert not np.shares_memory(one.numpy(), np.asarray(x))
            one[0] = -7.0
    np.testing.assert_array_equal(np.asarray(x), before)


def test_a_returned_capture_shares_no_memory_with_it():
    held = tj.tensor([1.0, 2.0])
    f = tj.jit(lambda: held)
    for _ in range(2):
        out = f()
        out[0] = 9.0
    same(held, [1, 2])


def test_writing_to_an_argument_leaves_the_callers_alone():
    @tj.jit
    def f(x):
        x[0] = 9.0
        x += 1
        return x

    for argument in (np.array([1.0, 2.0]), tj.tensor([1.0, 2.0])):
        for _ in range(2):
            same(f(argument), [10, 3])
            np.testing.assert_array_equal(np.asarray(argument), [1, 2])


# -- layouts --------------------------------------------------------------------------------------

_BASE = np.arange(1.0, 25.0)


def _misaligned():
    out = np.frombuffer(bytearray(1 + _BASE.nbytes), np.uint8)[1:].view(np.float64)
    out[:] = _BASE
    assert not out.flags.aligned
    return out


def _read_only():
    out = _BASE.copy()
    out.flags.writeable = False
    return out


LAYOUTS = {
    "contiguous": _BASE,
    "strided": np.repeat(_BASE, 2)[::2],
    "reversed": _BASE[::-1],
    "misaligned": _misaligned(),
    "read-only": _read_only(),
    "byte-swapped": _BASE.astype(_BASE.dtype.newbyteorder()),
    "byte-swapped ints": np.arange(24).astype(">i4"),
    "transposed": _BASE.reshape(4, 6).T,
    "fortran": np.asfortranarray(_BASE.reshape(4, 6)),
    "both reversed": _BASE.reshape(4, 6)[::-1, ::-1],
    "field": np.ones(24, [("a", "i1"), ("b", "f8")])["b"],
    "broadcast": np.broadcast_to(np.arange(6.0), (4, 6)),
    "stride 0": np.lib.stride_tricks.as_strided(_BASE, (24,), (0,)),
    "overlapping": np.lib.stride_tricks.as_strided(_BASE, (20, 4), (8, 8)),
    "empty": np.zeros((0, 3)),
    "empty in the middle": np.zeros((3, 0, 2)),
    "rank 0": np.array(2.5),
    "numpy scalar": np.float64(2.5),
    "float32 scalar": np.float32(2.5),
    "int scalar": np.int16(3),
    "bool scalar": np.True_,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    x = LAYOUTS[name]
    before = np.array(x)
    want = np.array(x) * 2 + 1
    f = tj.jit(lambda x: x * 2 + 1)
    if np.shape(x) == (24,) and x.dtype.kind == "f":
        f(_BASE)  # the native entry of this type is there already
    for _ in range(2):
        for argument in (x, tj.asarray(x)):
            out = f(argument)
            assert out.dtype == want.dtype.newbyteorder("=")
            assert out.shape == want.shape
            np.testing.assert_array_equal(out.numpy(), want)
            assert not np.shares_memory(out.numpy(), np.asarray(x))
            total = tj.jit(lambda x: x.sum())(argument)
            assert total.item() == np.asarray(before, np.float64).sum()  # small whole numbers: exact
    np.testing.assert_array_equal(np.asarray(x), before)


# -- nesting, errors, threads ---------------------------------------------------------------------


def test_nested_jit_and_jit_of_jit():
    inner = tj.jit(lambda x: x * 2)
    outer = tj.jit(lambda x: inner(x) + inner(x + 1))
    same(outer(tj.tensor([1.0])), [6])
    same(inner(tj.tensor([1.0])), [2])
    same(tj.jit(tj.jit(inner))(tj.tensor([1.0])), [2])


def test_recursion_over_a_static_argument():
    @tj.jit(static_argnums=1)
    def power(x, n):
        return x if n == 0 else power(x * 2, n - 1)

    same(power(tj.tensor([1.0]), 5), [32])


def test_endless_recursion_is_an_error_and_leaves_things_clean():
    @tj.jit
    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError):
        endless(tj.tensor([1.0]))
    assert STATE.tracer is None
    same(tj.jit(lambda x: x + 1)(1.0), 2.0)


def test_an_exception_in_the_function_leaves_things_clean():
    fail = True

    @tj.jit
    def f(x):
        y = x * 2
        if fail:
            raise KeyError("mine")
        return y

    other = tj.jit(lambda x: x + 1)
    same(other(1.0), 2.0)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            f(tj.tensor([1.0]))
        assert STATE.tracer is None
        assert STATE.recording is True
        same(other(1.0), 2.0)
        same(tj.tensor([1.0]) + 1, [2])
    fail = False
    same(f(tj.tensor([1.0])), [2])


def _leak():
    leaked = []

    def store(x):
        leaked.append(x)
        return x * 1

    tj.jit(store)(tj.tensor([1.0]))
    return leaked[0]


LEAK_USES = {
    "add": lambda x: x + 1,
    "compare": lambda x: x > 0,
    "sum": lambda x: x.sum(),
    "reshape": lambda x: x.reshape(1, 1),
    "matmul": lambda x: x @ x,
    "index": lambda x: x[0],
    "slice": lambda x: x[0:1],
    "stack": lambda x: tj.stack([x, x]),
    "concatenate": lambda x: tj.concatenate([x, tj.ones(1)]),
    "where": lambda x: tj.where(tj.tensor([True]), x, 0.0),
    "exp": lambda x: tj.exp(x),
    "einsum": lambda x: tj.einsum("i,i", x, x),
    "cumsum": lambda x: tj.cumsum(x),
    "astype": lambda x: x.astype("float32"),
    "setitem": lambda x: x.__setitem__(0, 1.0),
    "value of setitem": lambda x: tj.ones(1).__setitem__(slice(None), x),
    "beside an array": lambda x: np.ones(1) + x,
    "in another trace": lambda x: tj.jit(lambda y: y + x)(tj.ones(1)),
    "argument": lambda x: tj.jit(lambda y: y)(x),
    "gradient": lambda x: tj.grad(lambda y: (y * x).sum())(tj.ones(1)),
}


@pytest.mark.parametrize("name", LEAK_USES)
def test_leaked_tracers_say_what_happened(name):
    leaked = _leak()
    with pytest.raises(tj.TraceError, match="outlived its trace"):
        LEAK_USES[name](leaked)
    assert STATE.tracer is None


def test_a_leaked_tracer_has_a_text():
    assert repr(_leak()) == "tensor(<traced f64[1]>)"


CONCRETE = {
    "if": lambda x: 1 if x else 2,
    "while": lambda x: [None for _ in iter(lambda: bool(x), False)],
    "float": lambda x: float(x),
    "int": lambda x: int(x),
    "range": lambda x: range(x),
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "np.exp": lambda x: np.exp(x),
    "np.full": lambda x: np.full(3, x),
    "np.asarray": lambda x: np.asarray(x),
    "in": lambda x: 3 in x,
    "and": lambda x: x and 1,
    "max": lambda x: max(x, 1.0),
    "list index": lambda x: [1, 2][x],
    "format": lambda x: f"{x:.2f}",
    "complex": lambda x: complex(x),
    "zeros": lambda x: tj.zeros(x),
}


@pytest.mark.parametrize("name", CONCRETE)
def test_a_traced_value_asked_for_its_python_value_names_the_line(name):
    function = CONCRETE[name]
    line = function.__code__.co_firstlineno
    argument = 1 if name in ("range", "list index", "zeros") else 1.0
    with pytest.raises(
        tj.ConcretizationError, match=rf"traced tensor.*test_jit\.py:{line}\b.*Use "
    ) as caught:
        tj.jit(function, on_branch="error")(argument)
    assert isinstance(caught.value, TypeError)
    assert STATE.tracer is None


def test_threads_call_and_compile_at_once():
    counted = Counted(lambda x, s: (x * s).sum())
    f = tj.jit(counted)
    wrong: list[Any] = []
    barrier = threading.Barrier(4)

    def work(seed):
        barrier.wait()
        for i in range(200):
            n = 1 + (i + seed) % 3
            if f(np.full(n, 2.0), float(i)).item() != 2.0 * n * i:
                wrong.append((seed, i))
            if (tj.tensor([1.0]) + 1).item() != 2.0:
                wrong.append("eager")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    assert counted.runs == 3


def test_disable_jit():
    counted = Counted(lambda x: x * 2)
    f = tj.jit(counted)
    f(1.0)
    f(1.0)
    with tj.disable_jit():
        with tj.disable_jit():
            same(f(tj.tensor(1.0)), 2.0)
        same(f(tj.tensor(1.0)), 2.0)
    assert counted.runs == 3
    f(1.0)
    assert counted.runs == 3
    with pytest.raises(ValueError, match="inside"), tj.disable_jit():
        raise ValueError("inside")
    f(1.0)
    assert counted.runs == 3


def test_python_side_effects_happen_only_while_tracing():
    seen = []
    f = tj.jit(lambda x: (seen.append("trace"), x + 1)[1])
    for _ in range(5):
        f(1.0)
    assert seen == ["trace"]


def test_explain_names_what_is_not_native():
    f = tj.jit(lambda x, y: tj.gcd(x, y) + 1)
    same(f(np.array([12, 18]), np.array([8, 27])), [5, 10], "int64")
    text = f.explain()
    assert "gcd" in text
    assert "not compiled" in text
    g = tj.jit(lambda x: x + 1)
    g(1.0)
    assert "everything is native code" in g.explain()
    assert "milliseconds: trace" in g.explain()


def test_explain_before_the_first_call_compiles_nothing():
    assert "0 signatures" in tj.jit(lambda x: x).explain()


# -- memory ---------------------------------------------------------------------------------------


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_of_large_results_comes_back():
    f = tj.jit(lambda x: (x + 1, x * 2))
    x = np.zeros(1 << 18)
    f(x)
    before = _resident()
    for _ in range(300):  # 4 MB each time: 1.2 GB if nothing came back
        a, b = f(x)
    assert a.numpy()[0] == 1.0
    assert b.numpy()[0] == 0.0
    assert _resident() - before < 100 << 20
    del a, b
    assert 0 < cached_bytes() <= 1 << 28


def test_live_results_are_never_used_again():
    f = tj.jit(lambda x: x + 1)
    kept = [f(np.full(1 << 14, float(i))) for i in range(10)]
    part = f(np.full(1 << 14, 50.0))[10:20]
    array = f(np.full(1 << 14, 60.0)).numpy()
    for i in range(20):
        f(np.full(1 << 14, -float(i)))
    for i, one in enumerate(kept):
        assert (one.numpy() == i + 1).all()
    assert (part.numpy() == 51).all()
    assert (array == 61).all()
