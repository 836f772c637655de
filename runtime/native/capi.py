"""Addresses and layouts of CPython's and NumPy's C interface that the native call entry relies on.

Everything is probed once on live objects; `native_interface` is None where a probe fails (another Python
implementation, a free-threaded build, a changed layout), and calls then take the slow path, which
``tracejit doctor`` reports.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import importlib
import sys
import types
import weakref
from typing import Any, Final

import numpy as np

from ...base.records import record
from ...codegen.interface import (
    ARRAY_BASE,
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_PLAIN,
    ARRAY_STRIDES,
    BYTES_DATA,
    CELL_REF,
    COMPLEX_VALUE,
    ENTRY_FUNCTIONS,
    ENTRY_OBJECTS,
    FLOAT_VALUE,
    FUNCTION_CODE,
    LIST_ITEMS,
    SCALAR_VALUE,
    SIZE,
    SLICE_START,
    SLICE_STEP,
    SLICE_STOP,
    TAKES_ARRAYS,
    TUPLE_ITEMS,
    TYPE,
    WEAK_REFERENT,
)
from ...ir.dtypes import INEXACT

#: Indices in NumPy's API table, fixed by its ABI.
_ARRAY_API: Final = {
    "PyArray_FromScalar": 61, "PyArray_Return": 76, "PyArray_NewCopy": 85, "PyArray_NewFromDescr": 94,
    "PyArray_Empty": 184, "PyArray_SetBaseObject": 282,
}  # fmt: skip
#: Strings that native code looks up, or compares with, by the names of their symbols.
_STRINGS: Final = {"key_of_name": sys.intern("__name__"), "takes_arrays": TAKES_ARRAYS}


@record
class NativeInterface:
    """Addresses of functions and objects by symbol, and the offsets of Tensor's slots."""

    symbols: dict[str, int]
    slots: dict[str, int]


@functools.lru_cache(maxsize=1)
def native_interface(tensor_type: type, slots: tuple[str, ...]) -> NativeInterface | None:
    """The interface for tensors of `tensor_type` with `slots`, or None where a probe fails."""
    # sysconfig would say the same of the build, and take a millisecond to load it
    if sys.implementation.name != "cpython" or "free-threading" in sys.version:
        return None
    try:
        symbols = {
            name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
            for name in ENTRY_FUNCTIONS
        }
        symbols["PyArray_Empty"] = _array_empty()
        symbols["PyArray_FromScalar"] = _array_from_scalar()
        symbols["PyArray_NewCopy"] = _new_copy()
        symbols["PyArray_Return"] = _array_return()
    except (AttributeError, ImportError):
        return None
    named: dict[str, Any] = {"Tensor": tensor_type, "ndarray": np.ndarray, "generic": np.generic}
    named["function"] = types.FunctionType
    named |= {number.name: number for number in INEXACT} | _STRINGS
    objects = {name: named.get(name, getattr(builtins, name, None)) for name in ENTRY_OBJECTS}
    symbols |= {f"object_{name}": id(object_) for name, object_ in objects.items()}
    offsets = {name: _slot_offset(tensor_type, name) for name in slots}
    if not (_array_layout_holds() and _slots_hold(tensor_type, offsets) and _containers_hold()):
        return None
    return NativeInterface(symbols, offsets)


def array_api(name: str) -> int:
    """The address of a function of NumPy's C API."""
    capsule = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[_ARRAY_API[name]] or 0)


def _array_empty() -> int:
    address = array_api("PyArray_Empty")
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_int, ctypes.POINTER(ctypes.c_ssize_t), ctypes.py_object, ctypes.c_int
    )(address)
    descr = np.dtype(np.float32)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(descr))  # the call steals a reference
    array = make(2, (ctypes.c_ssize_t * 2)(3, 5), descr, 0)
    if not (isinstance(array, np.ndarray) and array.shape == (3, 5) and array.dtype == descr):
        raise ImportError("numpy's API table is not as expected")
    return address


def _array_from_scalar() -> int:
    address = array_api("PyArray_FromScalar")
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p)(address)
    scalar = make(np.float32(1.5), None)
    if not (
        type(scalar) is np.ndarray and scalar.shape == () and scalar.dtype == np.float32 and scalar == 1.5
    ):
        raise ImportError("numpy's API table is not as expected")
    return address


