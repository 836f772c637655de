"""Makes the Python callable behind a compiled signature: a C function over the native entry."""

from __future__ import annotations

import ctypes
from typing import Any

from ..codegen.entry import Layout
from .capi import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_PLAIN,
    FLOAT_VALUE,
    native_interface,
)

_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class SlowPath:
    """What a native entry calls when its checks fail; keeps alive what the entry's code refers to."""

    def __init__(self, call: Any, executable: Any, keep: Any) -> None:
        self._call = call
        self.executable = executable
        self.keep = keep
        self.definition: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


def entry_layout(tensor_type: type, slots: tuple[str, ...]) -> Layout | None:
    """What entries need to know about this interpreter, None where native entries cannot be used."""
    interface = native_interface(tensor_type, slots)
    if interface is None:
        return None
    offsets = (ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_DESCR, ARRAY_FLAGS)
    return Layout(interface.functions, interface.objects, interface.slots, offsets, ARRAY_PLAIN, FLOAT_VALUE)


def make_entry(name: str, executable: Any, otherwise: Any, keep: Any) -> Any:
    """The builtin function that runs `executable`'s native entry, and `otherwise` where it does not fit.

    `keep` holds the captured objects whose addresses are in the code.
    """
    slow = SlowPath(otherwise, executable, keep)
    slow.definition = _MethodDef(name.encode(), executable.entry_address, _METH_FASTCALL_KEYWORDS, None)
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(slow.definition), slow, None)
