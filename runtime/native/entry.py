"""Makes the Python callable behind a compiled signature: the native entry over the signature's table."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from ...codegen.interface import BYTES_DATA, ENTRY, RAISED, Library
from ...codegen.native.entry.table import AT, EntryLayout, EntrySpec, entry_table
from ...ir.process.locks import ForkLock
from ..bypass import BYPASS_ADDRESS
from ..cache.objects import load_support
from ..interrupts import RAISED_ADDRESS
from .allocator import allocator_address
from .capi import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_PLAIN,
    ARRAY_WRITABLE,
    FLOAT_VALUE,
    native_interface,
)

_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_LOCK = ForkLock()


class MethodDef(ctypes.Structure):
    """A C function as Python describes it. Builtin functions refer to it, and do not own it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )

    def use(self, symbol: str, library: Library) -> None:
        """From the next call on it is the function `symbol` of `library`, which stays."""
        _KEPT.append(library)
        self.function = library.addresses[symbol]


class _Table(bytes):
    """A table, and what its addresses lead to."""

    keep: Any


@functools.lru_cache(maxsize=1)
def entry_layout(tensor_type: type, slots: tuple[str, ...]) -> EntryLayout | None:
    """What entries need to know about this interpreter, None where native entries cannot be used."""
    interface = native_interface(tensor_type, slots)
    if interface is None:
        return None
    offsets = (ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMS, ARRAY_DESCR, ARRAY_FLAGS)
    return EntryLayout(interface.symbols, interface.slots, offsets, ARRAY_PLAIN, ARRAY_WRITABLE, FLOAT_VALUE)


def make_entry(spec: EntrySpec, layout: EntryLayout, executable: Any, otherwise: Any, keep: Any) -> Any:
    """The builtin function that calls `executable` as `spec` says, and `otherwise` where that does not fit.

    `keep` holds the objects whose addresses are in `spec`.
    """
    with _LOCK:
        definition = _definition(layout)
    failed = executable.fail
    addresses = {"main": executable.address, "slow": id(otherwise), "failed": id(failed)}
    table = _Table(entry_table(spec, layout, **addresses, once=bool(executable.not_lowered)))
    table.keep = (executable, otherwise, failed, keep)
    executable.follow(table, id(table) + BYTES_DATA + AT["main"])
    return function_of(definition, table)


def function_of(definition: MethodDef, bound: Any) -> Any:
    """The builtin function that calls what `definition` describes with `bound` as its ``self``."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), bound, None)


_DEFINITIONS: dict[int, MethodDef] = {}


def _definition(layout: EntryLayout) -> MethodDef:
    """The entry as Python describes C functions; it is compiled at the first call of this."""
    made = _DEFINITIONS.get(id(layout))
    if made is None:
        symbols = layout.symbols | {
            "tracejit_result_array": allocator_address(),
            "tracejit_bypass": BYPASS_ADDRESS,
            RAISED: RAISED_ADDRESS,
        }
        made = MethodDef(b"jitted", None, _METH_FASTCALL_KEYWORDS, None)
        load_support(
            "entry",
            (ENTRY,),
            symbols,
            layout,
            parameters=sorted(layout.slots.items()),
            use=functools.partial(made.use, ENTRY),
        )
        _KEPT.append(layout)
        _DEFINITIONS[id(layout)] = made
    return made


#: The layouts and libraries of the definitions.
_KEPT: list[Any] = []
