"""How the native entry finds what a function reads outside its arguments."""

from __future__ import annotations

from typing import Annotated

from ...llvm.emitter import Reg
from ..control import Exit
from ..functions import native
from ..python_api import clear_error, dict_get, get_attribute
from ..structs import CELL, FUNCTION, LIST, OBJECT, TUPLE, Items
from ..writer import NativeWriter, Pointer
from .nodes import NODE, SOURCE, State
from .table import STARTS, STEPS


@native(OBJECT)
def follow(
    f: NativeWriter, source: Annotated[Pointer, SOURCE], past: Annotated[Pointer, Items(NODE)], state: State
) -> None:
    """The object that a source leads to, else null; `past` gets the address of the node behind."""
    count, steps, holder = source["count"], source["steps"], source["holder"]
    past.value = steps.at(count)
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
    """Go on from an object to what it holds."""
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
