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
"""

from __future__ import annotations

from typing import Annotated

from ...interface import ENTRY, RAISED
from ...llvm.emitter import Reg
from ..control import Exit
from ..functions import Int, Object, Objects, native
from ..module import NativeModule
from ..python_api import decref_all, new_long, restore_thread, save_thread, vectorcall, wrap
from ..structs import BYTES, OBJECT, OBJECTS, TUPLE, Inline, bytes_of
from ..writer import NativeWriter, Pointer
from .inputs import new_state, overlaps, release_inputs
from .matching import match
from .nodes import NODE, RESULT, SOURCE, STRUCTURE, TABLE, behind, section
from .results import build, make_array, record_call
from .sources import follow
from .table import KINDS, EntryLayout


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
    f.ret(vectorcall(f, table["slow"], args, nargs, names))


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


def _wrap_results(f: NativeWriter, table: Pointer, objects: Pointer, state: Pointer) -> None:
    """Turn arrays into Tensors, save for those that stay arrays."""
    node = f.variable(RESULT, section(table, "results", RESULT))
    with f.for_(table["results"]) as i:
        result = node.value
        node.value = behind(result)
        f.next_turn.unless(f.eq(result["plain"], 0))
        array, reuses = objects[i], result["reuses"]
        with f.attempt() as new:
            new.when(f.lt(reuses, 0))
            holder = state["holders"].bounded(state["count"])[reuses]
            new.unless(f.is_type(holder, "Tensor"))
            objects[i] = f.incref(holder)
            f.decref(array)
            f.next_turn.leave()
        objects[i] = None
        objects[i] = wrap(f, array)
        f.returning(None).when(f.is_null(objects[i]))


def entry_code(layout: EntryLayout, checked: bool = False) -> str:
    """The module of the entry for this interpreter's and NumPy's layout."""
    return NativeModule(layout.slots, checked=checked).text(entry)
