"""Checks of the native entry: whether objects match a table's nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from ....base.records import record
from ...interface import REPEATED_BYTES
from ...llvm.emitter import Reg
from ..functions import Array, Bytes, ImportedFunction, Object, native
from ..objects import check_memory, decref_all, read_int
from ..pointers import Pointer
from ..python_api import clear_error, compare_strings, copy_array, dict_get, dict_next, dict_size
from ..structs import (
    ARRAY,
    BYTES,
    COMPLEX,
    FLOAT,
    LIST,
    OBJECT,
    OBJECTS,
    SCALAR,
    SIZED,
    TENSOR,
    TUPLE,
    WORDS,
    CFunctionType,
    Inline,
    Items,
    Struct,
    words,
)
from ..writer import Exit, NativeWriter
from .table import GRADIENTS, HEADER, KINDS

MAIN: Final = CFunctionType("i32", (Items(BYTES), Items(BYTES)))
TABLE: Final = words(
    "table", HEADER, slow=OBJECT, main=MAIN, failed=OBJECT, recorder=OBJECT, home=OBJECT, convert=OBJECT
)

_BEGIN: Final = {"kind": "i64", "length": "i64"}
NODE: Final = words("node", _BEGIN)
ARRAY_NODE: Final = words(
    "array node",
    (
        "kind",
        "length",
        "descr",
        "rank",
        "flags",
        "donated",
        "content",
        "nbytes",
        "gradient",
        "scalar",
        "sizes",
    ),
    descr=OBJECT,
    scalar=OBJECT,
    content=BYTES,
    sizes=Inline(WORDS),
)
NUMBER_NODE: Final = words("number node", {**_BEGIN, "low": "i64", "high": "i64"})
OBJECT_NODE: Final = words("object node", {**_BEGIN, "object": OBJECT})
#: Order of a dict's keys behind its children, from `ordered` on, where the two differ.
CONTAINER_NODE: Final = words(
    "container node",
    {**_BEGIN, "type": OBJECT, "count": "i64", "ordered": "i64", "keys": Inline(OBJECTS)},
)
STRUCTURE: Final = words(
    "structure node", {**_BEGIN, "count": "i64", "ordered": "i64", "keys": Inline(OBJECTS)}
)
RESULT: Final = words(
    "result",
    ("length", "descr", "rank", "nbytes", "reuses", "plain", "sizes"),
    descr=OBJECT,
    sizes=Inline(WORDS),
)
STEP: Final = Struct("step", {"how": (0, "i64"), "what": (8, OBJECT), "position": (8, "i64")}, 16)
SOURCE: Final = words(
    "source",
    ("start", "holder", "key", "count", "steps"),
    holder=OBJECT,
    key=OBJECT,
    steps=Inline(Items(STEP, rows=True)),
)
#: Results of matching, for at most `room` inputs: the data of each, its array (or null), the object that
#: is kept because it is donated, recorded or a complex number (or null), and room for a number; then objects
#: that attributes gave, by count; and how many inputs are recorded.
STATE: Final = words(
    "state",
    (
        "count",
        "room",
        "inputs",
        "arrays",
        "holders",
        "numbers",
        "extra_count",
        "extra_room",
        "extra",
        "recorded",
    ),
    inputs=Items(BYTES),
    arrays=Items(ARRAY),
    holders=OBJECTS,
    numbers=WORDS,
    extra=OBJECTS,
)

Table = Annotated[Pointer, TABLE]
Node = Annotated[Pointer, NODE]
State = Annotated[Pointer, STATE]


def section(table: Pointer, name: str, struct: Struct) -> Pointer:
    """The first node of a part of the table."""
    return table.behind(table[f"{name}_at"]).as_(struct)


def behind(node: Pointer) -> Pointer:
    """The next node."""
    return node.behind(node["length"])


def new_state(f: NativeWriter, table: Pointer) -> Pointer:
    """Room for the inputs of a call of `table`."""
    state = f.struct(STATE)
    room, extra_room = table["inputs"], table["extras"]
    state["count"], state["extra_count"] = 0, 0
    state["room"], state["extra_room"] = room, extra_room
    for field in ("inputs", "arrays", "holders", "numbers"):
        state[field] = f.array("i64", room)
    state["extra"] = f.array(OBJECT, extra_room)
    state["recorded"] = table["recorded"]
    return state


@native(inline=True)
def push(f: NativeWriter, state: State, data: Bytes, array: Array, holder: Object) -> None:
    """Add an input."""
    count, room = state["count"], state["room"]
    for field, value in (("inputs", data), ("arrays", array), ("holders", holder)):
        state[field].bounded(room)[count] = value
    state["count"] = f.add(count, 1)


def push_number(f: NativeWriter, state: Pointer, value: Pointer, number: Reg) -> None:
    """Add a number as an input; `value` is the object that it comes from."""
    place = number_place(f, state)
    place.as_(Items(number.dtype)).value = number
    holder = f.variable(OBJECT, None)
    with f.if_(f.ne(state["recorded"], 0)):
        holder.value = f.incref(value)
    push(f, state, place.as_(BYTES), None, holder.value)


def number_place(f: NativeWriter, state: Pointer) -> Pointer:
    """Room for a number."""
    place: Pointer = state["numbers"].bounded(state["room"]).at(state["count"])
    return place


@native()
def release_inputs(f: NativeWriter, state: State) -> None:
    """Release the references that matching took."""
    decref_all(f, state["arrays"], 0, state["count"])
    decref_all(f, state["holders"], 0, state["count"])
    decref_all(f, state["extra"], 0, state["extra_count"])


@native("bool")
def overlaps(f: NativeWriter, table: Table, inputs: Annotated[Pointer, Items(BYTES)]) -> None:
    """Whether a donated input shares memory with another input."""
    count = table["inputs"]
    sizes = section(table, "donated", TABLE).as_(WORDS)
    donated, starts = sizes.at(count), inputs.as_(WORDS)
    with f.for_(table["donated"]) as i:
        position = donated[i]
        start = starts[position]
        stop = f.add(start, sizes[position])
        with f.for_(count) as other:
            f.next_turn.when(f.eq(other, position))
            other_start = starts[other]
            f.next_turn.unless(f.below(start, f.add(other_start, sizes[other])))
            f.next_turn.unless(f.below(other_start, stop))
            f.ret(True)
    f.ret(False)


_compare_bytes = ImportedFunction("memcmp", "i32", BYTES, BYTES, "i64")


@record
class _Match:
    """An object and the node that says what is wanted; `no` leaves where it is something else."""

    f: NativeWriter
    node: Pointer
    value: Pointer
    state: Pointer
    no: Exit


@native(NODE)
def match(f: NativeWriter, node: Node, value: Object, state: State) -> None:
    """The node behind `node` where `value` is what it wants, else null."""
    no = f.returning(None)
    matching = _Match(f, node, value, state, no)

    def writer(write: Callable[[_Match], None]) -> Callable[[], None]:
        def case() -> None:
            write(matching)
            if not f.ended:
                f.ret(behind(node))

        return case

    f.switch(node["kind"], {KINDS[kind]: writer(write) for kind, write in _LEAVES.items()})
    container = node.as_(CONTAINER_NODE)
    no.unless(f.eq(value["type"], container["type"]))
    count = container["count"]
    with f.if_(f.eq(node["kind"], KINDS["dict"])):
        f.ret(match_dict(f, container, value, state))
    no.unless(f.eq(value.as_(SIZED)["size"], count))
    items = f.variable(OBJECTS)
    with f.if_(f.eq(node["kind"], KINDS["list"])):
        items.value = value.as_(LIST)["items"]
        f.else_()
        items.value = value.as_(TUPLE)["items"]
    child = f.variable(NODE, behind(node).as_(NODE))
    with f.for_(count) as i:
        child.value = match(f, child.value, items.value[i], state)
        no.when(f.is_null(child.value))
    f.ret(child.value)


def _match_array(m: _Match) -> None:
    m.no.unless(match_array(m.f, m.node.as_(ARRAY_NODE), m.value, m.state))


def _match_same(m: _Match) -> None:
    m.no.unless(m.f.eq(m.node.as_(OBJECT_NODE)["object"], m.value))


def _match_none(m: _Match) -> None:
    m.no.unless(m.f.is_object(m.value, "None"))


def _match_float(m: _Match) -> None:
    m.no.unless(m.f.is_type(m.value, "float"))
    push_number(m.f, m.state, m.value, m.value.as_(FLOAT)["value"])


def _match_complex(m: _Match) -> None:
    m.no.unless(m.f.is_type(m.value, "complex"))
    # it is read where it lies, and others may let go of it meanwhile
    push(m.f, m.state, m.value.as_(COMPLEX)["value"], None, m.f.incref(m.value))


def _match_bool(m: _Match) -> None:
    is_true = m.f.is_object(m.value, "True")
    m.no.unless(m.f.or_(is_true, m.f.is_object(m.value, "False")))
    push_number(m.f, m.state, m.value, is_true)


def _match_int(m: _Match) -> None:
    number = _read(m)
    limits = m.node.as_(NUMBER_NODE)
    m.no.unless(m.f.and_(m.f.ge(number, limits["low"]), m.f.le(number, limits["high"])))
    push_number(m.f, m.state, m.value, number)


def _match_equal_float(m: _Match) -> None:
    m.no.unless(m.f.is_type(m.value, "float"))
    m.no.unless(m.f.eq(m.value.as_(FLOAT)["bits"], m.node.as_(NUMBER_NODE)["low"]))


def _match_equal_int(m: _Match) -> None:
    m.no.unless(m.f.eq(_read(m), m.node.as_(NUMBER_NODE)["low"]))


def _read(m: _Match) -> Reg:
    place = m.f.variable("i64")
    m.no.unless(read_int(m.f, m.value, place))
    number: Reg = place.value
    return number


def _match_sized(m: _Match) -> None:
    container = m.node.as_(CONTAINER_NODE)
    m.no.unless(m.f.eq(m.value["type"], container["type"]))
    m.no.unless(m.f.eq(m.value.as_(SIZED)["size"], container["count"]))


_LEAVES: Final[dict[str, Callable[[_Match], None]]] = {
    "array": _match_array,
    "same": _match_same,
    "float": _match_float,
    "int": _match_int,
    "bool": _match_bool,
    "complex": _match_complex,
    "none": _match_none,
    "equal_float": _match_equal_float,
    "equal_int": _match_equal_int,
    "sized": _match_sized,
    "absent": lambda m: m.no.leave(),
    "anything": lambda m: None,
}


@native(NODE)
def match_dict(
    f: NativeWriter, node: Annotated[Pointer, CONTAINER_NODE], dict_: Object, state: State
) -> None:
    """`match` for a dict, which has the node's keys in the node's order: code may go through it."""
    no, count, ordered = f.returning(None), node["count"], node["ordered"]
    no.unless(f.eq(dict_size(f, dict_), count))
    position, key, value = f.variable("i64", 0), f.variable(OBJECT), f.variable(OBJECT)
    child = f.variable(NODE, behind(node).as_(NODE))
    with f.for_(count) as i:
        no.when(f.eq(dict_next(f, dict_, position, key, value), 0))
        name = node["keys"][f.add(ordered, i)]
        with f.if_(f.ne(key.value, name)):
            no.unless(same_strings(f, key.value, name))
        with f.if_(f.eq(ordered, 0)):
            child.value = match(f, child.value, value.value, state)
            no.when(f.is_null(child.value))
    with f.for_(ordered) as i:  # the order of the children is another
        value.value = dict_get(f, dict_, node["keys"][i])
        with f.if_(f.is_null(value.value)):
            clear_error(f)
            no.leave()
        child.value = match(f, child.value, value.value, state)
        no.when(f.is_null(child.value))
    f.ret(child.value)


@native("bool")
def same_strings(f: NativeWriter, key: Object, name: Object) -> None:
    """Whether both are strings, and equal; no user code runs."""
    f.returning(False).unless(f.is_type(key, "str"))
    f.returning(False).unless(f.is_type(name, "str"))
    f.ret(f.eq(compare_strings(f, key, name), 0))


@native("bool", inline=True)
def match_array(f: NativeWriter, node: Annotated[Pointer, ARRAY_NODE], value: Object, state: State) -> None:
    """Whether `value` is the array, the Tensor with it, or the scalar of NumPy's that the node wants; it is
    then an input, or a contiguous copy is."""
    no, donated, gradient = f.returning(False), f.ne(node["donated"], 0), node["gradient"]
    with f.if_(f.eq(value["type"], node["scalar"])):
        no.when(f.or_(donated, f.eq(gradient, GRADIENTS[True])))
        # it is read where it lies, and others may let go of it meanwhile
        push(f, state, value.as_(SCALAR)["value"], None, f.incref(value))
        f.ret(True)
    array = f.variable(ARRAY, value.as_(ARRAY))
    with f.if_(f.is_type(value, "Tensor")):
        tensor = value.as_(TENSOR)
        expected = f.select(f.eq(gradient, GRADIENTS[True]), f.object_named("True"), f.object_named("False"))
        agrees = f.eq(tensor["requires_grad"], expected)
        no.unless(f.or_(agrees, f.eq(gradient, GRADIENTS[None])))
        with f.if_(donated):
            shared = ("version", "aliases", "grad", "hooks")
            no.unless(f.all_(*[f.is_object(tensor[field], "None") for field in shared]))
        array.value = tensor["data"].as_(ARRAY)
        f.else_()
        no.when(f.eq(gradient, GRADIENTS[True]))
    no.unless(f.is_type(array.value, "ndarray"))
    _match_type(f, node, array.value, no)
    flags = node["flags"]
    with f.if_(f.eq(f.and_(f.cast(array.value["flags"], "i64"), flags), flags)):
        f.incref(array.value)
        f.else_()
        no.when(donated)
        with f.if_(f.ge(node["nbytes"], REPEATED_BYTES)):  # `runtime.repeats` has it read where it lies
            strides, sizes = array.value["strides"], array.value["sizes"]
            with f.for_(node["rank"]) as axis:
                no.when(f.and_(f.eq(strides[axis], 0), f.gt(sizes[axis], 1)))
        array.value = f.give(check_memory(f, copy_array(f, array.value, 0), no))
    held = f.own(array.value)
    with f.if_(f.not_(f.is_null(node["content"]))):
        no.unless(f.eq(_compare_bytes(f, held["data"], node["content"], node["nbytes"]), 0))
    holder = f.variable(OBJECT, None)
    with f.if_(f.or_(donated, f.ne(state["recorded"], 0))):
        holder.value = f.incref(value)
    push(f, state, held["data"], f.give(held), holder.value)
    f.ret(True)


def _match_type(f: NativeWriter, node: Pointer, array: Pointer, no: Exit) -> None:
    """Leave unless an array has the dtype and the shape that the node wants."""
    rank = node["rank"]
    no.unless(f.eq(array["descr"], node["descr"]))
    no.unless(f.eq(f.cast(array["rank"], "i64"), rank))
    sizes = array["sizes"]
    with f.for_(rank) as axis:
        no.unless(f.eq(sizes[axis], node["sizes"][axis]))
