"""Tensors as buffers before Python 3.12, where a class of Python cannot define ``__buffer__``.

The slot of the type is filled by hand. At first a callback of ctypes stands there: it gives the buffer of the
tensor's array, and cannot say why there is none. At the first tensor that has none, and where native code is
linked anyway, native code takes its place, which is as fast as NumPy and raises what Python raises.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...base.loading import LazyModule

if TYPE_CHECKING:
    from ...codegen import interface
    from ...codegen.native.entry.table import EntryLayout
    from ..loading import objects
else:
    interface = LazyModule("...codegen.interface", __package__)
    objects = LazyModule("..loading.objects", __package__)

#: Byte offset in a type of the pointer to its buffer functions, of which the first is ``bf_getbuffer``.
_AS_BUFFER: Final = 160
_GetBuffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
_FAILED: Final = -1
#: The slots that were filled, which keep what stands in them.
SLOTS: Final[list[BufferSlot]] = []


class BufferSlot:
    """The buffer slot of a class, whose instances have the buffers of arrays."""

    def __init__(
        self, owner: type, array_of: Callable[[Any], Any], layout: Callable[[], EntryLayout | None]
    ) -> None:
        """`array_of` gives the array of an instance, or raises; `layout` is of instances."""
        self._owner, self._array_of, self._layout = owner, array_of, layout
        self._callback = _GetBuffer(self._give)
        self._libraries: list[interface.Library] = []

    def fill(self) -> None:
        """Let instances be buffers, where types are laid out as here."""
        if _layout_holds():
            SLOTS.append(self)
            _function_of(self._owner).value = ctypes.cast(self._callback, ctypes.c_void_p).value

    def link(self) -> None:
        """Let native code give the buffers, where there can be such code."""
        layout = self._layout()
        if not self._libraries and layout is not None and _layout_holds():
            objects.load_support(
                "buffers",
                (interface.GET_BUFFER,),
                layout.symbols | {interface.ARRAY_OF: id(self._array_of)},
                layout,
                parameters=sorted(layout.slots.items()),
                use=self._use,
            )

    def _use(self, library: interface.Library) -> None:
        self._libraries.append(library)  # also one that is no longer used: a call may be in it
        _function_of(self._owner).value = library.addresses[interface.GET_BUFFER]

    def _give(self, instance: Any, view: int, flags: int) -> int:
        try:
            array = ctypes.py_object(self._array_of(instance))
            return int(ctypes.pythonapi.PyObject_GetBuffer(array, ctypes.c_void_p(view), flags))
        except Exception:  # the native code that is linked now raises it where somebody asks again
            self.link()
            return _FAILED


def _function_of(owner: type) -> ctypes.c_void_p:
    """The slot ``bf_getbuffer`` of a class."""
    functions = ctypes.c_void_p.from_address(id(owner) + _AS_BUFFER).value or 0
    return ctypes.c_void_p.from_address(functions)


def _layout_holds() -> bool:
    """Whether the slot is where it should be: a class and its base have the same one, and others do not."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    derived = type("derived", (bytearray,), {})
    pointers = [
        ctypes.c_void_p.from_address(id(each) + _AS_BUFFER).value for each in (derived, bytearray, int)
    ]
    if not (pointers[0] and pointers[1] and pointers[0] != pointers[1] and pointers[2] is None):
        return False
    return _function_of(derived).value == _function_of(bytearray).value != _function_of(bytes).value
