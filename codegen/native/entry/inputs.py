"""The inputs of a call: what the native entry's checks collect, and what becomes of it."""

from __future__ import annotations

from typing import Annotated

from ...llvm.emitter import Reg
from ..functions import Array, Bytes, Object, native
from ..python_api import decref_all
from ..structs import BYTES, OBJECT, WORDS, Items
from ..writer import NativeWriter, Pointer
from .nodes import STATE, TABLE, State, Table, section


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
    push_bytes(f, state, value, place.as_(BYTES))


def push_bytes(f: NativeWriter, state: Pointer, value: Pointer, place: Pointer) -> None:
    """Add what lies at `place` as an input, which `value` keeps there."""
    holder = f.variable(OBJECT, None)
    with f.if_(f.ne(state["recorded"], 0)):
        holder.value = f.incref(value)
    push(f, state, place, None, holder.value)


def number_place(f: NativeWriter, state: Pointer) -> Pointer:
    """Room for a number."""
    place: Pointer = state["numbers"].bounded(state["room"]).at(state["count"])
    return place


@native()
def release_inputs(f: NativeWriter, state: State) -> None:
    """Give back what matching took."""
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