def _new_copy() -> int:
    address = array_api("PyArray_NewCopy")
    copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_int)(address)
    array = np.ones((2, 3), np.float32).T
    copied = copy(array, 0)
    flags = copied.flags if type(copied) is np.ndarray else None
    if flags is None or copied.shape != (3, 2) or not (flags.c_contiguous and flags.owndata):
        raise ImportError("numpy's API table is not as expected")
    return address


def _array_return() -> int:
    address = array_api("PyArray_Return")
    scalar_of = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
    array = np.array(1.5)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(array))  # the call steals a reference
    scalar = scalar_of(array)
    if type(scalar) is not np.float64 or scalar != 1.5:
        raise ImportError("numpy's API table is not as expected")
    return address


def _array_layout_holds() -> bool:
    array = np.zeros((2, 3), np.float32)
    base, view = id(array), array[1:]
    dims = ctypes.c_ssize_t.from_address(base + ARRAY_DIMS).value
    strides = ctypes.c_ssize_t.from_address(base + ARRAY_STRIDES).value
    number, scalar = complex("1.5-2.5j"), np.int16(-3)
    flags = ctypes.c_int.from_address(base + ARRAY_FLAGS).value
    return (
        ctypes.c_ssize_t.from_address(base + ARRAY_DATA).value == array.ctypes.data
        and ctypes.c_int.from_address(base + ARRAY_NDIM).value == 2
        and [ctypes.c_ssize_t.from_address(dims + 8 * i).value for i in range(2)] == [2, 3]
        and [ctypes.c_ssize_t.from_address(strides + 8 * i).value for i in range(2)] == [12, 4]
        and ctypes.c_ssize_t.from_address(base + ARRAY_DESCR).value == id(array.dtype)
        and flags & ARRAY_PLAIN == ARRAY_PLAIN
        and ctypes.c_void_p.from_address(base + ARRAY_BASE).value is None
        and ctypes.c_void_p.from_address(id(view) + ARRAY_BASE).value == base
        and ctypes.c_double.from_address(id(float("1.5")) + FLOAT_VALUE).value == 1.5
        and ctypes.c_double.from_address(id(number) + COMPLEX_VALUE + 8).value == -2.5
        and ctypes.c_int16.from_address(id(scalar) + SCALAR_VALUE).value == -3
    )


def _containers_hold() -> bool:
    """Whether containers, cells and bytes are laid out as the entry expects."""

    def word(place: int) -> int | None:
        return ctypes.c_void_p.from_address(place).value

    mark = object()
    cell = (lambda: mark).__closure__[0]  # type: ignore[index]
    pair, many, data, part = (mark, mark), [mark] * 3, b"8 bytes.", slice(1, mark, None)
    weak = weakref.ref(_containers_hold)
    return (
        word(id(pair) + TYPE) == id(tuple)
        and word(id(pair) + SIZE) == 2
        and word(id(pair) + TUPLE_ITEMS + 8) == id(mark)
        and word(id(many) + SIZE) == 3
        and word((word(id(many) + LIST_ITEMS) or 0) + 16) == id(mark)
        and word(id(cell) + CELL_REF) == id(mark)
        and word(id(weak) + WEAK_REFERENT) == id(_containers_hold)
        and [word(id(part) + at) for at in (SLICE_START, SLICE_STOP, SLICE_STEP)]
        == [id(1), id(mark), id(None)]
        and word(id(_containers_hold) + FUNCTION_CODE) == id(_containers_hold.__code__)
        and ctypes.string_at(id(data) + BYTES_DATA, 8) == data
    )


def _slot_offset(cls: type, name: str) -> int:
    """The byte offset of a ``__slots__`` member: in the PyMemberDef behind its descriptor."""
    pointer = ctypes.sizeof(ctypes.c_void_p)
    descriptor = id(cls.__dict__[name])
    # PyMemberDescrObject: object header (2 words), type, name, qualname, then PyMemberDef*
    member = ctypes.c_void_p.from_address(descriptor + 5 * pointer).value or 0
    # PyMemberDef: const char *name, int type, Py_ssize_t offset
    return int(ctypes.c_ssize_t.from_address(member + 2 * pointer).value)


def _slots_hold(cls: Any, offsets: dict[str, int]) -> bool:
    probe = object.__new__(cls)
    marks = {name: [name] for name in offsets}
    for name, mark in marks.items():
        setattr(probe, name, mark)
    return all(
        ctypes.c_void_p.from_address(id(probe) + offset).value == id(marks[name])
        for name, offset in offsets.items()
    )
