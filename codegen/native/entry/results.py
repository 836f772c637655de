"""What the native entry makes and gives back: arrays, Tensors, containers. See `code`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ...interface import CACHED_BYTES
from ...llvm.emitter import Reg
from ..functions import ImportedFunction, Int, Objects, Words, native
from ..python_api import dict_set, empty_array, new_dict, new_list, new_tuple, vectorcall
from ..structs import ARRAY, LIST, OBJECT, TUPLE, WORDS, Items, Struct
from ..writer import NativeWriter, Pointer
from .nodes import RESULT, STRUCTURE, State, Table, behind
from .table import KINDS

_cached_array = ImportedFunction("tracejit_result_array", ARRAY, OBJECT, OBJECT, "i32", WORDS, "i64")


@native(ARRAY, inline=True)
def make_array(f: NativeWriter, node: Annotated[Pointer, RESULT], state: State) -> None:
    """The ndarray of a result: the donated input whose memory it reuses, or a new one; null if there is no
    memory."""
    reuses = node["reuses"]
    with f.if_(f.ge(reuses, 0)):
        f.ret(f.incref(state["arrays"].bounded(state["count"])[reuses]))
    rank, sizes, nbytes = f.cast(node["rank"], "i32"), node["sizes"], node["nbytes"]
    descr = f.incref(node["descr"])
    with f.if_(f.ge(nbytes, CACHED_BYTES)):
        f.ret(_cached_array(f, f.object_named("ndarray"), descr, rank, sizes, nbytes))
    f.ret(empty_array(f, rank, sizes, descr, 0))


@native("bool")
def record_call(f: NativeWriter, table: Table, results: Objects, count: Int, state: State) -> None:
    """Call the table's recorder with all results and the inputs that it gets; whether it did not raise. There
    is room for these inputs behind the results."""
    inputs = table["recorded"]
    with f.for_(inputs) as i:
        results[f.add(count, i)] = state["holders"].bounded(state["count"])[i]
    answer = vectorcall(f, table["recorder"], results, f.add(count, inputs), None)
    f.take(answer, f.returning(False))
    f.ret(True)


@native(OBJECT)
def build(f: NativeWriter, place: Annotated[Pointer, Items(STRUCTURE)], leaves: Objects, used: Words) -> None:
    """The object of the structure node at `place`, which takes over `leaves` from number `used` on; null
    where there is no memory. Both go on to what is next."""
    node, failed = place.value, f.returning(None)
    place.value = behind(node)

    def sequence(new: Callable[[NativeWriter, Reg], Pointer], struct: Struct) -> None:
        count = node["count"]
        container = f.take(new(f, count), failed).as_(struct)
        with f.for_(count) as i:
            item = build(f, place, leaves, used)
            failed.when(f.is_null(item))
            container["items"][i] = item
        f.ret(container)

    def dict_() -> None:
        container = f.take(new_dict(f), failed)
        with f.for_(node["count"]) as i:
            item = f.take(build(f, place, leaves, used), failed)
            failed.unless(f.eq(dict_set(f, container, node["keys"][i], item), 0))
        f.ret(container)

    f.switch(
        node["kind"],
        {
            KINDS["tuple"]: lambda: sequence(new_tuple, TUPLE),
            KINDS["list"]: lambda: sequence(new_list, LIST),
            KINDS["dict"]: dict_,
            KINDS["none"]: lambda: f.ret(f.incref(f.object_named("None"))),
        },
    )
    leaf = used.value
    used.value = f.add(leaf, 1)
    f.ret(leaves[leaf])
