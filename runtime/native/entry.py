"""Makes the Python callable behind a compiled signature: the native entry over the signature's table."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...base.process.locks import ForkLock
from ...codegen.interface import BYTES_DATA, ENTRY, RAISED, Library
from ...codegen.native.entry.table import (
    AT,
    NO_KEYS,
    ArraySpec,
    EntryLayout,
    EntrySpec,
    ResultSpec,
    entry_table,
    passing_table,
)
from ...ir.graph import Function
from ..bypass import BYPASS_ADDRESS
from ..interrupts import RAISED_ADDRESS
from ..loading.objects import load_support
from .allocator import allocator_address
from .capi import native_interface

_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
_LOCK = ForkLock()
#: Most inputs and results that an entry takes.
_MAX_VALUES: Final = 2000


class MethodDef(ctypes.Structure):
    """A C function as Python describes it. Builtin functions refer to it, and do not own it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )

    def use(self, symbol: str, library: Library) -> None:
        """Replace the C function by `symbol` of `library`, from the next call on. The library is kept for
        good."""
        _KEPT.append(library)
        self.function = library.addresses[symbol]


class _Definition(MethodDef):
    """The entry as Python describes it. Its code is linked when the first entry is called.

    Until then its C function is the one that calls an object, here the table of the entry.
    """

    def __init__(self, layout: EntryLayout) -> None:
        call = ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value
        super().__init__(b"jitted", call, _METH_FASTCALL_KEYWORDS, None)
        self.layout, self.linked, self.deferred = layout, False, False

    def link(self) -> None:
        """Link the code, which is compiled where the disk cache does not have it."""
        with _LOCK:
            if self.linked:
                return
            symbols = self.layout.symbols | {
                "tracejit_result_array": allocator_address(),
                "tracejit_bypass": BYPASS_ADDRESS,
                RAISED: RAISED_ADDRESS,
            }
            load_support(
                "entry",
                (ENTRY,),
                symbols,
                self.layout,
                is_checked(),
                parameters=(sorted(self.layout.slots.items()), is_checked()),
                use=functools.partial(self.use, ENTRY),
            )
            self.linked = True


class _Table(bytes):
    """A table, which keeps the objects at its addresses alive."""

    keep: Any
    definition: _Definition

    @property
    def __call__(self) -> Callable[..., Any]:
        """The entry, now that its code is linked: without a Python frame around it, since it looks at the
        code that calls it."""
        self.definition.link()
        entry: Callable[..., Any] = function_of(self.definition, self)
        return entry


@functools.lru_cache(maxsize=1)
def entry_layout(tensor_type: type, slots: tuple[str, ...]) -> EntryLayout | None:
    """The layout of this interpreter's objects that entries need, or None where native entries cannot be
    used."""
    interface = native_interface(tensor_type, slots)
    if interface is None:
        return None
    return EntryLayout(interface.symbols, interface.slots)


def make_entry(
    spec: EntrySpec, layout: EntryLayout, executable: Any, otherwise: Any, keep: Any, recorder: Any = None
) -> Any:
    """The builtin function that calls `executable` as `spec` says, and `otherwise` where that does not fit.

    `keep` holds the objects whose addresses are in `spec`. Where inputs are recorded, ``recorder(*results,
    *inputs)`` is called before the results are put together.
    """
    with _LOCK:
        definition = _definition(layout)
    failed = executable.fail
    addresses = {"main": executable.address, "slow": id(otherwise), "failed": id(failed)}
    addresses["recorder"] = 0 if recorder is None else id(recorder)
    table = _Table(entry_table(spec, **addresses, once=executable.calls_python))
    table.keep, table.definition = (executable, otherwise, failed, keep, recorder), definition
    executable.follow(table, id(table) + BYTES_DATA + AT["main"])
    return function_of(definition, table)


def make_passing_entry(
    function: Callable[..., Any], convert: Callable[[Any], Any], namespace: Any, layout: EntryLayout
) -> Any:
    """The builtin function that calls `function`, and ``convert`` of its result where a module that takes
    arrays makes the call; `namespace` are the globals of one that does not."""
    with _LOCK:
        definition = _definition(layout)
    table = _Table(passing_table(slow=id(function), convert=id(convert), home=id(namespace)))
    table.keep, table.definition = (function, convert, namespace), definition
    return function_of(definition, table)


def is_checked() -> bool:
    """Whether native code checks its memory accesses: see `codegen.native.writer`."""
    return os.environ.get("TRACEJIT_CHECK") == "1"


def can_enter(function: Function) -> bool:
    """Whether calls of `function` may begin at a native entry: it keeps some words for each input and result
    on the stack, and a call that fails is repeated by the slow path, which callbacks would notice."""
    return len(function.params) + len(function.results) <= _MAX_VALUES and not any(
        "callback" in instruction.attrs for instruction in function.instructions()
    )


def array_function(executable: Any, layout: EntryLayout | None) -> Callable[..., Sequence[Any]]:
    """`executable` as a function of arrays, which gives arrays: through a native entry where they are
    contiguous and just of the parameters' types, else through Python."""
    function = executable.source

    def call_executable(*arrays: Any) -> Sequence[Any]:
        results: list[Any] = executable(arrays)
        return results

    if layout is None or not can_enter(function):
        return call_executable
    inputs = tuple([array_spec(param.dtype, param.shape) for param in function.params])
    results = [ResultSpec(array_spec(result.dtype, result.shape), plain=True) for result in function.results]
    structure = ("tuple", NO_KEYS, (None,) * len(results))
    spec = EntrySpec(inputs, (), (), (), tuple(results), structure, executable.slow_enough)
    entry: Callable[..., Sequence[Any]] = make_entry(spec, layout, executable, call_executable, None)
    return entry


def array_spec(
    dtype: Any,
    shape: tuple[int, ...],
    *,
    donated: bool = False,
    content: int = 0,
    requires_grad: bool | None = False,
) -> ArraySpec:
    """The spec of an array for an entry to check. It has the address of `dtype`, which the caller keeps
    alive."""
    return ArraySpec(id(dtype), shape, dtype.itemsize, donated, content, requires_grad)


def scalar_spec(dtype: Any) -> ArraySpec:
    """The guard of the entry for a scalar of NumPy's."""
    return ArraySpec(0, (), dtype.itemsize, scalar=id(dtype.type))


def function_of(definition: MethodDef, bound: Any) -> Any:
    """Make a builtin function of the C function in `definition`, with `bound` as its ``self``."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), bound, None)


_DEFINITIONS: dict[int, _Definition] = {}


def _definition(layout: EntryLayout) -> _Definition:
    """The entry for objects of this `layout`."""
    definition = _DEFINITIONS.get(id(layout))
    if definition is None:
        definition = _DEFINITIONS[id(layout)] = _Definition(layout)
    return definition


def link_entries() -> None:
    """Link the code of the entries that were made, also of those that nobody has called."""
    for definition in tuple(_DEFINITIONS.values()):
        definition.link()


def is_linked_later() -> bool:
    """Whether a call leaves it to the next one to link the code of entries: the first of a process does."""
    for definition in _DEFINITIONS.values():
        if not (definition.linked or definition.deferred):
            definition.deferred = True
            return True
    return False


#: The libraries of the definitions.
_KEPT: list[Any] = []
