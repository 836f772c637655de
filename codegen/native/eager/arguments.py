"""What the second argument of an eager call must be (`interface.SECOND`), so that NumPy means by it what we
mean. See `calls`.

"key" is an index of ints, slices between ints, None and Ellipsis; "axis" is None, an int or a tuple of ints,
of an array that has axes, and "terms" the same of an array that is not float16, whose terms NumPy may add up
as such; "shape" an int or ints that are sizes or -1; "matrix" a matrix of the dtype of the
first argument, which is one too, but not of float16.
"""

from __future__ import annotations

from collections.abc import Callable

from ...llvm.emitter import Reg
from ..functions import Object, native
from ..python_api import read_int
from ..structs import ARRAY, SLICE, TUPLE
from ..writer import NativeWriter, Pointer


def is_each(f: NativeWriter, object_: Pointer, check: Callable[[NativeWriter, Pointer], Reg]) -> Reg:
    """Whether `check` holds of an object or, where that is a tuple, of each of its items."""
    result = f.variable("bool", True)
    with f.if_(f.is_type(object_, "tuple")):
        items = object_.as_(TUPLE)
        with f.for_(items["size"]) as i:
            result.value = check(f, items["items"][i])
            f.out_of_loop.unless(result.value)
        f.else_()
        result.value = check(f, object_)
    value: Reg = result.value
    return value


@native("bool")
def is_bound(f: NativeWriter, number: Object) -> None:
    """Whether `number` is an int or None."""
    f.ret(f.or_(f.is_type(number, "int"), f.is_object(number, "None")))


@native("bool")
def is_index(f: NativeWriter, key: Object) -> None:
    """Whether `key` is an int, a slice between ints, None or Ellipsis."""
    with f.if_(f.is_type(key, "slice")):
        part = key.as_(SLICE)
        f.ret(f.all_(*[is_bound(f, part[bound]) for bound in ("start", "stop", "step")]))
    f.ret(f.or_(is_bound(f, key), f.is_object(key, "Ellipsis")))


@native("bool")
def is_key(f: NativeWriter, key: Object) -> None:
    """Whether `key` is an index, or a tuple of such."""
    f.ret(is_each(f, key, is_index))


@native("bool")
def is_axis(f: NativeWriter, axis: Object, array: Object) -> None:
    """Whether `axis` says which axes of `array` to reduce: None, or an int or ints where it has a rank."""
    f.returning(True).when(f.is_object(axis, "None"))
    f.returning(False).unless(f.is_type(array, "ndarray"))
    f.returning(False).when(f.eq(array.as_(ARRAY)["rank"], 0))
    f.ret(is_each(f, axis, lambda f, item: f.is_type(item, "int")))


@native("bool")
def is_axis_of_terms(f: NativeWriter, axis: Object, array: Object) -> None:
    """Whether `axis` says which axes of `array` to reduce, which is not float16."""
    with f.if_(f.is_type(array, "ndarray")):
        f.returning(False).when(f.is_object(array.as_(ARRAY)["descr"], "float16"))
    f.ret(is_axis(f, axis, array))


@native("bool")
def are_matrices(f: NativeWriter, a: Object, b: Object) -> None:
    """Whether both are arrays of rank 2 and of one dtype other than float16."""
    f.returning(False).unless(f.and_(f.is_type(a, "ndarray"), f.is_type(b, "ndarray")))
    x, y = a.as_(ARRAY), b.as_(ARRAY)
    f.returning(False).when(f.is_object(x["descr"], "float16"))
    f.ret(f.all_(f.eq(x["rank"], 2), f.eq(y["rank"], 2), f.eq(x["descr"], y["descr"])))


@native("bool")
def is_size(f: NativeWriter, object_: Object) -> None:
    """Whether an object is an int from -1 on: NumPy takes the ones below for -1."""
    place = f.variable("i64")
    f.returning(False).unless(read_int(f, object_, place))
    f.ret(f.ge(place.value, -1))


@native("bool")
def is_shape(f: NativeWriter, shape: Object) -> None:
    """Whether `shape` is a size, or a tuple of such."""
    f.ret(is_each(f, shape, is_size))
