"""C functions of CPython and NumPy that native code calls."""

from __future__ import annotations

from .functions import ImportedFunction
from .structs import ARRAY, BYTES, OBJECT, OBJECTS, WORDS, Items

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
