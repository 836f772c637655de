"""Operations of native code on Python's objects: references, slots, integers."""

from __future__ import annotations

from .functions import Int, Object, Objects, Words, native
from .pointers import Pointer
from .python_api import clear_error, error_occurred, long_value
from .writer import Exit, NativeWriter


@native("bool")
def read_int(f: NativeWriter, value: Object, place: Words) -> None:
    """Whether `value` is a Python int that 64 bits hold; it is then at `place`. No exception stays behind."""
    f.returning(False).unless(f.is_type(value, "int"))
    number = long_value(f, value)
    place.value = number
    f.returning(True).unless(f.eq(number, -1))
    f.returning(True).when(f.is_null(error_occurred(f)))
    clear_error(f)
    f.ret(False)


def check_memory(f: NativeWriter, reference: Pointer, exit: Exit) -> Pointer:
    """`reference`, owned from here on; where it is null, forget the exception and leave."""
    with f.if_(f.is_null(reference)):
        clear_error(f)
        exit.leave()
    return f.own(reference)


@native(inline=True)
def store_slot(f: NativeWriter, slot: Objects, value: Object) -> None:
    """Put `value`, whose reference this takes over, into a slot of an object."""
    old = slot.value
    slot.value = value
    f.decref(old)


@native()
def incref_all(f: NativeWriter, objects: Objects, count: Int) -> None:
    """Take a reference to each of the first `count` objects."""
    with f.for_(count) as i:
        f.incref(objects[i])


@native()
def decref_all(f: NativeWriter, objects: Objects, start: Int, stop: Int) -> None:
    """Give back a reference to each of the objects from `start` on, below `stop`; some may be null."""
    with f.for_(stop, start) as i:
        f.next_turn.when(f.is_null(objects[i]))
        f.decref(objects[i])
