"""Eager operations that NumPy has as a builtin function: ``tracejit_eager_call``.

A ``METH_FASTCALL`` function whose ``self`` is a bytes object with the address of a table (`CALL_TABLE`). Some
of its arguments are operands: Tensors, or Python numbers. It calls the table's `kernel` with their arrays and
the other arguments as they are, and wraps what comes back. Where an operand requires a gradient and the
result is floating it calls `remember` with the result and the arguments. Where the table has a `step`, what
is in the memory of the first argument is made its view, as `tracejit.tape.views.share` would, by the step
``(step, argument)``: the second argument, None where there is no such, or all that follow as a tuple. A
`writable` view may be written where the first argument may. `second` says what the second argument must be:
see `interface.SECOND`.

Everything else goes to `slow`, in the same call: operands that are no Tensors, what the kernel raises an
exception for (which says it in NumPy's words) or gives None for, and every call while a thread traces or
somebody looks at kernels.

Of second arguments, "key" is an index of ints, slices between ints, None and Ellipsis; "axis" is None, an int
or a tuple of ints, of an array that has axes, and "terms" the same of an array that is not float16, whose
terms NumPy may add up as such; "shape" an int or ints that are sizes or -1; "ints" ints, as are all arguments
that follow; "matrix" a matrix of the dtype of the first argument, which is one too, but not of float16.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from ...interface import CALL_TABLE, EAGER_CALL, MAX_ARGUMENTS, SECOND, WRITEABLE
from ...llvm.emitter import Reg
from ..functions import Array, Int, Object, Objects, TensorObject, native
from ..objects import decref_all, incref_all, read_int, store_slot
from ..pointers import Pointer
from ..python_api import (
    append_to_list,
    array_from_scalar,
    clear_error,
    error_matches,
    is_subtype,
    new_list,
    new_long,
    new_tuple,
    new_weak_reference,
    vectorcall,
)
from ..structs import ARRAY, LIST, OBJECT, SLICE, TENSOR, TUPLE, WEAK_REFERENCE, bytes_of, words
from ..tensors import requires_grad, wrap
from ..writer import Exit, NativeWriter


@native("bool")
def in_memory_of(f: NativeWriter, array: Array, x: TensorObject) -> None:
    """Whether `array`, which NumPy made of the array of the Tensor `x`, is in its memory."""
    source = x["data"].as_(ARRAY)
    base = array["base"]
    of_source = f.or_(f.eq(base, source), f.eq(base, source["base"]))
    f.ret(f.or_(f.eq(array, source), f.and_(f.not_(f.is_null(base)), of_source)))


@native("bool")
def share(
    f: NativeWriter, x: TensorObject, view: TensorObject, step: Object, how: Object, shorten: Object
) -> None:
    """Make the Tensor `view` a view of `x`, by the step (`step`, `how`): what `views.share` does where `x`
    requires no gradient, or where this thread records. False with an exception where that fails."""
    failed = f.returning(False)
    with f.if_(f.is_object(x["version"], "None")):
        counter = f.take(new_list(f, 1), failed).as_(LIST)
        counter["items"][0] = new_long(f, 0)
        store_slot(f, x.at("version"), f.give(counter))
    store_slot(f, view.at("version"), f.incref(x["version"]))
    # a view's aliases are the Tensor that it is a view of, and the steps that lead to it
    # what is new may make the collector run Python code, which may give `x` others
    before = f.own(f.incref(x["aliases"]))
    is_view = f.is_type(before, "tuple")
    steps = f.variable("i64", 1)
    with f.if_(is_view):
        steps.value = before.as_(TUPLE)["size"]
    chain = f.take(new_tuple(f, f.add(steps.value, 2)), failed).as_(TUPLE)
    with f.if_(is_view):
        with f.for_(steps.value) as i:
            chain["items"][i] = f.incref(before.as_(TUPLE)["items"][i])
        f.else_()
        chain["items"][0] = f.incref(x)
    chain["items"][steps.value] = f.incref(step)
    chain["items"][f.add(steps.value, 1)] = f.incref(how)
    base = chain["items"][0].as_(TENSOR)
    store_slot(f, view.at("aliases"), f.give(chain))
    reference = f.take(new_weak_reference(f, view, None), failed)
    with f.if_(f.is_object(base["aliases"], "None")):
        empty = f.take(new_list(f, 1), failed).as_(LIST)
        empty["items"][0] = new_long(f, 0)
        store_slot(f, base.at("aliases"), f.give(empty))
    views = f.own(f.incref(base["aliases"])).as_(LIST)
    size = views["size"]
    # the list begins with the length at which it is to be shortened
    with f.if_(f.gt(size, 1)):
        last = views["items"].at(f.sub(size, 1))
        with f.if_(f.is_object(last.value.as_(WEAK_REFERENCE)["referent"], "None")):
            store_slot(f, last, f.incref(reference))
            f.ret(True)
        most = f.array("i64", 1)
        with f.if_(read_int(f, views["items"][0], most)), f.if_(f.gt(size, most.value)):
            arguments = f.array(OBJECT, 1)
            arguments[0] = views
            f.take(vectorcall(f, shorten, arguments, 1, None), failed)
    f.ret(f.eq(append_to_list(f, views, reference), 0))


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


@native(OBJECT)
def argument_of_step(f: NativeWriter, args: Objects, nargs: Int) -> None:
    """Argument with which the step of a view is called: the one behind the operand, None where there is no
    such, a tuple of several. Null with an exception where there is no memory."""
    with f.if_(f.lt(nargs, 2)):
        f.ret(f.incref(f.object_named("None")))
    with f.if_(f.eq(nargs, 2)):
        f.ret(f.incref(args[1]))
    count = f.sub(nargs, 1)
    several = f.take(new_tuple(f, count), f.returning(None)).as_(TUPLE)
    with f.for_(count) as i:
        several["items"][i] = f.incref(args[f.add(i, 1)])
    f.ret(several)


@native("bool")
def are_ints(f: NativeWriter, args: Objects, nargs: Int) -> None:
    """Whether all arguments but the first are ints."""
    with f.for_(nargs, 1) as i:
        f.returning(False).unless(f.is_type(args[i], "int"))
    f.ret(True)


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


CALL: Final = words(
    "call table", CALL_TABLE, kernel=OBJECT, slow=OBJECT, remember=OBJECT, step=OBJECT, shorten=OBJECT
)


@native(OBJECT, export=EAGER_CALL)
def eager_call(f: NativeWriter, self: Annotated[Pointer, bytes_of(CALL)], args: Objects, nargs: Int) -> None:
    """A call with `nargs` arguments."""
    table, raised = self["content"], f.returning(None)
    with f.attempt() as slow:
        slow.when(is_bypassed(f))
        slow.unless(f.below(nargs, MAX_ARGUMENTS))
        values = f.array(OBJECT, MAX_ARGUMENTS)
        tracked = _take_operands(f, table, args, nargs, values, slow)
        array = _result_of_kernel(f, table, values, nargs, slow)
        result = f.take(wrap(f, array), raised)
        with f.if_(f.not_(f.is_null(table["step"]))):
            _share_memory(f, table, args, nargs, array, result, raised)
        descr = array["descr"]
        inexact = ("float32", "float64", "float16", "complex128", "complex64")
        floating = f.any_(*[f.is_object(descr, name) for name in inexact])
        with f.if_(f.all_(tracked, floating, f.not_(f.is_null(table["remember"])))):
            values[0] = result
            with f.for_(nargs) as i:
                values[f.add(i, 1)] = args[i]
            f.take(vectorcall(f, table["remember"], values, f.add(nargs, 1), None), raised)
        f.ret(result)
    f.ret(vectorcall(f, table["slow"], args, nargs, None))


def _share_memory(
    f: NativeWriter, table: Pointer, args: Pointer, nargs: Reg, array: Pointer, result: Pointer, raised: Exit
) -> None:
    """Make `result` a view of the first argument, a Tensor, where its `array` lies in the memory of that."""
    x = args[0].as_(TENSOR)
    with f.if_(in_memory_of(f, array, x)):
        with f.if_(f.ne(table["writable"], 0)):
            writable = f.and_(x["data"].as_(ARRAY)["flags"], WRITEABLE)
            array["flags"] = f.or_(array["flags"], writable)
        argument = f.take(argument_of_step(f, args, nargs), raised)
        raised.unless(share(f, x, result, table["step"], argument, table["shorten"]))


def is_bypassed(f: NativeWriter) -> Reg:
    """Whether all calls take their Python functions: a thread traces or observes."""
    return f.ne(f.global_("tracejit_bypass", "i64").value, 0)


def _take_operands(
    f: NativeWriter, table: Pointer, args: Pointer, nargs: Reg, values: Pointer, slow: Exit
) -> Reg:
    """Put the arguments into `values`, arrays for Tensors; whether a Tensor requires a gradient."""
    first, operands, second = (table[name] for name in ("first", "operands", "second"))
    stop = f.select(f.eq(operands, 0), nargs, f.add(first, operands))
    slow.unless(f.le(stop, nargs))
    slow.unless(f.or_(f.eq(second, SECOND["any"]), f.ge(nargs, 2)))
    f.switch(
        second,
        {
            SECOND["key"]: lambda: slow.unless(is_key(f, args[1])),
            SECOND["shape"]: lambda: slow.unless(is_shape(f, args[1])),
            SECOND["ints"]: lambda: slow.unless(are_ints(f, args, nargs)),
        },
    )
    tracked = f.variable("bool", False)
    with f.for_(nargs) as i:
        value = args[i]
        values[i] = value
        f.next_turn.unless(f.and_(f.ge(i, first), f.lt(i, stop)))
        with f.if_(f.is_type(value, "Tensor")):
            data = value.as_(TENSOR)["data"]
            slow.when(f.is_null(data))
            slow.unless(f.is_type(data, "ndarray"))
            # Python tells scalars, whose results are scalars and which have no views, from arrays
            slow.when(f.and_(f.eq(i, first), f.eq(data.as_(ARRAY)["rank"], 0)))
            values[i] = data
            tracked.value = f.or_(tracked.value, requires_grad(f, value))
            f.else_()
            # a number has no memory that could be viewed
            slow.unless(f.is_null(table["step"]))
            with f.if_(f.not_(f.is_type(value, "float"))):
                slow.unless(read_int(f, value, f.array("i64", 1)))
    f.switch(
        second,
        {
            SECOND["terms"]: lambda: slow.unless(is_axis_of_terms(f, args[1], values[0])),
            SECOND["axis"]: lambda: slow.unless(is_axis(f, args[1], values[0])),
            SECOND["matrix"]: lambda: slow.unless(are_matrices(f, values[0], values[1])),
        },
    )
    result: Reg = tracked.value
    return result


def _result_of_kernel(f: NativeWriter, table: Pointer, values: Pointer, nargs: Reg, slow: Exit) -> Pointer:
    """Call the kernel on `values`; its result as a new array."""
    # the kernel may run Python code, which may give the Tensors other arrays
    incref_all(f, values, nargs)
    outcome = vectorcall(f, table["kernel"], values, nargs, None)
    decref_all(f, values, 0, nargs)
    with f.if_(f.is_null(outcome)):
        f.returning(None).when(f.eq(error_matches(f, f.object_named("Exception")), 0))
        clear_error(f)
        slow.leave()
    array = f.variable(ARRAY, outcome.as_(ARRAY))
    with f.if_(f.not_(f.is_type(outcome, "ndarray"))):
        f.own(outcome)
        slow.when(f.eq(is_subtype(f, outcome["type"], f.object_named("generic")), 0))
        array.value = array_from_scalar(f, outcome, None)
        f.returning(None).when(f.is_null(array.value))
    result: Pointer = array.value
    return result
