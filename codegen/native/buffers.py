"""Tensors as buffers before Python 3.12: the function in the slot ``bf_getbuffer`` of their type."""

from __future__ import annotations

from ..interface import ARRAY_OF, GET_BUFFER
from .entry.table import EntryLayout
from .functions import Bytes, ImportedFunction, Int32, TensorObject, native
from .module import NativeModule
from .python_api import vectorcall
from .structs import BYTES, OBJECT
from .tensors import requires_grad
from .writer import NativeWriter

_get_buffer = ImportedFunction("PyObject_GetBuffer", "i32", OBJECT, BYTES, "i32")


@native("i32", export=GET_BUFFER)
def get_buffer(f: NativeWriter, tensor: TensorObject, view: Bytes, flags: Int32) -> None:
    """Fill `view` with the buffer of the Tensor's array; -1 with an error set where it has none to give."""
    data = tensor["data"]
    with f.attempt() as slow:
        slow.when(f.is_null(data))
        slow.unless(f.is_type(data, "ndarray"))
        slow.when(requires_grad(f, tensor))
        f.ret(_get_buffer(f, data, view, flags))
    arguments = f.array(OBJECT, 1)
    arguments[0] = tensor
    f.module.external_global(ARRAY_OF, "i8")
    array = vectorcall(f, f.typed(f"@{ARRAY_OF}", OBJECT), arguments, 1, None)
    f.returning(-1).when(f.is_null(array))
    f.own(array)
    f.ret(_get_buffer(f, array, view, flags))


def buffers_code(layout: EntryLayout) -> str:
    """The module for this interpreter's layout."""
    return NativeModule(layout.slots).text(get_buffer)
