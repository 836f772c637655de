"""The native call entry: a ``METH_FASTCALL | METH_KEYWORDS`` function that reads a table.

Its ``self`` is a bytes object that holds the table (`table`), so the table lives as long as the callable. It
checks that every argument is what the table wants, down through containers: an ndarray or Tensor of the dtype
and shape (requiring a gradient or not), a Python number, or a certain object. Arrays that are not contiguous
and aligned are copied. Then it allocates the results, runs ``@main`` and wraps them. The entry of calls
that record gradients calls the table's `recorder` with these and the inputs, and drops the residuals, which
the tape holds from then on. On anything else it calls the table's `slow` with the same arguments. It holds
references to what it reads: without the GIL another thread may rebind a name.

A donated argument is taken only where nobody else uses its memory: a writable array that overlaps no other
input and, if a Tensor, has no views, no gradient and no graph that saved it. Where a result reuses its
memory, that result is the Tensor itself.

Results are Tensors, save where code of SciPy's makes the call and no gradients are recorded. It computes with
results and hands them to C, so it gets what NumPy's functions give: arrays, and scalars for those of rank 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ...interface import CACHED_BYTES, ENTRY, RAISED
from ...llvm.emitter import Reg
from ..functions import ImportedFunction, Int, Object, Objects, Words, native
from ..module import NativeModule
from ..objects import decref_all
from ..pointers import Pointer
from ..python_api import (
    array_return,
    clear_error,
    current_globals,
    dict_get,
    dict_set,
    empty_array,
    get_attribute,
    matches,
    new_dict,
    new_list,
    new_long,
    new_tuple,
    restore_thread,
    save_thread,
    vectorcall,
)
from ..structs import (
    ARRAY,
    BYTES,
    CELL,
    FUNCTION,
    LIST,
    OBJECT,
    OBJECTS,
    TUPLE,
    WORDS,
    Inline,
    Items,
    Struct,
    bytes_of,
)
from ..tensors import wrap
from ..writer import Exit, NativeWriter
from .matching import (
    NODE,
    RESULT,
    SOURCE,
    STRUCTURE,
    TABLE,
    State,
    Table,
    behind,
    match,
    new_state,
    overlaps,
    release_inputs,
    section,
)
from .table import KINDS, STARTS, STEPS, EntryLayout


@native(OBJECT)
def follow(
    f: NativeWriter, source: Annotated[Pointer, SOURCE], past: Annotated[Pointer, Items(NODE)], state: State
) -> None:
    """The object that a source leads to, else null; `past` gets the address of the node behind."""
    count, steps, holder = source["count"], source["steps"], source["holder"]
    past.value = steps.at(count).as_(NODE)
    value = f.variable(OBJECT, holder)

    def from_cell() -> None:
        value.value = holder.as_(CELL)["content"]

    def from_globals() -> None:
        value.value = dict_get(f, holder, source["key"])

    f.switch(source["start"], {STARTS["cell"]: from_cell, STARTS["global"]: from_globals})
    with f.attempt() as missing:
        with f.for_(count) as i:
            missing.when(f.is_null(value.value))
            _take_step(f, steps[i], value, state, missing)
        missing.when(f.is_null(value.value))
        f.ret(value.value)
    clear_error(f)
    f.ret(None)


def _take_step(f: NativeWriter, step: Pointer, value: Pointer, state: Pointer, missing: Exit) -> None:
    """Follow one step from an object: to its attribute, its item or the value of a key."""
    holder = value.value

    def attribute() -> None:
        attribute = get_attribute(f, holder, step["what"])
        missing.when(f.is_null(attribute))
        # others hold what lies in a container; what an attribute gives may be new
        count = state["extra_count"]
        state["extra"].bounded(state["extra_room"])[count] = attribute
        state["extra_count"] = f.add(count, 1)
        value.value = attribute

    def key() -> None:
        missing.unless(f.is_type(holder, "dict"))
        value.value = dict_get(f, holder, step["what"])

    def item(items: Pointer, size: Reg) -> None:
        position = step["position"]
        position = f.select(f.lt(position, 0), f.add(position, size), position)
        missing.unless(f.below(position, size))
        value.value = items[position]

    def tuple_item() -> None:
        missing.unless(f.is_type(holder, "tuple"))
        item(holder.as_(TUPLE)["items"], holder.as_(TUPLE)["size"])

    def list_item() -> None:
        missing.unless(f.is_type(holder, "list"))
        item(holder.as_(LIST)["items"], holder.as_(LIST)["size"])

    def class_() -> None:
        value.value = holder["type"]

    def code() -> None:
        missing.unless(f.is_type(holder, "function"))
        value.value = holder.as_(FUNCTION)["code"]

    steps = {
        "attr": attribute, "key": key, "tuple": tuple_item, "list": list_item, "class": class_, "code": code,
    }  # fmt: skip
    f.switch(step["how"], {STEPS[name]: write for name, write in steps.items()})


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
        with f.for_(node["ordered"]) as i:  # keys get their places; the values come in another order
            name = node["keys"][f.add(node["count"], i)]
            failed.unless(f.eq(dict_set(f, container, name, f.object_named("None")), 0))
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


@native(OBJECT, export=ENTRY)
def entry(
    f: NativeWriter,
    self: Annotated[Pointer, bytes_of(Inline(TABLE))],
    args: Objects,
    nargs: Int,
    names: Object,
) -> None:
    """A call with `nargs` positional arguments, and keyword arguments with these names behind them."""
    table, raised = self["content"], f.returning(None)
    with f.attempt() as slow:
        slow.unless(f.eq(f.global_("tracejit_bypass", "i64").value, 0))
        slow.unless(f.eq(table["positional"], nargs))
        keywords = f.variable("i64", 0)
        with f.if_(f.not_(f.is_null(names))):
            keywords.value = names.as_(TUPLE)["size"]
        slow.unless(f.eq(table["keywords"], keywords.value))

        state = new_state(f, table)
        f.defer(lambda: release_inputs(f, state))
        _match_arguments(f, table, args, nargs, state, slow)
        _match_keywords(f, table, args.at(nargs), names.as_(TUPLE), keywords.value, state, slow)
        _match_sources(f, table, state, slow)
        with f.if_(f.ne(table["donated"], 0)):
            slow.when(overlaps(f, table, state["inputs"]))

        results, returned = table["results"], table["returned"]
        objects = f.array(OBJECT, f.add(results, table["recorded"]))
        outputs = f.array(BYTES, results)
        owned = f.variable("i64", 0)
        dropping = f.defer(lambda: decref_all(f, objects, 0, owned.value))
        result = f.variable(RESULT, section(table, "results", RESULT))
        with f.for_(results) as i:
            array = make_array(f, result.value, state)
            raised.when(f.is_null(array))
            objects[i], outputs[i] = array, array["data"]
            owned.value = f.add(i, 1)
            result.value = behind(result.value)
        status = _run(f, table, state["inputs"], outputs)
        with f.if_(f.ne(status, 0)):
            _fail(f, table, status, slow)
        _wrap_results(f, table, objects, state)
        with f.if_(f.ne(table["recorded"], 0)):
            raised.unless(record_call(f, table, objects, results, state))
            decref_all(f, objects, returned, results)
        f.cancel(dropping)
        place = f.variable(STRUCTURE, section(table, "structure", STRUCTURE))
        used = f.variable("i64", 0)
        whole = build(f, place, objects, used)
        with f.if_(f.is_null(whole)):
            decref_all(f, objects, used.value, returned)
        f.ret(whole)
    answer = vectorcall(f, table["slow"], args, nargs, names)
    with f.attempt() as same:
        same.when(f.is_null(table["convert"]))
        same.when(f.is_null(answer))
        same.unless(caller_takes_arrays(f, table))
        whole = f.variable(OBJECT, f.own(answer))
        f.ret(vectorcall(f, table["convert"], whole, 1, None))
    f.ret(answer)


def _match_arguments(
    f: NativeWriter, table: Pointer, args: Pointer, nargs: Reg, state: Pointer, slow: Exit
) -> None:
    node = f.variable(NODE, section(table, "arguments", NODE))
    with f.for_(nargs) as i:
        node.value = match(f, node.value, args[i], state)
        slow.when(f.is_null(node.value))


def _match_keywords(
    f: NativeWriter,
    table: Pointer,
    values: Pointer,
    names: Pointer,
    count: Reg,
    state: Pointer,
    slow: Exit,
) -> None:
    """Match keyword arguments, which may come in any order; before each node is the name."""
    node = f.variable(NODE, section(table, "keywords", NODE))
    with f.for_(count):
        name = node.value.as_(OBJECTS).value
        value = f.variable(OBJECT)
        with f.attempt() as there:
            with f.for_(count) as i:
                value.value = values[i]
                there.when(f.eq(names["items"][i], name))
            slow.leave()
        node.value = match(f, node.value.behind(8), value.value, state)
        slow.when(f.is_null(node.value))


def _match_sources(f: NativeWriter, table: Pointer, state: Pointer, slow: Exit) -> None:
    """Match what the function reads outside its arguments."""
    node = f.variable(NODE, section(table, "sources", NODE))
    with f.for_(table["sources"]):
        value = follow(f, node.value.as_(SOURCE), node, state)
        with f.if_(f.is_null(value)):
            slow.unless(f.eq(node.value["kind"], KINDS["absent"]))
            node.value = behind(node.value)
            f.else_()
            node.value = match(f, node.value, value, state)
            slow.when(f.is_null(node.value))


def _run(f: NativeWriter, table: Pointer, inputs: Pointer, outputs: Pointer) -> Reg:
    """The status of ``@main``, which runs without the GIL where that pays."""
    status, main = f.variable("i32"), table["main"]
    with f.if_(f.eq(table["release"], 0)):
        status.value = f.invoke_at(main, inputs, outputs)
        f.else_()
        thread = save_thread(f)
        status.value = f.invoke_at(main, inputs, outputs)
        restore_thread(f, thread)
    result: Reg = status.value
    return result


def _fail(f: NativeWriter, table: Pointer, status: Reg, slow: Exit) -> None:
    """Leave after a run that failed."""
    raised = f.returning(None)
    with f.if_(f.lt(status, 0)):  # a signal's handler raised: the exception is set
        f.global_(RAISED, "i64").value = 0
        raised.leave()
    slow.when(f.eq(table["once"], 0))
    # its arguments may be changed, or Python code that it called raised: it cannot be repeated
    number = f.variable(OBJECT, f.take(new_long(f, f.cast(status, "i64")), raised))
    f.ret(vectorcall(f, table["failed"], number, 1, None))


@native("bool")
def names_taker(f: NativeWriter, namespace: Object) -> None:
    """Whether the globals `namespace` are those of a module that takes arrays."""
    no = f.returning(False)
    name = dict_get(f, namespace, f.object_named("key_of_name"))
    with f.if_(f.is_null(name)):
        clear_error(f)
        no.leave()
    no.unless(f.is_type(name, "str"))
    f.ret(f.eq(matches(f, name, f.object_named("takes_arrays"), 0, 2**63 - 1, -1), 1))


@native("bool", inline=True)
def caller_takes_arrays(f: NativeWriter, table: Table) -> None:
    """Whether the Python code that makes the call is of a module that takes arrays."""
    namespace, no = current_globals(f), f.returning(False)
    no.when(f.eq(namespace, table["home"]))
    no.when(f.is_null(namespace))
    f.ret(names_taker(f, namespace))


def _wrap_results(f: NativeWriter, table: Pointer, objects: Pointer, state: Pointer) -> None:
    """Turn arrays into Tensors, save for those that stay arrays, and for callers that take arrays."""
    node = f.variable(RESULT, section(table, "results", RESULT))
    as_arrays = f.variable("bool", False)
    with f.if_(f.ne(table["arrays"], 0)):
        as_arrays.value = caller_takes_arrays(f, table)
    with f.for_(table["results"]) as i:
        result = node.value
        node.value = behind(result)
        f.next_turn.unless(f.eq(result["plain"], 0))
        array, reuses = objects[i], result["reuses"]
        with f.if_(as_arrays.value):
            objects[i] = None
            objects[i] = array_return(f, array.as_(ARRAY))
            f.returning(None).when(f.is_null(objects[i]))
            f.next_turn.leave()
        with f.attempt() as new:
            new.when(f.lt(reuses, 0))
            holder = state["holders"].bounded(state["count"])[reuses]
            new.unless(f.is_type(holder, "Tensor"))
            objects[i] = f.incref(holder)
            f.decref(array)
            f.next_turn.leave()
        objects[i] = None
        objects[i] = wrap(f, array.as_(ARRAY))
        f.returning(None).when(f.is_null(objects[i]))


def entry_code(layout: EntryLayout, checked: bool = False) -> str:
    """The module of the entry for this interpreter's and NumPy's layout."""
    return NativeModule(layout.slots, checked=checked).text(entry)
