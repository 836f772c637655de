"""Makes a Tensor the view of another, as `tracejit.eager.views.share` does. See `calls`."""

from __future__ import annotations

from ..functions import Array, Object, TensorObject, native
from ..python_api import (
    append_to_list,
    new_list,
    new_long,
    new_tuple,
    new_weak_reference,
    read_int,
    store_slot,
    vectorcall,
)
from ..structs import ARRAY, LIST, OBJECT, TENSOR, TUPLE, WEAK_REFERENCE
from ..writer import NativeWriter


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
    before = x["aliases"]
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
