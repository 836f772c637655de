"""C functions of CPython and NumPy, with common operations on objects."""

from __future__ import annotations

from .control import Exit
from .functions import Array, ImportedFunction, Int, Object, Objects, Words, native
from .structs import ARRAY, BYTES, OBJECT, OBJECTS, TENSOR, WORDS, Items
from .writer import NativeWriter, Pointer

vectorcall = ImportedFunction("PyObject_Vectorcall", OBJECT, OBJECT, OBJECTS, "i64", OBJECT)
generic_alloc = ImportedFunction("PyType_GenericAlloc", OBJECT, OBJECT, "i64")
get_attribute = ImportedFunction("PyObject_GetAttr", OBJECT, OBJECT, OBJECT)
is_subtype = ImportedFunction("PyType_IsSubtype", "i32", OBJECT, OBJECT)
new_weak_reference = ImportedFunction("PyWeakref_NewRef", OBJECT, OBJECT, OBJECT)

error_occurred = ImportedFunction("PyErr_Occurred", OBJECT)
clear_error = ImportedFunction("PyErr_Clear", None)
error_matches = ImportedFunction("PyErr_ExceptionMatches", "i32", OBJECT)

long_value = ImportedFunction("PyLong_AsLongLong", "i64", OBJECT)
new_long = ImportedFunction("PyLong_FromLong", OBJECT, "i64")
new_tuple = ImportedFunction("PyTuple_New", OBJECT, "i64")
new_list = ImportedFunction("PyList_New", OBJECT, "i64")
append_to_list = ImportedFunction("PyList_Append", "i32", OBJECT, OBJECT)
new_dict = ImportedFunction("PyDict_New", OBJECT)
compare_strings = ImportedFunction("PyUnicode_Compare", "i32", OBJECT, OBJECT)
#: Whether a part of a string begins (-1) or ends (1) with another: 1, else 0.
matches = ImportedFunction("PyUnicode_Tailmatch", "i64", OBJECT, OBJECT, "i64", "i64", "i32")
dict_size = ImportedFunction("PyDict_Size", "i64", OBJECT)
dict_get = ImportedFunction("PyDict_GetItemWithError", OBJECT, OBJECT, OBJECT)
dict_set = ImportedFunction("PyDict_SetItem", "i32", OBJECT, OBJECT, OBJECT)
dict_next = ImportedFunction("PyDict_Next", "i32", OBJECT, WORDS, Items(OBJECT), Items(OBJECT))

#: The globals of the Python code that runs.
current_globals = ImportedFunction("PyEval_GetGlobals", OBJECT)
save_thread = ImportedFunction("PyEval_SaveThread", BYTES)
restore_thread = ImportedFunction("PyEval_RestoreThread", None, BYTES)

#: Takes over the reference to the descriptor.
empty_array = ImportedFunction("PyArray_Empty", ARRAY, "i32", WORDS, OBJECT, "i32")
#: A copy in C order, which is aligned.
copy_array = ImportedFunction("PyArray_NewCopy", ARRAY, ARRAY, "i32")
array_from_scalar = ImportedFunction("PyArray_FromScalar", ARRAY, OBJECT, OBJECT)
#: A scalar in place of an array of rank 0. Takes over the reference to the array.
array_return = ImportedFunction("PyArray_Return", OBJECT, ARRAY)


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


@native(TENSOR)
def wrap(f: NativeWriter, array: Array) -> None:
    """A leaf Tensor that takes over `array`; null where there is no memory."""
    f.own(array)
    tensor = generic_alloc(f, f.object_named("Tensor"), 0).as_(TENSOR)
    f.returning(None).when(f.is_null(tensor))
    for field, (slot, _) in TENSOR.fields.items():
        if field == "data":
            tensor[field] = f.give(array)
        elif isinstance(slot, str):
            tensor[field] = f.incref(f.object_named("False" if field == "requires_grad" else "None"))
    f.ret(tensor)


def check_memory(f: NativeWriter, reference: Pointer, exit: Exit) -> Pointer:
    """`reference`, owned from here on; where it is null, forget the exception and leave."""
    with f.if_(f.is_null(reference)):
        clear_error(f)
        exit.leave()
    return f.own(reference)


@native("bool", inline=True)
def requires_grad(f: NativeWriter, tensor: Object) -> None:
    """Whether a Tensor requires a gradient."""
    f.ret(f.ne(tensor.as_(TENSOR)["requires_grad"], f.object_named("False")))


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
